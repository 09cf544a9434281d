"""The program of a user with types: it uses all public names, runs, and holds under mypy --strict; mistakes do not."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import framefold as ff
from framefold.reading import Format
from framefold.runtime.sources.formats import READERS
from framefold.runtime.windows import spec
from framefold.runtime.windows.last_rows import TIES
from framefold.spark import options

from . import typed_program

PROGRAM = Path(typed_program.__file__)


def test_it_uses_every_public_name() -> None:
    tree = ast.parse(PROGRAM.read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ff"}
    assert used == set(ff.__all__)


def test_it_runs() -> None:
    result = typed_program.local()
    assert result["words"].to_pylist() == [["a"], ["b"]]
    assert result["dot"].to_pylist() == [2 * (1 * 1 + 4 * 2), 2 * (2 * 3 + 3 * 2)]
    assert len(typed_program.all_windows()) == 10
    assert issubclass(typed_program.ERRORS[1], ValueError)


def test_words_in_types_are_those_that_are_checked() -> None:
    for name, words in spec.WORDS.items():
        assert set(get_args(getattr(spec, name.title().replace("_", "")))) == set(words), name
    assert set(get_args(spec.Bounds)) == set(spec.BOUNDS)
    assert set(get_args(Format)) == set(READERS)
    assert set(TIES) == {"arrival", "distinct_time", "strict"}
    assert options.Choices.__annotations__.keys() == options.Options.__dataclass_fields__.keys()


WRONG = {
    'ff.tumbling(4, closed="lft")': 'expected "Literal[',
    'ff.events(1, time="t", null_time="drp")': "No overload variant",
    'ff.events(1, time="t").options(combine="drivr")': 'Argument "combine"',
    'ff.CountIf("x", lambda x: x)': 'expected "Never"',
    "ff.Sum(3)": "str | Expression",
}


@pytest.mark.slow
def test_mypy_finds_mistakes_and_nothing_else(tmp_path: Path) -> None:
    """`make lint` checks the program itself; this needs mypy, which only the checks install."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: pip install 'framefold[lint]'")
    api = Path(ff.__file__).parent
    package = tmp_path / "framefold"  # as it is installed: mypy does not see through an editable install
    package.mkdir()
    for each in (*api.iterdir(), *(api.parent / room for room in ("aggregators", "runtime", "spark"))):
        if each.name != "__pycache__" and not (package / each.name).exists():
            (package / each.name).symlink_to(each)
    (tmp_path / "wrong.py").write_text("\n".join(["import framefold as ff", *WRONG]) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    for number, (line, said) in enumerate(WRONG.items(), 2):
        found = [each for each in done.stdout.splitlines() if each.startswith(f"wrong.py:{number}:")]
        assert any(said in each for each in found), (line, done.stdout)
