"""Shards of streams that give windows before they close, and again where late events change them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.examples import examples
from ..support.shards import Shard, counted, events_in, why_no_revisions
from ..support.stages import merged as merge
from ..support.stages import partials_of as accumulate
from . import test_shard_kinds as kinds
from .test_shard import SCHEMA, Batch, Dict, cumulated, grid, microseconds, plan_of, rows, streams


@pytest.mark.parametrize("kind", kinds.EVENTS)
@examples(60, quick=4)
@given(batches=kinds.streams())
def test_early_results_are_those_of_the_batch_over_what_has_come(kind: str, batches: list[kinds.Batch]) -> None:
    windows, shard = kinds.EVENTS[kind], kinds.shard_of(kinds.plan_of(kinds.EVENTS[kind], kinds.OUTPUTS))
    closed = Counter[str]()
    for number in range(len(batches)):
        found, _ = kinds.fed(shard, batches[number : number + 1])
        closed += found
        assert closed + kinds.of_tables(shard.early()) == kinds.batch(
            windows, kinds.OUTPUTS, kinds.all_of(batches[: number + 1])
        )


@given(
    streams(),
    st.integers(1, 30),
    st.integers(1, 20),
    st.sampled_from(["left", "right"]),
    st.integers(1, 60),
    st.sampled_from(["sliding", "cumulating"]),
)
def test_late_events_change_closed_windows(
    batches: list[Batch], size: int, every: int, closed: str, lateness: int, kind: str
) -> None:
    """The last result of each window has in it what came while it took events, and each result has more than before."""
    last = int(closed == "right")
    if kind == "sliding":
        windows: Any = ff.sliding(microseconds(size), every=microseconds(every), closed=closed, gaps="allow")
        of = grid(size, every, last)
    else:
        windows, of, last = ff.cumulating(microseconds(size * every), every=microseconds(every)), None, 0
        of = cumulated(size * every, every)
    plan = counted(plan_of(windows))
    assert why_no_revisions(plan) is None
    shard, found, dropped = Shard(plan, Dict(), lateness=lateness), {}, 0
    for number, (watermark, events) in enumerate(batches):
        for table in shard.advance(watermark):
            for *window, n, s, m in rows(table):
                assert tuple(window) not in found, "given twice by watermarks"
                found[tuple(window)] = n, s, m
        columns = list(zip(*events, strict=True)) or [[], [], []]
        table = pa.table([pa.array(columns[0], pa.int64()).cast(SCHEMA.field("t").type), *columns[1:]], schema=SCHEMA)
        new = merge(accumulate(plan, table, number))
        dropped += events_in(shard.add(new))
        for table in shard.revised(new):
            for *window, n, s, m in rows(table):
                assert n > found.get(tuple(window), (0,))[0], "nothing has changed"
                assert window[2] + last <= watermark
                found[tuple(window)] = n, s, m

    held, late = defaultdict(list), 0
    until = max(watermark for watermark, _ in batches)
    for watermark, events in batches:
        for time, key, x in events:
            taking = [window for window in of(time) if window[1] + last + lateness > watermark]
            late += bool(of(time)) and not taking
            for window in taking:
                held[key, *window].append(x)
    expected = {at: (len(xs), sum(xs), max(xs)) for at, xs in held.items() if at[2] + last <= until}
    assert (found, dropped) == (expected, late)


@given(streams(), st.integers(0, 60), st.integers(0, 60))
def test_a_changed_lateness_gives_no_window_that_lacks_events(batches: list[Batch], before: int, after: int) -> None:
    """Windows that took no more events under one lateness take none under another, longer one."""
    plan = counted(plan_of(ff.sliding(microseconds(20), every=microseconds(5))))
    shard, most = Shard(plan, Dict(), lateness=before), Counter[Any]()
    for number, (watermark, events) in enumerate(batches):
        if number == len(batches) // 2:
            shard.lateness = after
        for table in shard.advance(watermark):
            most |= Counter({tuple(window): n for *window, n, _, _ in rows(table)})
        columns = list(zip(*events, strict=True)) or [[], [], []]
        table = pa.table([pa.array(columns[0], pa.int64()).cast(SCHEMA.field("t").type), *columns[1:]], schema=SCHEMA)
        new = merge(accumulate(plan, table, number))
        shard.add(new)
        for table in shard.revised(new):
            for *window, n, _, _ in rows(table):
                assert n > most[tuple(window)]
                most[tuple(window)] = n


@pytest.mark.parametrize(
    ("windows", "reason"),
    [
        (ff.session("1 minute"), "a late event can change which windows there are"),
        (ff.last_rows(3), "a late event can change which windows there are"),
        (ff.sliding("2 minutes", every="1 minute", min_fill="full"), "depends on the order of events"),
        (ff.tumbling("2 minutes", empty="emit"), "windows without an event"),
    ],
)
def test_which_windows_cannot_be_given_again(windows: Any, reason: str) -> None:
    assert reason in str(why_no_revisions(plan_of(windows)))
