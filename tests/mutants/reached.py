"""Which tests reach which lines of the package?"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import copies
from .startup import SHIPPED

KINDS = {"others": "not spark", "spark": "spark"}
"""The two runs: in this order mutants run against them, too."""


def folder_of(commit: str) -> Path:
    return copies.HERE / "reached" / commit


def record(commit: str, kind: str, marks: str, paths: list[str]) -> None:
    """Run the tests of one kind in the clone, and record in one file the lines that each of them reaches."""
    from coverage import Coverage

    folder = folder_of(commit) / kind
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    arguments = ["-m", f"({marks}) and ({KINDS[kind]})", "-p", "no:benchmark", "--tb=short", *paths]
    rooms = os.pathsep.join(str(copies.TREE / room) for room in copies.ROOMS)
    copies.pytest(arguments, folder / "output", FRAMEFOLD_REACHED=str(folder), FRAMEFOLD_ROOMS=rooms)
    coverage = Coverage(data_file=str(folder / "all"), config_file=False)
    coverage.combine([str(each) for each in folder.glob("lines.*")])
    coverage.save()


@dataclass(frozen=True)
class Test:
    """A test as it was recorded."""

    id: str
    spark: bool
    fixtures: list[str]
    seconds: float
    outcome: str

    @property
    def file(self) -> str:
        return self.id.partition("::")[0]


class Reached:
    """What was recorded at a commit."""

    def __init__(self, commit: str) -> None:
        self.folders = [folder_of(commit) / kind for kind in KINDS]

    @cached_property
    def tests(self) -> dict[str, Test]:
        """The tests by their ids."""
        files = [folder / "tests" for folder in self.folders if (folder / "tests").exists()]
        tests = [Test(**json.loads(line)) for file in files for line in file.read_text().splitlines()]
        return {test.id: test for test in tests}

    @cached_property
    def users(self) -> dict[str, list[str]]:
        """The ids of the tests that use each shared fixture."""
        users = defaultdict(list)
        for test in self.tests.values():
            for fixture in test.fixtures:
                users[fixture].append(test.id)
        return users

    def contexts(self, file: str) -> list[tuple[str, set[int]]]:
        """Return each context that reaches lines of a file, with these lines."""
        from coverage.numbits import numbits_to_nums

        query = (
            "select context.context, line_bits.numbits from line_bits join file on file.id = file_id"
            " join context on context.id = context_id"
            " where (file.path = ? or file.path like ?) and context.context <> ''"
        )
        names = (str(copies.TREE / file), f"%{SHIPPED}{file.removeprefix('api/')}")
        contexts: list[tuple[str, set[int]]] = []
        for folder in self.folders:
            if (folder / "all").exists():
                with closing(sqlite3.connect(folder / "all")) as data:
                    contexts += [(name, set(numbits_to_nums(bits))) for name, bits in data.execute(query, names)]
        return contexts

    def lines(self, file: str) -> set[int]:
        """Return the lines of a file that some test reaches."""
        return set().union(*(lines for _, lines in self.contexts(file)))

    def reaching(self, file: str, wanted: Iterable[int]) -> list[Test]:
        """Return the passed tests that reach some of these lines."""
        wanted, names = set(wanted), set()
        for context, lines in self.contexts(file):
            if wanted & lines:
                names |= set(self.users.get(context, ())) if context.startswith("fixture ") else {context}
        return [test for name in sorted(names) if (test := self.tests.get(name)) and test.outcome == "passed"]
