"""Each number that tunes speed says the case that it is for, and what another one would bring there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARK = ast.parse((ROOT / "benchmarks/tuning.py").read_text()).body
CASE_OF: dict[str, str] = next(
    ast.literal_eval(each.value)
    for each in BENCHMARK
    if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id == "CASE_OF"
)
FIGURES = re.compile(r"^(?:(?P<name>[A-Z_]+): )?\d\.\d\d and \d\.\d\d, (?P<case>.+)\.$", re.MULTILINE)


def numbers(room: str) -> dict[str, str]:
    """The numbers of a room, each with the docstring below it."""
    lines = ast.parse((ROOT / room / "tuning.py").read_text()).body[1:]
    found = {}
    for number, text in zip(lines[::2], lines[1::2], strict=True):
        assert isinstance(number, ast.Assign)
        assert isinstance(text, ast.Expr)
        names = [each.id for each in ast.walk(number.targets[0]) if isinstance(each, ast.Name)]
        found |= dict.fromkeys(names, str(ast.literal_eval(text.value)))
    return found


@pytest.mark.parametrize("room", ["aggregators", "runtime", "spark"])
def test_every_number_has_its_case_and_two_figures(room: str) -> None:
    for name, text in numbers(room).items():
        cases = [found["case"] for found in FIGURES.finditer(text) if found["name"] in (None, name)]
        assert cases == [CASE_OF[name]], name


def test_every_case_is_of_a_number() -> None:
    assert set(CASE_OF) == {name for room in ("aggregators", "runtime", "spark") for name in numbers(room)}
