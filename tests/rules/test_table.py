"""The table of rules leaves none out, and every test that it names is there and names the rule."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from ..vectors.cases import AWAITED, load

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "rules.md"
ROW = re.compile(r"^\| ([RTD]\d+) \|(.+)\|$", re.MULTILINE)
LINK = re.compile(r"\[(\w+)\]\(\.\./tests/rules/(\w+\.py)\)")
RULES = [*(f"R{n}" for n in range(1, 69)), *(f"T{n}" for n in range(1, 8)), *(f"D{n}" for n in range(1, 18))]


def table() -> dict[str, list[str]]:
    """The cells of each rule's row."""
    found = [(name, [cell.strip() for cell in cells.split(" | ")]) for name, cells in ROW.findall(PAGE.read_text())]
    assert len(found) == len(dict(found))
    return dict(found)


TABLE = table()


def docstrings(name: str) -> dict[str, str]:
    """The docstring of each test function of a file."""
    body = ast.parse((ROOT / "tests" / "rules" / name).read_text()).body
    return {node.name: ast.get_docstring(node) or "" for node in body if isinstance(node, ast.FunctionDef)}


def test_no_rule_is_left_out() -> None:
    assert list(TABLE) == RULES
    for rule, (says, here, status, *_) in TABLE.items():
        assert says, rule
        assert here, rule
        assert status, rule


@pytest.mark.parametrize("rule", RULES)
def test_tests_are_there_and_name_the_rule(rule: str) -> None:
    named = LINK.findall(TABLE[rule][3])
    assert named
    for name, file in named:
        assert re.search(rf"\b{rule}\b", docstrings(file)[f"test_{name}"])


def test_every_test_of_rules_is_in_the_table() -> None:
    named = {(file, f"test_{name}") for cells in TABLE.values() for name, file in LINK.findall(cells[3])}
    about = {
        (path.name, name)
        for path in (ROOT / "tests" / "rules").glob("test_*.py")
        if path.name not in (Path(__file__).name, "test_pitfalls.py")
        for name in docstrings(path.name)
        if name.startswith("test_")
    }
    assert named == about


def test_every_case_is_at_its_rules() -> None:
    later = {name for names in AWAITED.values() for name in names}
    for case in load("semantics.json"):
        shown = f"({case['id']})" if case["id"] in later else case["id"]
        for rule in case["rules"]:
            assert shown in TABLE[rule][4].split(), (rule, shown)


def test_table_is_what_the_script_makes() -> None:
    spec = importlib.util.spec_from_file_location("make_rules", ROOT / "docs" / "make_rules.py")
    assert spec is not None
    assert spec.loader is not None
    script: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert PAGE.read_text() == script.filled(PAGE.read_text())
