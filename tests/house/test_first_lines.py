"""The first line of a file is the one question it answers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for room in ("aggregators", "runtime", "spark", "api") for path in (ROOT / room).rglob("*.py"))


def first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_says_in_one_line_which_one_question_it_answers(path: Path) -> None:
    line = first_line(path)
    assert line.endswith("."), "one sentence or phrase, whole"
    assert not re.search(r"\band\b", line), line
