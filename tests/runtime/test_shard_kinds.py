"""Shards of streams with every kind of windows: each window of the batch once, however the stream is cut."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.examples import examples
from ..support.shards import Stream, why_not
from .micro_batches import OUTPUTS, Batch, micro_batches, plan_of, table, tables

LATEST = 10_000
ANCHORS = pa.table(
    {"from": [-20, 5, 12, 40, 41, 90], "to": [10, 10, 72, 40, 42, 115], "key": ["a", "b", "a", "b", "c", "b"]}
)


def given_windows(**more: Any) -> Any:
    return ff.windows_from(ANCHORS, start="from", end="to", **more)


COUNT, TIME = ff.by_count, ff.by_time
POINTS: dict[str, Any] = {
    "sliding": ff.sliding(9, every=4), "sliding, on change": ff.sliding(9, every=2, emit="on_change"),
    "sliding, full": ff.sliding(12, every=5, min_fill="full"),
    "cumulating, on change": ff.cumulating(12, every=3, emit="on_change"),
    "sessions that end": ff.session(7, longest=20), "sessions that touch": ff.session(7, merge_touching=True),
    "last rows": ff.last_rows(3), "last rows, every second": ff.last_rows(5, every=2),
    "last rows, full": ff.last_rows(4, every=3, min_fill="full"),
    "last rows, gaps": ff.last_rows(2, every=5, gaps="allow"),
    "last times": ff.last_rows(3, ties="distinct_time", every=2), "last whole times": ff.last_rows(3, ties="strict"),
    "last rows, some": ff.last_rows(3, min_samples=2), "sliding, some": ff.sliding(9, every=4, min_samples=3),
    "rows around": ff.around(rows=(-2, 1)), "rows before": ff.around(rows=(-4, -2)),
    "rows after": ff.around(rows=(1, 3)), "time around": ff.around(time=(-6, 4)),
    "time before": ff.around(time=(-9, -3), closed="left"), "landmark": ff.landmark(),
    "landmark since and until": ff.landmark(since=10, until=60, closed="both"),
    "landmark with a step": ff.landmark(every=7),
    "landmark with a step, between": ff.landmark(since=3, until=50, every=7, closed="right"),
    "landmark with a step, on change": ff.landmark(until=50, every=3, emit="on_change"),
    "given windows": given_windows(closed="both"), "given windows by key": given_windows(by="key", empty="skip"),
    "count, count": ff.policy(COUNT(4), COUNT(3)),
    "count, count, full": ff.policy(COUNT(4), COUNT(1), min_fill="full"), "count, time": ff.policy(COUNT(4), TIME(6)),
    "count, delta": ff.policy(COUNT(3), ff.by_delta("x", 3)), "time, count": ff.policy(TIME(9), COUNT(2)),
    "time, time": ff.policy(TIME(9), TIME(5), empty="emit"),
    "time, time, until": ff.policy(TIME(9), TIME(5), until=200, empty="emit"),
    "time, delta": ff.policy(TIME(15), ff.by_delta("x", 3)), "delta, count": ff.policy(ff.by_delta("x", 4), COUNT(2)),
    "delta, time": ff.policy(ff.by_delta("t", 9), TIME(5)),
    "delta, delta": ff.policy(ff.by_delta("x", 4), ff.by_delta("x", 2)),
    "several": (ff.sliding(9, every=4), ff.cumulating(12, every=3), ff.tumbling(5, closed="right")),
    "several with sessions": (ff.sliding(9, every=4), ff.session(6)),
    "several with rows": (ff.last_rows(3), ff.sliding(9, every=4), ff.around(time=(-5, 2))),
}  # fmt: skip
ORDERED: dict[str, Any] = {"xs": ff.CollectList("x"), "first": ff.First("x"), "v": ff.Variance("x")}


def of_tables(results: Iterator[pa.Table]) -> Counter[str]:
    """Each row with how often it is given."""
    return Counter(repr(sorted(row.items())) for each in results for row in each.to_pylist())


def of_batch(windows: Any, outputs: dict[str, Any], batches: list[Batch], **of: Any) -> Counter[str]:
    several = windows if isinstance(windows, tuple) else (windows,)
    events = [row for _, rows in batches for row in rows]
    query = ff.events(table(events), time="t", by="k", **of).window(*several)
    return of_tables(iter([query.aggregate(**outputs)]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", POINTS)
@examples(180, quick=4)
@given(
    batches=micro_batches(back=0, most=4),
    width=st.sampled_from([1, 7, 1000]),
    ties=st.sampled_from([None, None, (), ("x",)]),
    early=st.integers(0, 4),
)
def test_every_window_of_the_batch_once(
    kind: str, batches: list[Batch], width: int, ties: tuple[str, ...] | None, early: int
) -> None:
    """And before they close, early results of what has come by then."""
    windows, outputs, ties = POINTS[kind], OUTPUTS if ties is None else ORDERED, ties or ()
    plan = plan_of(windows, outputs, ties=ties)
    assert why_not(plan) is None
    stream, closed = Stream(plan, width=width), Counter[str]()
    for number, batch in enumerate([*batches, (LATEST, [])]):
        closed += of_tables(tables(stream, [batch]))
        if number == early:
            by_now = closed + of_tables(stream.stored[0].opened(stream).early())
            assert by_now == of_batch(windows, outputs, batches[: number + 1], ties=list(ties))
    assert stream.late == 0
    assert closed == of_batch(windows, outputs, batches, ties=list(ties))


@examples(60)
@given(batches=micro_batches(back=0))
def test_interval_events_in_windows_of_two_kinds(batches: list[Batch]) -> None:
    windows = ff.sliding(9, every=4), ff.tumbling(15)
    stream = Stream(plan_of(windows, OUTPUTS, until="u"))
    assert of_tables(tables(stream, [*batches, (LATEST, [])])) == of_batch(windows, OUTPUTS, batches, until="u")
    assert stream.late == 0


def size(stream: Stream) -> int:
    """The rows that a stream keeps."""
    stores = [store for stored in stream.stored for store in (stored.partials, stored.events)]
    return sum(len(store.get(page) or ()) for store in stores for page in store.pages())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", POINTS)
def test_state_does_not_grow(kind: str) -> None:
    """Sixteen micro-batches leave no more behind than eight do."""
    stream, sizes = Stream(plan_of(POINTS[kind])), []
    for number in range(16):
        x = number if kind.startswith("delta") else (number % 7) ** 2  # nothing evicts the greatest value
        events = [(20 * number + place, "ab"[place % 2], x + place % 5) for place in range(0, 10, 3)]
        list(tables(stream, [(20 * number - 10, events)]))
        sizes.append(size(stream))
    assert max(sizes[8:]) <= max(sizes[:8]) + 1


@examples(60)
@given(
    times=st.lists(st.integers(0, 400), max_size=120),
    gap=st.sampled_from([3, 7, 30]),
    longest=st.sampled_from([10, 20, 25]),
    touching=st.booleans(),
    step=st.integers(1, 40),
)
def test_sessions_that_are_ended_and_go_on(times: list[int], gap: int, longest: int, touching: bool, step: int) -> None:
    """Each one once, and of those that are over one partial is kept at the most, however long events go on."""
    windows = ff.session(gap, longest=longest, merge_touching=touching)
    stream = Stream(plan_of(windows))
    come = [(time, "ab"[number % 3 // 2], number) for number, time in enumerate(times)]
    closed, store = Counter[str](), stream.stored[0].partials
    for watermark in range(0, 401, step):
        closed += of_tables(tables(stream, [(watermark, [e for e in come if watermark <= e[0] < watermark + step])]))
        firsts = [tick for page in store.pages() for tick in store.get(page)["#first.tick"].to_pylist()]  # type: ignore[index]
        # Two keys: of each the last of what is over, and the frames of a session that is open.
        assert len(firsts) <= 2 * (1 + 2 * longest // gap + 3)
    closed += of_tables(tables(stream, [(LATEST, [])]))
    assert stream.late == 0
    assert closed == of_batch(windows, OUTPUTS, [(0, come)])


def test_state_of_ended_sessions_does_not_grow() -> None:
    stream = Stream(plan_of(ff.session(7, longest=20)))
    for number in range(100):
        events = [(20 * number + place, "a", 1) for place in range(0, 20, 3)]
        list(tables(stream, [(20 * number - 10, events)]))
        assert size(stream) <= 14, "the partials and events of two micro-batches"


def test_keys_are_forgotten() -> None:
    for windows in (ff.last_rows(3), ff.sliding(12, every=5, min_fill="full"), ff.landmark()):
        stream = Stream(plan_of(windows), forget=50)
        list(tables(stream, [(0, [(1, "a", 1), (30, "b", 1)]), (40, []), (70, [(75, "b", 2)]), (81, [])]))
        stored = stream.stored[0].opened(stream).stored().table
        assert set(stored["k"].to_pylist()) == {"b"}, windows
        list(tables(stream, [(200, [])]))
        assert not size(stream)
        assert stream.stored[0].opened(stream).due is None


def test_late_events() -> None:
    """At 30: an event of 8 is in the window from -10 to 10, which has closed, and one of 25 in one that has not."""
    for windows, late, dropped in (
        (ff.sliding(20, every=10), (8, "a", 5), 1),
        (ff.last_rows(2), (18, "a", 0), 2),
        (ff.snapshot(), (18, "a", 0), 1),
        (given_windows(by="key", empty="skip"), (6, "b", 5), 1),
    ):
        stream = Stream(plan_of(windows, until="u" if windows == ff.snapshot() else None))
        list(tables(stream, [(30, [(25, "a", 1), late])]))
        assert stream.late == dropped, windows


FILLED = ff.tumbling(3, empty="emit", fill_from=0)
REASONS: dict[str, Any] = {
    "windows are filled": (FILLED, {}),
    "events have an end, and the order of events": (ff.tumbling(3), {"until": "u", "outputs": {"x": ff.First("x")}}),
    "given keys": (given_windows(by="key", empty="emit"), {}),
    "first eviction": (ff.policy(ff.by_delta("x", 4), COUNT(1), min_fill="full"), {}),
    "events have an end, and windows": (ff.sliding(9, every=4, emit="on_change"), {"until": "u"}),
    "empty='emit' asks for windows without one": (ff.tumbling(3, empty="emit"), {"until": "u"}),
    "ties= asks for an order of those of one time": (ff.snapshot(), {"until": "u", "ties": ("x",)}),
    "several kinds of windows.*evict count": ((ff.policy(COUNT(4)), ff.last_rows(3)), {}),
    "several kinds of windows.*everything so far": ((ff.landmark(every=4), ff.tumbling(3)), {}),
    "several kinds of windows.*empty='emit'": ((ff.tumbling(3, empty="emit"), ff.tumbling(4)), {}),
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_shards_cannot_keep(reason: str) -> None:
    windows, more = REASONS[reason]
    assert re.search(reason, str(why_not(plan_of(windows, **more))))
