"""The window that ends now: of each key whose events in it have changed, and of no other."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.plans import bind
from ..support.shards import Bytes, LatestShard, counted, why_not_latest
from ..support.stages import partials_of

SECOND = 1_000_000
SCHEMA = pa.schema([("time", pa.timestamp("us", tz="UTC")), ("key", pa.string()), ("x", pa.int64())])
NONE: dict[str, Any] = {"by": ["key"], "until": None, "longest": None, "ties": (), "null_time": "error"}

WINDOWS = {
    "sliding": (ff.sliding("20 seconds", every="5 seconds"), 20, 5, 0),
    "sliding in two frames a step": (ff.sliding("20 seconds", every="7 seconds"), 20, 7, 0),
    "tumbling": (ff.tumbling("10 seconds"), 10, 10, 0),
    "right": (ff.sliding("12 seconds", every="3 seconds", closed="right"), 12, 3, 1),
}


def plan_of(windows: Any, schema: pa.Schema = SCHEMA, **outputs: Any) -> Any:
    outputs = outputs or {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x")}
    return bind(schema, time="time", window=windows, outputs=outputs, **NONE)


def window_at(now: int, size: int, every: int, right: int) -> tuple[int, int]:
    """The first window that a time is in, in ticks: of all that begin near it, at multiples of a step."""
    starts = np.arange(now // (every * SECOND) - size, now // (every * SECOND) + 2) * every * SECOND
    ends = starts + size * SECOND
    return min(each for each in zip(starts.tolist(), ends.tolist(), strict=True) if inside((now, "", 0), each, right))


def inside(event: tuple[int, str, int], window: tuple[int, int], right: int) -> bool:
    start, end = window
    return start < event[0] <= end if right else start <= event[0] < end


def table_of(events: list[tuple[int, str, int]]) -> pa.Table:
    times, keys, values = map(list, zip(*events, strict=True))
    return pa.table([pa.array(times, pa.int64()).cast(SCHEMA.types[0]), keys, values], SCHEMA)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", WINDOWS)
def test_keys_that_have_changed_are_given_and_no_other(name: str, seed: int) -> None:
    """Micro-batches with and without events, at random times; a key without events is given once and forgotten."""
    windows, size, every, right = WINDOWS[name]
    plan, store, rng = counted(plan_of(windows)), Bytes(), np.random.default_rng(seed)
    events: list[tuple[int, str, int]] = []
    before: dict[str, Counter[Any]] = defaultdict(Counter)
    now, number, late, expected_late = 1000 * SECOND, None, 0, 0
    for _ in range(30):
        now += int(rng.integers(0, 6 * SECOND))
        window = window_at(now, size, every, right)
        count = int(rng.choice([0, 0, 1, 6]))
        new = [
            (now + int(rng.integers(-70, 15)) * SECOND // 2, str(rng.choice(["a", "b", "c"])), int(rng.integers(9)))
            for _ in range(count)
        ]
        # An event is late where no window takes it that ends now or later.
        taken = [each for each in new if each[0] > window[0] or (each[0] == window[0] and not right)]
        expected_late += len(new) - len(taken)
        events += taken
        table = table_of(new) if new else None
        shard = LatestShard(plan, store, number=number)
        rows: dict[str, Any] = {}
        for found in shard.give(None if table is None else partials_of(plan, table, 0), now):
            if isinstance(found, int):
                late += found
                continue
            for row in found.to_pylist():
                assert row["key"] not in rows
                rows[row["key"]] = row
        number = shard.number
        in_window: dict[str, Counter[Any]] = defaultdict(Counter)
        for event in events:
            if inside(event, window, right):
                in_window[event[1]][event] += 1
        changed = {key for key in {*in_window, *before} if in_window[key] != before[key]}
        assert set(rows) == changed
        for key in changed:
            values = [event[2] for event in in_window[key].elements()]
            ends = [rows[key]["window"][each].timestamp() * SECOND for each in ("start", "end")]
            assert ends == list(window)
            assert [rows[key][each] for each in "nsm"] == [
                len(values), sum(values) if values else None, max(values, default=None)
            ]  # fmt: skip
        before = in_window
        wakes = shard.wakes()
        assert (wakes is None) == (not store.blobs)
        if wakes is not None:
            assert window_at(wakes - 1, size, every, right) == window
            assert window_at(wakes, size, every, right) > window
    assert late == expected_late > 0
    leaving = LatestShard(plan, store, number=number)
    assert {row["n"] for found in leaving.give(None, 2 * now) for row in found.to_pylist()} <= {0}  # type: ignore[union-attr]
    assert not store.blobs


def test_the_clock_put_back_changes_nothing() -> None:
    plan, store = counted(plan_of(ff.tumbling("10 seconds"))), Bytes()
    shard = LatestShard(plan, store)
    first = list(shard.give(partials_of(plan, table_of([(95 * SECOND, "a", 1)]), 0), 99 * SECOND))
    assert [row["n"] for found in first if not isinstance(found, int) for row in found.to_pylist()] == [1]
    assert list(shard.give(None, 20 * SECOND)) == []
    assert shard.number == 9


NAIVE = SCHEMA.set(0, pa.field("time", pa.timestamp("us")))


@pytest.mark.parametrize(
    ("windows", "outputs", "schema", "why"),
    [
        (ff.session("1 minute"), {}, SCHEMA, "whose times the clock knows"),
        ((ff.tumbling("1 minute"), ff.tumbling("1 hour")), {}, SCHEMA, "one kind of windows"),
        (ff.sliding("1 second", every="1 minute", gaps="allow"), {}, SCHEMA, "where no window ends"),
        (ff.tumbling("1 minute", emit="on_change"), {}, SCHEMA, "the order of events"),
        (ff.tumbling("1 minute"), {}, NAIVE, "timestamps with a zone"),
    ],
)
def test_what_has_no_now(windows: Any, outputs: dict[str, Any], schema: pa.Schema, why: str) -> None:
    several = windows if isinstance(windows, tuple) else (windows,)
    assert why in str(why_not_latest(plan_of(several, schema, **outputs)))


def test_a_table_has_no_now() -> None:
    table = pa.table({"time": [1], "key": ["a"]})
    with pytest.raises(ff.QueryError, match="events that are no stream, which has no now"):
        ff.events(table, time="time", by="key").window(ff.tumbling(5)).latest(n=ff.Count())
