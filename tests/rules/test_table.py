"""The table of rules leaves none out, and names the tests and cases that there are of each."""

from __future__ import annotations

import re
from pathlib import Path

from ..support.programs import load

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rules.md").read_text()
ROW = re.compile(r"^\| ([RTD]\d+) \|(.+)\|$", re.MULTILINE)
RULES = [*(f"R{n}" for n in range(1, 69)), *(f"T{n}" for n in range(1, 8)), *(f"D{n}" for n in range(1, 18))]


def test_no_rule_is_left_out_and_each_has_a_test() -> None:
    table = [(name, [cell.strip() for cell in cells.split(" | ")][:4]) for name, cells in ROW.findall(PAGE)]
    assert [name for name, _ in table] == RULES
    assert [name for name, cells in table if not all(cells)] == []


def test_table_is_what_the_script_makes() -> None:
    """Each rule with the tests whose docstrings name it, and with its cases."""
    script = load(ROOT / "docs" / "make_rules.py", "make_rules")
    assert script.filled(PAGE) == PAGE
    named = {test for tests in script.tests().values() for test in tests}
    own = {(f"rules/{path.name}", name) for path in Path(__file__).parent.glob("test_*.py") for name in functions(path)}
    assert {test for test in own - named if test[0] not in ("rules/test_table.py", "rules/test_pitfalls.py")} == set()


def functions(path: Path) -> list[str]:
    """The tests of a file."""
    return re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
