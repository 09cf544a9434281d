"""The cost promised: 2 element operations a window by deduct, 3 by two-stacks, however far the windows overlap."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold.aggregators.binding import Bound
from framefold.runtime.query import bind
from framefold.runtime.slide import slide

from ..oracle import Grid

MOST = {"deduct": 2, "two-stacks": 3}


class CountingSum(ff.AggregateOperation):
    """A sum that counts the states it has combined or deducted, and the rows it has accumulated."""

    state = {"total": "int64"}
    commutative = True
    result = "int64"

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.operations = 0
        self.rows = 0

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        self.rows += len(columns[0])
        return {"total": frames.sum(columns[0])}

    def combine(self, a: Any, b: Any) -> Any:
        self.operations += len(a["total"])
        return {"total": a["total"] + b["total"]}

    def deduct(self, a: Any, b: Any) -> Any:
        self.operations += len(a["total"])
        return {"total": a["total"] - b["total"]}

    def finish(self, a: Any) -> Any:
        return a["total"]


def ranges(keys: np.ndarray, ticks: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The windows of `width` ticks, one a tick, that hold any frame: ranges of rows sorted by key and tick."""
    span = int(ticks.max() - ticks.min()) + 2 * width + 2
    line = (
        keys * span + ticks - ticks.min() + width
    )  # keys one after the other on one line, further apart than a window
    starts = np.unique((line[:, None] - np.arange(width)[None, :]).ravel())
    return np.searchsorted(line, starts), np.searchsorted(line, starts + width)


def frames_of(keys: int, rows: int, density: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, ticks and values of frames: each tick of each key has a frame with this probability."""
    chance = np.random.default_rng(keys * rows)
    each = [np.flatnonzero(chance.random(int(rows / density)) < density) for _ in range(keys)]
    key = np.repeat(np.arange(keys), [len(ticks) for ticks in each])
    ticks = np.concatenate(each)
    return key, ticks, chance.integers(-9, 9, len(ticks))


CASES = [
    (width, keys, rows, density)
    for width, (keys, rows), density in itertools.product(
        [1, 2, 3, 7, 60, 1000], [(1, 30_000), (300, 60), (2000, 3)], [1.0, 0.5, 0.05]
    )
    if keys * rows * width / density <= 5e6  # brute force has a row for each tick of each window
]


@pytest.mark.parametrize("way", ["deduct", "two-stacks"])
@pytest.mark.parametrize(("width", "keys", "rows", "density"), CASES)
def test_operations_a_window(width: int, keys: int, rows: int, density: float, way: Any) -> None:
    counting = CountingSum("x")
    bound = Bound("x", counting, [pa.int64()])
    key, ticks, values = frames_of(keys, rows, density)
    low, high = ranges(key, ticks, width)
    counting.operations = 0
    slid = slide(bound, {"total": values}, low, high, way=way)
    assert counting.operations <= MOST[way] * len(low)
    sums = np.concatenate([[0], np.cumsum(values)])
    assert np.array_equal(np.asarray(slid["total"]), sums[high] - sums[low])


@pytest.mark.parametrize("grid", [Grid(100, 1), Grid(60, 7), Grid(3, 2), Grid(5, 5), Grid(2, 5)], ids=str)
def test_operations_of_a_query(grid: Grid) -> None:
    """Each event is accumulated once; where the step does not divide the size there are two frames a step to slide."""
    counting = CountingSum("x")
    events = pa.table({"t": np.arange(5000), "x": np.ones(5000, np.int64)})
    window = ff.sliding(grid.size, grid.every)
    query = bind(events.schema, time="t", by=[], window=window, outputs={"x": counting}, null_time="error")
    counting.operations = counting.rows = 0
    partials = query.accumulate(events, 0)
    assert counting.rows == sum(len(grid.numbers(t)) > 0 for t in range(5000))
    assert counting.operations == 0
    result = query.results(partials)
    frames_a_window = 2 if grid.size % grid.every and grid.size > grid.every else 1
    assert counting.operations <= (1 + frames_a_window) * result.num_rows
    if grid == Grid(100, 1):  # HZ-12: Jet's own example, one event in a hundred windows
        one = query.results(query.accumulate(events.slice(0, 1), 0))
        assert one.num_rows == 100
        assert set(one["x"].to_pylist()) == {1}
