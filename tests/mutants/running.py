"""Which test catches a mutant?"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from . import chosen, copies
from .chosen import Mutant
from .places import Places
from .reached import KINDS, Reached, Test

PATIENCE = 10
"""A mutant hangs if its tests take this many times as long as without it."""

LEAST_SECONDS = {"others": 120.0, "spark": 300.0}
"""The time that is always allowed: Python starts, and Spark."""


@dataclass
class Result(Mutant):
    """What became of a mutant."""

    caught_by: str = ""
    """A test, or "time-out", or nothing if the mutant lives."""
    seconds: float = 0.0
    tests: int = 0
    """How many tests reach the line."""
    note: str = ""


def check(mutant: Mutant, reached: Reached, marks: str, paths: list[str], among: set[str] | None = None) -> Result:
    """Run the tests that reach a mutant's line against it, until one fails: those without Spark first."""
    result = Result(**asdict(mutant))
    place = chosen.find(copies.TREE, mutant)
    if place is None:
        result.note = "LOST"
        return result
    path, number = place
    name, text, stamp = path.relative_to(copies.TREE).as_posix(), path.read_text(), path.stat().st_mtime
    statement = Places(text).by_line[number]
    tests = reached.reaching(name, [number]) or reached.reaching(name, range(statement.first, statement.last + 1))
    tests = [each for each in tests if (among is None or each.id in among) and below(each.id, paths)]
    result.tests = len(tests)
    began = time.monotonic()
    try:
        lines = text.splitlines(keepends=True)
        lines[number - 1] = lines[number - 1].replace(mutant.before, mutant.after)
        path.write_text("".join(lines))
        # A compiled file is of use to Python only if this time is equal, in whole seconds.
        os.utime(path, (stamp, stamp + 10 * (mutant.number + 1)))
        for kind, mark in KINDS.items():
            of_kind = [each for each in tests if each.spark == (kind == "spark")]
            if of_kind and not result.caught_by:
                name = f"{mutant.number}-{kind}"
                result.caught_by = run(of_kind, f"({marks}) and ({mark})", LEAST_SECONDS[kind], name)
    finally:
        path.write_text(text)
        os.utime(path, (stamp, stamp))
    result.seconds = round(time.monotonic() - began, 1)
    if not tests:
        result.note = "NOT REACHED"
    return result


def below(test: str, paths: Iterable[str]) -> bool:
    """Whether a test is in one of some paths, or there are none."""
    paths = [each.rstrip("/") for each in paths]
    return not paths or any(test == each or test.startswith((f"{each}/", f"{each}::")) for each in paths)


def run(tests: list[Test], marks: str, least: float, name: str) -> str:
    """Run tests until one fails, and return its id."""
    limit = max(least, PATIENCE * sum(each.seconds for each in tests))
    code, output = pytest(tests, ["-x", "-m", marks], name, limit)
    if code is None:
        return "time-out"
    if code in (0, 5):  # passed, or no test has these marks
        return ""
    return next(iter(failed(output, tests)), f"pytest ended: {output}")


def fail_anyway(tests: list[Test]) -> set[str]:
    """Return those tests that fail without a mutant: what they caught may be nothing."""
    _, output = pytest(tests, [], "control", None)
    return set(failed(output, tests))


def pytest(tests: list[Test], options: list[str], name: str, limit: float | None) -> tuple[int | None, Path]:
    """Run tests: files that take less time come first. Return pytest's exit code, and what it printed."""
    files: dict[str, list[Test]] = defaultdict(list)
    for each in tests:
        files[each.file].append(each)
    order = sorted(files, key=lambda file: sum(each.seconds for each in files[file]))
    folder = copies.HERE / "runs"
    folder.mkdir(exist_ok=True)
    listed, output = folder / f"{name}.tests", folder / f"{name}.output"
    listed.write_text("\n".join(each.id for file in order for each in files[file]))
    arguments = [*options, "-p", "no:benchmark", "--tb=short", *order]
    return copies.pytest(arguments, output, limit, FRAMEFOLD_CHOSEN=str(listed)), output


def failed(output: Path, tests: list[Test]) -> list[str]:
    """Return the tests that failed, or files that could not be imported, as the end of pytest's output says.

    The ids of tests may contain anything.
    """
    lines = re.findall(r"^(?:FAILED|ERROR) (.*)$", output.read_text(errors="replace"), re.MULTILINE)
    ids = sorted({each.id for each in tests} | {each.file for each in tests}, key=len, reverse=True)
    return [name for line in lines for name in ids if f"{line} - ".startswith(f"{name} - ")]
