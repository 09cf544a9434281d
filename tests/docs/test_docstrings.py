"""The examples in the docstrings do what they say.

Pytest's own --doctest-modules would import the rooms under the names of their folders, so they are looked up here
as users import them.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import framefold as ff

ROOMS = ["framefold", "framefold.aggregators", "framefold.runtime", "framefold.spark"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    """Names of all modules. Each room is listed by itself: in an editable install it is not inside the first."""
    inside = [
        module.name
        for room in ROOMS
        for module in pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}.")
        if not module.name.endswith(".__main__")
    ]
    return sorted({*ROOMS, *inside})


PUBLIC = sorted({value.__qualname__ for name in ff.__all__ if inspect.getmodule(value := getattr(ff, name)) is ff})
"""What says that it is of ``framefold``, and not of the module where it is written."""


@pytest.mark.parametrize("name", [*modules(), *(f"framefold.{name}" for name in PUBLIC)])
def test_examples(name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = doctest.DocTestFinder().find(pkgutil.resolve_name(name), name)
    tests = [test for test in found if test.examples and (name != "framefold" or test.name == name)]
    if not tests:
        return
    given: dict[str, Any] = {}
    sources = [example.source for test in tests for example in test.examples if not skipped(example)]
    if any(re.search(r"(?<![.\w])spark\b", source) for source in sources):
        given["spark"] = request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)  # for examples that write files
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said: list[str] = []
    for test in tests:
        test.globs.update(given)
        runner.run(test, out=said.append)
    assert runner.failures == 0, "\n" + "".join(said)


def skipped(example: doctest.Example) -> bool:
    return example.options.get(doctest.SKIP, False)
