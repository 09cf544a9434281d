"""Random events in random runs, then windows over what is stored: as one query over all events gives them."""

from __future__ import annotations

import math
import random
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import framefold as ff

from ..oracles.random_operations import CASES, columns
from ..strategies.windows import Problem
from ..windows.test_random import CONSTRUCTORS, said_of, table_of, window_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),
    pytest.mark.filterwarnings("ignore::framefold.CalendarWarning"),
]

KINDS = ["sliding", "tumbling", "calendar", "cumulating", "landmark a step", "session", "windows_from", "around time"]
KINDS += ["business days"]
UNITS = {"int": (1, 2, 3), "naive": ("1 second", "2 seconds", "5 seconds"), "date": ("1 day", "2 days", "1 week")}
UNITS["utc"] = UNITS["naive"]
IN_A_ZONE = ("15 minutes", "1 hour", "1 day")

SAID = ("cut the stored frame", "min_samples= asks for", "are of single events")
"""What is said of windows that stored frames do not make up."""

ROUNDED = {"covariance"}
"""Operations whose last bits depend on which events are accumulated together, in one query as well."""

AT_ONCE = 4
"""How many operations are in one case: so that some cases have all."""


@dataclass(frozen=True)
class Case:
    """Events of random columns, some operations, windows and frames."""

    table: pa.Table
    said: dict[str, Any]
    outputs: dict[str, ff.Operation]
    windows: ff.Spec
    frames: ff.Spec
    chance: random.Random
    events: list[pa.Table] = field(default_factory=list)

    @classmethod
    def of(cls, problem: Problem, number: int, seed: int, frame: int) -> Case:
        """The operations that are next in turn, whatever the windows are."""
        chance = random.Random(seed)
        table = table_of(problem)
        for name, column in columns(chance, len(problem.rows), [False] * len(problem.rows)).items():
            table = table.append_column(name, column)
        names = sorted(CASES)
        chosen = {names[at % len(names)] for at in range(AT_ONCE * number, AT_ONCE * (number + 1))}
        outputs = {name: CASES[name].make(*CASES[name].columns) for name in sorted(chosen)}
        windows, said = window_of(problem), said_of(problem)
        closed = "right" if getattr(windows, "closed", "left") == "right" else "left"
        length, every = UNITS.get(problem.kind, IN_A_ZONE)[frame], problem.spec.arguments.get("every")
        if frame == 2 and hasattr(every, "holidays"):
            length = every.times(1)
        frames = ff.tumbling(length, closed=closed)
        return cls(table, said | {"by": said["by"] or ()}, outputs, windows, frames, chance)

    def stored(self, path: Path) -> ff.StoredPartials:
        """Random runs at rest, in any order, some of them repeated; whole frames where the order of events counts."""
        try:
            return self._written(Path(tempfile.mkdtemp(dir=path)), self._runs(whole=False))
        except ff.QueryError as error:
            if "the order of events counts" not in str(error):
                raise
            return self._written(Path(tempfile.mkdtemp(dir=path)), self._runs(whole=True))

    def at(self, path: Path, **more: Any) -> ff.StoredPartials:
        """What is at a path."""
        return ff.partials(path, frame=self.frames, trust=True, **self.said, **self.outputs, **more)

    def _written(self, path: Path, runs: list[pa.Table]) -> ff.StoredPartials:
        stored = self.at(path)
        self.events.append(pa.concat_tables(runs))  # those of one time are in the order of the runs
        for number, run in enumerate(runs):
            stored.append(run, run=str(number))
            if self.chance.random() < 0.5:
                again = self.chance.randint(0, number)
                assert not stored.append(runs[again], run=str(again)).added
            if self.chance.random() < 0.3:
                stored.compact()
        return stored

    def _runs(self, whole: bool) -> list[pa.Table]:
        of = [self.chance.randrange(3) for _ in range(len(self.table))]
        if whole:
            query = ff.events(self.table.append_column("#", pa.array(range(len(of)), pa.int64())), **self.said)
            for rows in query.window(self.frames).aggregate(rows=ff.CollectList("#"))["rows"].to_pylist():
                run = self.chance.randrange(3)
                for row in rows:
                    of[row] = run
        runs = [some(self.table, [at for at, each in enumerate(of) if each == run]) for run in range(3)]
        self.chance.shuffle(runs)
        return runs

    def right(self) -> pa.Table:
        """What one query over all events gives, as they were added last."""
        return ff.events(self.events[-1], **self.said).window(self.windows).aggregate(**self.outputs)

    def assert_right(self, stored: ff.StoredPartials) -> bool:
        """Whether the windows are made of the stored frames; then they are those of one query."""
        try:
            found = stored.window(self.windows).aggregate()
        except ff.QueryError as error:
            if not any(said in str(error) for said in SAID):
                raise
            return False
        want = self.right()
        assert found.schema == want.schema
        for name, column in zip(want.column_names, want.columns, strict=True):
            said = f"{self.outputs.get(name, name)} over {self.windows} of {self.frames}\n{self.table.to_pydict()}"
            assert alike(found[name].to_pylist(), column.to_pylist(), name in ROUNDED), said
        return True


def alike(found: Any, want: Any, rounded: bool) -> bool:
    """Whether values are equal to the last bit; rounded ones nearly."""
    if rounded and isinstance(want, list):
        return len(found) == len(want) and all(map(partial(alike, rounded=True), found, want))
    if rounded and isinstance(want, float) and isinstance(found, float):
        return repr(found) == repr(want) or math.isclose(found, want, rel_tol=1e-9, abs_tol=1e-9)
    return repr(found) == repr(want)


def some(table: pa.Table, rows: list[int]) -> pa.Table:
    """Some rows of a table; pyarrow's own take, for categories, has none of views, and wrong ones of lists of nulls."""
    taken = [
        column.take(pa.array(rows, pa.int64()))
        if pa.types.is_dictionary(column.type)
        else pa.array([column[row].as_py() for row in rows], column.type)
        for column in table.columns
    ]
    return pa.table(taken, table.schema)


def cases(kind: str, count: int, first: int = 0) -> list[Case]:
    """Some cases of a kind of windows, the same in every run."""
    found: list[Case] = []

    @hypothesis.seed(KINDS.index(kind) + first)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(CONSTRUCTORS[kind], st.integers(0, 2**32), st.integers(0, 2))
    def draw(problem: Problem, seed: int, frame: int) -> None:
        found.append(Case.of(problem, first + len(found), seed, frame))

    draw()
    return found


MANY = [pytest.param(kind, 40, KINDS.index(kind) * 5 + 6, 6, marks=pytest.mark.slow) for kind in KINDS]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "count", "first", "least"), [*((kind, 6, 0, 1) for kind in KINDS), *MANY])
def test_runs_make_up_one_query(kind: str, count: int, first: int, least: int, tmp_path: Path) -> None:
    assert sum(case.assert_right(case.stored(tmp_path)) for case in cases(kind, count, first)) >= least


def test_cases_have_every_operation() -> None:
    firsts = [KINDS.index(kind) * 5 + 6 for kind in KINDS]
    numbers = {first + at for first in firsts for at in range(40)}
    assert {at % len(CASES) for each in numbers for at in range(AT_ONCE * each, AT_ONCE * (each + 1))} == set(
        range(len(CASES))
    )
