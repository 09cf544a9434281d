"""The cost promised: 3 element operations a window by two-stacks, however far the windows overlap.

And at most 2 log2(width) where ranges lie within one another, after one a row.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.by_definition import Grid
from ..support import stages
from ..support.plans import BoundAggregate, bind
from ..support.stages import slide


class CountingSum(ff.AggregateOperation):
    """A sum that counts the states it has combined or deducted, and the rows it has accumulated."""

    state = {"total": "int64"}
    commutative = True
    result = "int64"
    try_laws = False  # what a trial combines is not counted

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.operations = 0
        self.calls = 0
        self.rows = 0

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        self.rows += len(columns[0])
        return {"total": frames.sum(columns[0])}

    def combine(self, a: Any, b: Any) -> Any:
        self.operations += len(a["total"])
        self.calls += 1
        return {"total": a["total"] + b["total"]}

    def deduct(self, a: Any, b: Any) -> Any:
        self.operations += len(a["total"])
        self.calls += 1
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


def cost(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[int, int]:
    """Element operations and calls of a slide, the sums of which are looked at too."""
    counting = CountingSum("x")
    bound = BoundAggregate("x", counting, [pa.int64()])
    counting.operations = counting.calls = 0
    slid = slide(bound, {"total": values}, low, high)
    sums = np.concatenate([[0], np.cumsum(values)])
    assert np.array_equal(np.asarray(slid["total"]), sums[high] - sums[low])
    return counting.operations, counting.calls


@pytest.mark.parametrize(("width", "keys", "rows", "density"), CASES)
def test_operations_a_window(width: int, keys: int, rows: int, density: float) -> None:
    key, ticks, values = frames_of(keys, rows, density)
    low, high = ranges(key, ticks, width)
    operations, _ = cost(values, low, high)
    assert operations <= 3 * len(low)
    shuffled = np.random.default_rng(width).permutation(len(low))
    assert cost(values, low[shuffled], high[shuffled]) == cost(values, low, high)


@pytest.mark.parametrize(
    "lengths", [[1_000_000], [100_000, 1, 7], [50] * 2000, [300] * 999, [1]], ids=lambda lengths: str(lengths[:3])
)
def test_operations_where_nothing_is_let_go_of(lengths: list[int]) -> None:
    """Everything so far, for each row of each key: 2 a window, in about twice the root of the rows of a key calls."""
    rows, longest = sum(lengths), max(lengths)
    low = np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
    operations, calls = cost(np.arange(rows), low, np.arange(rows) + 1)
    assert operations <= 2 * rows
    assert calls <= (longest if rows >= 256 * longest else max(64, 2 * longest**0.5))


def test_operations_of_few_windows_that_grow() -> None:
    """A result every hundred rows, and the same again once the end is frozen."""
    high = np.minimum(np.arange(100, 50_000, 100), 30_000)
    operations, _ = cost(np.arange(30_000), 0 * high, high)
    assert operations <= 30_000 + len(high)


@pytest.mark.parametrize("widest", [1, 2, 5, 100, 20_000])
def test_operations_of_ranges_within_one_another(widest: int) -> None:
    """One a row that is in any of them, and 2 log2(width) a range; few ranges do not cost a tree of everything."""
    chance = np.random.default_rng(widest)
    for count in (3, 30_000):
        low = chance.integers(0, 40_000 - widest + 1, count)
        high = low + chance.integers(1, widest + 1, count)
        low, high = np.append(low, [1, 0]), np.append(high, [3, 4])
        operations, calls = cost(np.arange(40_000), low, high)
        covered = np.zeros(40_000, bool)
        for a, b in zip(low.tolist(), high.tolist(), strict=True):
            covered[a:b] = True
        assert operations <= covered.sum() + 2 * np.log2(high - low).sum()
        assert calls <= 4 * np.log2((high - low).max()) + 4


@pytest.mark.parametrize("grid", [Grid(100, 1), Grid(60, 7), Grid(3, 2), Grid(5, 5), Grid(2, 5)], ids=str)
def test_operations_of_a_query(grid: Grid) -> None:
    """Each event is accumulated once; where the step does not divide the size there are two frames a step to slide."""
    counting = CountingSum("x")
    events = pa.table({"t": np.arange(5000), "x": np.ones(5000, np.int64)})
    window = ff.sliding(grid.size, grid.every)
    query = bind(events.schema, time="t", by=[], window=window, outputs={"x": counting}, null_time="error")
    counting.operations = counting.rows = 0
    partials = stages.accumulate(query, events, 0)
    assert counting.rows == sum(len(grid.numbers(t)) > 0 for t in range(5000))
    assert counting.operations == 0
    result = stages.results(query, partials)
    frames_a_window = 2 if grid.size % grid.every and grid.size > grid.every else 1
    assert counting.operations <= (1 + 2 * frames_a_window) * result.num_rows
    if grid == Grid(100, 1):  # HZ-12: Jet's own example, one event in a hundred windows
        one = stages.results(query, stages.accumulate(query, events.slice(0, 1), 0))
        assert one.num_rows == 100
        assert set(one["x"].to_pylist()) == {1}
