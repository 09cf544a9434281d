"""Element operations a window, for every kind of window: 2 or 3 where windows only move forward, O(log n) elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from .test_operation_counts import CountingSum


class CountingMax(CountingSum):
    """A maximum that counts what it combines; it has no inverse."""

    deduct = ff.AggregateOperation.deduct

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        return {"total": frames.max(columns[0])}

    def combine(self, a: Any, b: Any) -> Any:
        self.operations += len(a["total"])
        return {"total": np.maximum(a["total"], b["total"])}

    def create(self) -> Any:
        return {"total": np.iinfo(np.int64).min}


ROWS = 4000
RNG = np.random.default_rng(11)


def events(keys: int, until: int = 0) -> ff.Events:
    """Distinct times for each key, so that there is a partial a row; lives of up to ``until`` ticks."""
    time = np.concatenate([np.sort(RNG.choice(8 * ROWS // keys, ROWS // keys, replace=False)) for _ in range(keys)])
    table = pa.table(
        {
            "t": time,
            "end": time + 1 + RNG.integers(0, until + 1, ROWS),
            "k": np.repeat(np.arange(keys), ROWS // keys),
            "x": RNG.integers(-50, 50, ROWS),
        }
    )
    return ff.events(table, time="t", by="k", until="end" if until else None)


FORWARD = {
    "sliding": ff.sliding(1000, every=1, empty="emit"),
    "paired": ff.sliding(997, every=10, empty="emit"),
    "cumulating": ff.cumulating(1000, every=1, empty="emit"),
    "landmark": ff.landmark(since=0, every=1),
    "running": ff.landmark(),
    "session": ff.session(5),
    "last rows": ff.last_rows(100),
    "last rows, every 7": ff.last_rows(100, every=7),
    "last times": ff.last_rows(100, ties="distinct_time"),
    "around rows": ff.around(rows=(-50, 50)),
    "around time": ff.around(time=(-400, 300)),
    "count, count": ff.policy(evict=ff.by_count(100)),
    "time, count": ff.policy(evict=ff.by_time(500)),
    "time, time": ff.policy(evict=ff.by_time(500), trigger=ff.by_time(2)),
    "delta, count, never falling": ff.policy(evict=ff.by_delta("t", 500)),
}


@pytest.mark.parametrize("keys", [1, 40])
@pytest.mark.parametrize("operation", [CountingSum, CountingMax])
@pytest.mark.parametrize("name", FORWARD)
def test_windows_that_move_forward(name: str, operation: type[CountingSum], keys: int) -> None:
    counting = operation("x")
    result = events(keys).window(FORWARD[name]).aggregate(x=counting)
    # Where there are fewer windows than rows, each row still has to be combined.
    assert counting.operations <= 3 * max(len(result), ROWS)


GIVEN = RNG.integers(0, 8 * ROWS, (2, 3000))


@pytest.mark.parametrize("operation", [CountingSum, CountingMax])
def test_given_windows(operation: type[CountingSum]) -> None:
    counting = operation("x")
    anchors = pa.table({"from": GIVEN.min(axis=0), "to": GIVEN.max(axis=0) + 1})
    events(1).window(ff.windows_from(anchors, start="from", end="to")).aggregate(x=counting)
    assert counting.operations <= ROWS + 2 * math.log2(ROWS) * len(anchors)


@pytest.mark.parametrize("operation", [CountingSum, CountingMax])
@pytest.mark.parametrize("evict", [ff.by_delta("x", 20), ff.by_delta("x", 3)])
def test_delta_eviction_out_of_order(operation: type[CountingSum], evict: Any) -> None:
    counting = operation("x")
    result = events(4).window(ff.policy(evict=evict)).aggregate(x=counting)
    most = 2 if operation is CountingSum else 2 * math.log2(ROWS)
    assert counting.operations <= most * (len(result) + 2)


@pytest.mark.parametrize("lives", [10, 100, 3000])
@pytest.mark.parametrize("window", [ff.sliding(16, every=4), ff.snapshot()], ids=["sliding", "snapshot"])
def test_interval_events_however_long(window: Any, lives: int) -> None:
    """A partial a row: they are put together where several start or end in one frame, by one operation each."""
    results = {}
    for operation in (CountingSum, CountingMax):
        counting = operation("x")
        result = events(4, lives).window(window).aggregate(x=counting)
        results[operation] = counting.operations, len(result)
    operations, windows = results[CountingSum]
    assert operations <= 2 * windows + 2 * ROWS
    operations, windows = results[CountingMax]
    assert operations <= 2 * windows + 2 * math.log2(lives + 20) * ROWS
