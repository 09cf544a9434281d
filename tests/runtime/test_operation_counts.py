"""The cost promised: 2 element operations a window by deduct, 3 by two-stacks, however far the windows overlap.

And at most 2 log2(width) where ranges lie within one another, after one a row.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from .ranges import CountingSum, cost

MOST = {"deduct": 2, "two-stacks": 3}


def ranges(keys: np.ndarray, ticks: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The windows of `width` ticks, one a tick, that hold any frame: ranges of rows sorted by key and tick."""
    span = int(ticks.max() - ticks.min()) + 2 * width + 2
    # Keys one after the other on one line, further apart than a window.
    line = keys * span + ticks - ticks.min() + width
    starts = np.unique((line[:, None] - np.arange(width)[None, :]).ravel())
    return np.searchsorted(line, starts), np.searchsorted(line, starts + width)


def frames_of(keys: int, rows: int, density: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, ticks and values of frames: each tick of each key has a frame with this probability."""
    chance = np.random.default_rng(keys * rows)
    each = [np.flatnonzero(chance.random(int(rows / density)) < density) for _ in range(keys)]
    key, ticks = np.repeat(np.arange(keys), [len(ticks) for ticks in each]), np.concatenate(each)
    return key, ticks, chance.integers(-9, 9, len(ticks))


CASES = [
    (width, keys, rows, density)
    for width, (keys, rows), density in itertools.product(
        [1, 2, 7, 60, 1000], [(1, 20_000), (300, 60), (2000, 3)], [1.0, 0.05]
    )
    if keys * rows * width / density <= 3e6  # brute force has a row for each tick of each window
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["deduct", "two-stacks"])
@pytest.mark.parametrize(("width", "keys", "rows", "density"), CASES)
def test_operations_a_window(width: int, keys: int, rows: int, density: float, way: Any) -> None:
    key, ticks, values = frames_of(keys, rows, density)
    low, high = ranges(key, ticks, width)
    operations, calls = cost(values, low, high, way)
    assert operations <= MOST[way] * len(low)
    shuffled = np.random.default_rng(width).permutation(len(low))
    assert cost(values, low[shuffled], high[shuffled], way) == (operations, calls)


@pytest.mark.parametrize("way", ["deduct", "two-stacks", None])
@pytest.mark.parametrize(
    "lengths", [[200_000], [100_000, 1, 7], [50] * 2000, [300] * 999, [1]], ids=lambda lengths: str(lengths[:3])
)
def test_operations_where_nothing_is_let_go_of(lengths: list[int], way: Any) -> None:
    """Everything so far, for each row of each key: 2 a window, in about twice the root of the rows of a key calls."""
    rows, longest = sum(lengths), max(lengths)
    low = np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
    operations, calls = cost(np.arange(rows), low, np.arange(rows) + 1, way)
    assert operations <= 2 * rows
    assert calls <= (longest if rows >= 256 * longest else max(64, 2 * longest**0.5))


def test_operations_of_few_windows_that_grow() -> None:
    """A result every hundred rows, and the same again once the end is frozen."""
    high = np.minimum(np.arange(100, 50_000, 100), 30_000)
    operations, _ = cost(np.arange(30_000), 0 * high, high)
    assert operations <= 30_000 + len(high)


# Every kind of windows: 2 or 3 where windows only move forward, O(log n) elsewhere


class CountingMax(CountingSum):
    """A maximum that counts what it combines; it has no inverse."""

    deduct = ff.AggregateOperation.deduct

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        return {"total": frames.max(columns[0])}

    def combine(self, a: Any, b: Any) -> Any:
        self.combined += len(a["total"])
        return {"total": np.maximum(a["total"], b["total"])}

    def create(self) -> Any:
        return {"total": np.iinfo(np.int64).min}


ROWS = 4000
RNG = np.random.default_rng(11)
LOG = 2 * math.log2(ROWS)
BOTH = pytest.mark.parametrize("operation", [CountingSum, CountingMax])


def events(keys: int, until: int = 0) -> ff.Events:
    """Distinct times for each key, so that there is a partial a row; lives of up to ``until`` ticks."""
    time = np.concatenate([np.sort(RNG.choice(8 * ROWS // keys, ROWS // keys, replace=False)) for _ in range(keys)])
    columns = {"t": time, "end": time + 1 + RNG.integers(0, until + 1, ROWS), "x": RNG.integers(-50, 50, ROWS)}
    table = pa.table(columns | {"k": np.repeat(np.arange(keys), ROWS // keys)})
    return ff.events(table, time="t", by="k", until="end" if until else None)


def counted(operation: type[CountingSum], windows: ff.Windowed) -> tuple[int, int]:
    """The element operations of a query, and its results."""
    counting = operation("x")
    result = windows.aggregate(x=counting)
    return counting.operations, len(result)


FORWARD = {
    "sliding": ff.sliding(1000, every=1, empty="emit"), "paired": ff.sliding(997, every=10, empty="emit"),
    "cumulating": ff.cumulating(1000, every=1, empty="emit"), "landmark": ff.landmark(since=0, every=1),
    "running": ff.landmark(), "session": ff.session(5), "last rows": ff.last_rows(100),
    "last rows, every 7": ff.last_rows(100, every=7), "last times": ff.last_rows(100, ties="distinct_time"),
    "around rows": ff.around(rows=(-50, 50)), "around time": ff.around(time=(-400, 300)),
    "count, count": ff.policy(evict=ff.by_count(100)), "time, count": ff.policy(evict=ff.by_time(500)),
    "time, time": ff.policy(evict=ff.by_time(500), trigger=ff.by_time(2)),
    "delta, count, never falling": ff.policy(evict=ff.by_delta("t", 500)),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("name", FORWARD)
def test_windows_that_move_forward(name: str, operation: type[CountingSum]) -> None:
    for keys in (1, 40):
        operations, windows = counted(operation, events(keys).window(FORWARD[name]))
        # Where there are fewer windows than rows, each row still has to be combined and deducted once.
        assert operations <= (2 if operation is CountingSum else 3) * max(windows, ROWS)


GIVEN = RNG.integers(0, 8 * ROWS, (2, 3000))


@BOTH
def test_windows_in_any_order(operation: type[CountingSum]) -> None:
    anchors = pa.table({"from": GIVEN.min(axis=0), "to": GIVEN.max(axis=0) + 1})
    operations, windows = counted(operation, events(1).window(ff.windows_from(anchors, start="from", end="to")))
    assert operations <= ROWS + LOG * windows
    for delta in (20, 3):
        evict = ff.by_delta("x", delta)
        operations, windows = counted(operation, events(4).window(ff.policy(evict=evict)))
        assert operations <= (2 if operation is CountingSum else LOG) * (windows + 2)


@pytest.mark.parametrize("lives", [10, 100, 3000])
@pytest.mark.parametrize("window", [ff.sliding(16, every=4), ff.snapshot()], ids=["sliding", "snapshot"])
def test_interval_events_however_long(window: Any, lives: int) -> None:
    """A partial a row: they are put together where several start or end in one frame, by one operation each."""
    for operation, most in ((CountingSum, 2), (CountingMax, 2 * math.log2(lives + 20))):
        operations, windows = counted(operation, events(4, lives).window(window))
        assert operations <= 2 * windows + most * ROWS
