"""The program of a user with types uses all public names, and runs; `make lint` has mypy and pyright read it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import framefold as ff

from ..support.plans import options
from ..support.sources import FORMATS, READERS
from ..support.windows import TIES, spec
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
    assert len(typed_program.all_windows()) == 11
    assert issubclass(typed_program.ERRORS[1], ValueError)


def test_words_in_types_are_those_that_are_checked() -> None:
    for name, words in spec.WORDS.items():
        assert set(get_args(getattr(spec, name.title().replace("_", "")))) == set(words), name
    assert set(get_args(spec.Bounds)) == set(spec.BOUNDS)
    assert set(get_args(FORMATS)) == set(READERS)
    assert set(TIES) == {"arrival", "distinct_time", "strict"}
    assert options.Choices.__annotations__.keys() == options.Options.__dataclass_fields__.keys()
