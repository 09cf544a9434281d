"""Random events in random windows on Spark, as the oracle has them. Many cases, each a key, share one query."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.by_definition import Event, Grid, windows
from ..oracles.operations import numeric
from ..oracles.rows import assert_windows
from ..strategies.events import FAR, KEYS, NASTY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = 25
GRIDS = [
    Grid(10, 3, offset=-4),
    Grid(4, 9, offset=100, closed="right"),
    Grid(7, 7, empty="emit"),
    Grid(12, 5, offset=2, closed="right", empty="emit"),
]


def values_of(chance: random.Random, floats: bool) -> Any:
    """A value such as hypothesis would find: null, small, or nasty."""
    if chance.random() < 0.15:
        return None
    if not floats:
        return chance.choice([chance.randint(-9, 9), chance.randint(-(2**57), 2**57)])
    return chance.choice([float(chance.randint(-9, 9)), chance.gauss(0, 1e3), chance.choice(NASTY)])


def events_of(seed: int, grid: Grid, floats: bool) -> list[Event]:
    """The events of all cases; no two of a case at one time, as partitions would not say which came first."""
    chance = random.Random(seed)
    events = []
    for case in range(CASES):
        far = grid.empty == "skip" and case % 3 == 0
        times = {chance.randint(-60, 60) + (chance.randint(-3, 3) * FAR // 3 if far else 0) for _ in range(case * 2)}
        keys = chance.sample(KEYS, 3)
        events += [Event(time, (case, chance.choice(keys)), values_of(chance, floats)) for time in times]
    chance.shuffle(events)
    return events


def table_of(events: list[Event], values: pa.DataType) -> pa.Table:
    return pa.table(
        {
            "t": pa.array([event.time for event in events], pa.int64()),
            "case": pa.array([event.key[0] for event in events], pa.int32()),
            "key": pa.array([event.key[1] for event in events], pa.float64()),
            "value": pa.array([event.value for event in events], values),
        }
    )


@pytest.mark.parametrize("combine", ["driver", "executors"])
@pytest.mark.parametrize(("grid", "floats"), [(grid, n % 2 == 0) for n, grid in enumerate(GRIDS)], ids=str)
def test_numbers(grid: Grid, floats: bool, combine: str, spark: SparkSession) -> None:
    events = events_of(grid.size, grid, floats)
    table = table_of(events, pa.float64() if floats else pa.int64())
    frame = spark.createDataFrame(table).repartition(5)
    window = ff.sliding(grid.size, grid.every, offset=grid.offset, closed=grid.closed, empty=grid.empty, gaps="allow")
    query = ff.events(frame, time="t", by=["case", "key"]).options(combine=combine).window(window)
    result = query.aggregate(**{name: operation for name, (operation, _) in numeric().items()}).toArrow()
    checks = {name: check for name, (_, check) in numeric().items()}
    assert_windows(result, windows(events, grid), checks, keys=("case", "key"), in_order=combine == "driver")
