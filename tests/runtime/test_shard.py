"""Shards of streams: what windows give as a watermark closes them, against the definition, in a few lines of Python."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.plans import Plan, bind
from ..support.shards import FRAMES, Shard, counted, events_in
from ..support.stages import partials_of as accumulate

SCHEMA = pa.schema([("t", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("x", pa.int64())])
DAY = 86_400_000_000
Event = tuple[int, str, int]
Batch = tuple[int, list[Event]]
"""A watermark, and the events that come when it is in force."""


class Dict:
    """A store in memory."""

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}
        self.pages = self.tables.keys
        self.get = self.tables.get
        self.put = self.tables.__setitem__

    def remove(self, page: int) -> None:
        self.tables.pop(page, None)


def plan_of(windows: Any, **outputs: Any) -> Plan:
    outputs = outputs or {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x")}
    made = {"until": None, "longest": None, "ties": (), "null_time": "error"}
    return bind(SCHEMA, time="t", by=("k",), window=(windows,), outputs=outputs, **made)


def microseconds(*ticks: int) -> datetime.timedelta:
    return datetime.timedelta(microseconds=ticks[0])


def rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    ends = [pc.struct_field(table["window"], end).cast("int64").to_pylist() for end in ("start", "end")]
    yield from zip(table["k"].to_pylist(), *ends, *(table[name].to_pylist() for name in "nsm"), strict=True)


def streamed(windows: Any, batches: list[Batch]) -> tuple[list[tuple[Any, ...]], int, Shard]:
    """The results of a shard, how many events it dropped, and the shard."""
    plan = counted(plan_of(windows))
    shard, found, dropped = Shard(plan, Dict()), [], 0
    for number, (watermark, events) in enumerate(batches):
        for table in shard.advance(watermark):
            found += rows(table)
        columns = list(zip(*events, strict=True)) or [[], [], []]
        table = pa.table([pa.array(columns[0], pa.int64()).cast(SCHEMA.field("t").type), *columns[1:]], schema=SCHEMA)
        dropped += events_in(shard.add(accumulate(plan, table, number)))
    return found, dropped, shard


def grid(size: int, every: int, last: int) -> Callable[[int], list[tuple[int, int]]]:
    """The windows that a time is in, of a grid; ``last`` is 1 where the right end belongs to a window."""

    def of(time: int) -> list[tuple[int, int]]:
        starts = [number * every for number in range((time - size) // every - 1, time // every + 2)]
        return [(start, start + size) for start in starts if start <= time - last < start + size]

    return of


def cumulated(size: int, every: int) -> Callable[[int], list[tuple[int, int]]]:
    def of(time: int) -> list[tuple[int, int]]:
        start = time // size * size
        return [(start, end) for end in range(start + every, start + size + 1, every) if time < end]

    return of


def defined(of: Callable[[int], list[tuple[int, int]]], batches: list[Batch], last: int) -> tuple[list[Any], int]:
    """What closed windows have in them: the events that came before they were closed; and how many came too late."""
    held, late = defaultdict(list), 0
    closed = max(watermark for watermark, _ in batches)
    for watermark, events in batches:
        for time, key, x in events:
            open_windows = [window for window in of(time) if window[1] + last > watermark]
            late += bool(of(time)) and not open_windows
            for window in open_windows:
                held[key, *window].append(x)
    return sorted((*at, len(xs), sum(xs), max(xs)) for at, xs in held.items() if at[2] + last <= closed), late


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Batches of events: most of them after the watermark, some long before, then nothing but a watermark."""
    batches, watermark = [], draw(st.integers(-50, 50))
    for _ in range(draw(st.integers(1, 6))):
        times = st.integers(watermark - 60, watermark + 80)
        batches.append(
            (watermark, draw(st.lists(st.tuples(times, st.sampled_from("ab"), st.integers(-9, 9)), max_size=9)))
        )
        watermark += draw(st.integers(0, 60))
    return [*batches, (watermark, [])]


@given(streams(), st.integers(1, 30), st.integers(1, 20), st.sampled_from(["left", "right"]))
def test_sliding(batches: list[Batch], size: int, every: int, closed: str) -> None:
    windows = ff.sliding(microseconds(size), every=microseconds(every), closed=closed, gaps="allow")
    found, dropped, _ = streamed(windows, batches)
    expected, late = defined(grid(size, every, last := int(closed == "right")), batches, last)
    assert (sorted(found), dropped) == (expected, late)


@given(streams(), st.integers(1, 5), st.integers(1, 9))
def test_cumulating(batches: list[Batch], steps: int, every: int) -> None:
    found, dropped, _ = streamed(ff.cumulating(microseconds(steps * every), every=microseconds(every)), batches)
    expected, late = defined(cumulated(steps * every, every), batches, 0)
    assert (sorted(found), dropped) == (expected, late)


def sessions(gap: int, batches: list[Batch]) -> tuple[list[Any], int]:
    """Sessions: an event is dropped where, with those that are held, it ends one that has closed."""
    held: dict[str, list[Event]] = defaultdict(list)
    found, late = [], 0

    def parts(events: list[Event]) -> list[list[Event]]:
        made: list[list[Event]] = []
        for event in sorted(events):
            if made and event[0] - made[-1][-1][0] < gap:
                made[-1].append(event)
            else:
                made.append([event])
        return made

    for watermark, events in batches:
        for key, kept in held.items():
            done = [part for part in parts(kept) if part[-1][0] + gap <= watermark]
            for part in done:
                xs = [x for _, _, x in part]
                found.append((key, part[0][0], part[-1][0] + gap, len(xs), sum(xs), max(xs)))
                held[key] = [event for event in held[key] if event not in part]
        for event in events:
            held[event[1]].append(event)
        for key, kept in held.items():
            gone = [event for part in parts(kept) if part[-1][0] + gap <= watermark for event in part]
            late += len(gone)
            held[key] = list((Counter(kept) - Counter(gone)).elements())
    return sorted(found), late


@given(streams(), st.integers(1, 40))
def test_sessions(batches: list[Batch], gap: int) -> None:
    found, dropped, _ = streamed(ff.session(microseconds(gap)), batches)
    assert (sorted(found), dropped) == sessions(gap, batches)


def test_days_of_a_zone() -> None:
    """The day on which clocks go back has 25 hours: its window closes an hour later."""
    windows = ff.tumbling("1 day", timezone="Europe/Berlin")
    begin = int(datetime.datetime(2024, 10, 26, 22, tzinfo=datetime.UTC).timestamp()) * 1_000_000
    hour = DAY // 24
    event = (begin + 5, "a", 1)
    assert streamed(windows, [(begin, [event]), (begin + DAY, [])])[0] == []
    assert streamed(windows, [(begin, [event]), (begin + DAY + hour, [])])[0] == [
        ("a", begin, begin + DAY + hour, 1, 1, 1)
    ]


def test_months() -> None:
    begin = int(datetime.datetime(2024, 2, 1, tzinfo=datetime.UTC).timestamp()) * 1_000_000
    found, dropped, _ = streamed(
        ff.sliding("2 months", every="1 month"), [(begin, [(begin, "a", 1)]), (begin + 29 * DAY, [(begin, "a", 5)])]
    )
    assert (found, dropped) == ([("a", begin - 31 * DAY, begin + 29 * DAY, 1, 1, 1)], 0)


def test_nothing_is_kept_that_no_window_needs() -> None:
    windows = ff.sliding(microseconds(60), every=microseconds(1))
    batches = [(at - 10, [(at, "a", 1), (at - 7, "b", 1)]) for at in range(0, 5000, 25)]
    found, dropped, shard = streamed(windows, batches)
    assert dropped == 0
    assert len(list(shard.store.pages())) <= (60 + 35) // FRAMES + 2
    for _ in shard.advance(6000):
        pass
    assert not list(shard.store.pages())
    assert shard.due is None
    assert len(found) > 1000


def test_events_of_one_time_are_in_the_order_of_their_batches() -> None:
    """Ranks of batches begin anew with each micro-batch: what came before is first all the same."""
    plan = counted(plan_of(ff.tumbling(microseconds(10)), n=ff.CollectList("x")))
    shard = Shard(plan, Dict())
    for rank, x in ((9, 1), (0, 2), (3, 3)):
        table = pa.table([pa.array([5], pa.int64()).cast(SCHEMA.field("t").type), ["a"], [x]], schema=SCHEMA)
        shard.add(accumulate(plan, table, rank))
    assert [row["n"] for table in shard.advance(10) for row in table.to_pylist()] == [[1, 2, 3]]
