"""Operations of a user's own: the GeometricMean of the design, and LongestRun, which has no inverse and needs order."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.by_definition import Event, Grid, check_longest_run, check_sum, windows
from ..oracles.operations import GeometricMean, Ledger, LongestRun, check_mean
from ..oracles.rows import assert_windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GRIDS = [Grid(7, 2), Grid(40, 40), Grid(12, 5, offset=-3, closed="right"), Grid(3, 4)]
CHECKS = {"mean": check_mean, "run": check_longest_run, "ledger": check_sum}


def events_of(seed: int) -> list[Event]:
    """Events of three keys with long runs of equal values in time, handed over in no order of time."""
    chance = random.Random(seed)
    times = chance.sample(range(-300, 300), 400)  # no ties: what order would they have across partitions?
    made = [Event(time, chance.choice(["a", "b", None]), 1 + (time // 11) % 3) for time in times]
    return [Event(e.time, e.key, None if chance.random() < 0.05 else e.value) for e in made]


def table_of(events: list[Event]) -> pa.Table:
    columns = {name: [getattr(event, name) for event in events] for name in ("time", "key", "value")}
    return pa.table(columns, pa.schema({"time": pa.int64(), "key": pa.string(), "value": pa.int64()}))


def aggregate(data: Any, grid: Grid, **options: str) -> Any:
    events = ff.events(data, time="time", by="key").options(**options)
    window = ff.sliding(grid.size, grid.every, offset=grid.offset, closed=grid.closed, gaps="allow")
    return events.window(window).aggregate(mean=GeometricMean("value"), run=LongestRun("value"), ledger=Ledger("value"))


def test_as_the_design_has_it(shared: Path) -> None:
    assert inspect.getsource(GeometricMean) in (shared / "design.md").read_text()


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_local(grid: Grid) -> None:
    events = events_of(1)
    assert_windows(aggregate(table_of(events), grid), windows(events, grid), CHECKS)


@pytest.mark.minima
@pytest.mark.parametrize("combine", ["driver", "executors"])
@pytest.mark.parametrize("grid", GRIDS[::2], ids=str)
def test_spark(grid: Grid, combine: str, spark: SparkSession) -> None:
    events = events_of(2)
    frame = spark.createDataFrame(table_of(events)).repartition(5)
    assert_windows(aggregate(frame, grid, combine=combine).toArrow(), windows(events, grid), CHECKS, in_order=False)
