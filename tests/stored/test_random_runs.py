"""Random events in random runs, then windows over what is stored: as one query over all events gives them."""

from __future__ import annotations

import random
from pathlib import Path

import hypothesis
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import framefold as ff

from ..oracles.random_operations import CASES, columns
from ..strategies.windows import Problem
from ..support.examples import examples
from ..windows.test_random import CONSTRUCTORS, said_of, table_of, window_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),
    pytest.mark.filterwarnings("ignore::framefold.CalendarWarning"),
]

KINDS = ["sliding", "tumbling", "calendar", "cumulating", "landmark a step", "session", "windows_from", "around time"]
UNITS = {"int": (1, 2, 3), "naive": ("1 second", "2 seconds", "5 seconds"), "date": ("1 day", "2 days", "1 week")}
UNITS["utc"] = UNITS["naive"]

CUT = "cut the stored frame"
"""What is said of windows that stored frames do not make up."""


def in_runs(chance: random.Random, table: pa.Table, together: bool) -> list[pa.Table]:
    """The events in some runs in any order, or in one as they are."""
    if together:
        return [table]
    of = [chance.randrange(3) for _ in range(len(table))]
    runs = [table.filter(pa.array([each == run for each in of], pa.bool_())) for run in range(3)]
    chance.shuffle(runs)
    return runs


def assert_right(problem: Problem, seed: int, frame: int, folder: Path) -> bool:
    """Whether the windows are made of the stored frames; then they are those of one query."""
    chance = random.Random(seed)
    data = columns(chance, len(problem.rows), [False] * len(problem.rows))
    table = table_of(problem)
    for name, column in data.items():
        table = table.append_column(name, column)
    chosen = {name: CASES[name] for name in chance.sample(sorted(CASES), chance.randint(1, 4))}
    outputs = {name: case.make(*case.columns) for name, case in chosen.items()}
    windows = window_of(problem)
    said = said_of(problem)
    closed = "right" if getattr(windows, "closed", "left") == "right" else "left"
    frames = ff.tumbling(UNITS[problem.kind][frame], closed=closed)
    want = ff.events(table, **said).window(windows).aggregate(**outputs)
    stored = ff.partials(
        folder / f"{chance.random()}", frame=frames, trust=True, **said | {"by": said["by"] or ()}, **outputs
    )
    try:
        for number, run in enumerate(in_runs(chance, table, together=False)):
            stored.append(run, run=str(number))
            stored.append(run, run=str(number))  # is in
    except ff.QueryError as error:
        assert "the order of events counts" in str(error)
        stored = ff.partials(
            folder / f"{chance.random()}", frame=frames, trust=True, **said | {"by": said["by"] or ()}, **outputs
        )
        stored.append(table, run="all")
    try:
        found = stored.window(windows).aggregate()
    except ff.QueryError as error:
        assert CUT in str(error) or "min_samples= asks for" in str(error), f"{windows} {frames}: {error}"
        return False
    assert found.schema == want.schema
    assert repr(found.to_pylist()) == repr(want.to_pylist()), f"{windows} of {frames}, {outputs}\n{table.to_pydict()}"
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_runs_make_up_one_query(kind: str, tmp_path: Path) -> None:
    right = []

    @hypothesis.seed(KINDS.index(kind))
    @settings(examples(60, quick=6), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(CONSTRUCTORS[kind], st.integers(0, 2**32), st.integers(0, 2))
    def check(problem: Problem, seed: int, frame: int) -> None:
        right.append(assert_right(problem, seed, frame, tmp_path))

    check()
    assert any(right)
