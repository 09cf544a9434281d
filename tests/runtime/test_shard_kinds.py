"""Shards of streams with every kind of windows: each window of the batch once, however the stream is cut."""

from __future__ import annotations

import datetime
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
from ..support.plans import Plan, bind
from ..support.shards import HeldEvents, Shard, counted, events_in, holds, why_not
from ..support.stages import partials_of as accumulate

TIME = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema([("t", TIME), ("u", TIME), ("k", pa.string()), ("x", pa.int64())])
Batch = tuple[int, list[tuple[int, int, str, int]]]
LATEST = 10_000


def us(*ticks: int) -> Any:
    found = [datetime.timedelta(microseconds=tick) for tick in ticks]
    return found if len(found) > 1 else found[0]


def at(tick: int) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + us(tick)


def given_windows(keys: bool) -> Any:
    starts = [-20, 5, 12, 40, 41, 90]
    table = pa.table({
        "from": pa.array(starts).cast(TIME),
        "to": pa.array([start + size for start, size in zip(starts, [30, 5, 60, 0, 1, 25], strict=True)]).cast(TIME),
        "key": ["a", "b", "a", "b", "c", "b"],
    })  # fmt: skip
    more = {"by": "key", "empty": "skip"} if keys else {"closed": "both"}
    return ff.windows_from(table, start="from", end="to", **more)


EVENTS = {
    "sliding": ff.sliding(us(9), every=us(4)),
    "sliding, on change": ff.sliding(us(9), every=us(2), emit="on_change"),
    "sliding, full": ff.sliding(us(12), every=us(5), min_fill="full"),
    "cumulating, on change": ff.cumulating(us(12), every=us(3), emit="on_change"),
    "sessions that end": ff.session(us(7), longest=us(20)),
    "sessions that touch": ff.session(us(7), merge_touching=True),
    "last rows": ff.last_rows(3),
    "last rows, every second": ff.last_rows(5, every=2),
    "last rows, full": ff.last_rows(4, every=3, min_fill="full"),
    "last rows, gaps": ff.last_rows(2, every=5, gaps="allow"),
    "last times": ff.last_rows(3, ties="distinct_time", every=2),
    "last whole times": ff.last_rows(3, ties="strict"),
    "last rows, some": ff.last_rows(3, min_samples=2),
    "sliding, some": ff.sliding(us(9), every=us(4), min_samples=3),
    "rows around": ff.around(rows=(-2, 1)),
    "rows before": ff.around(rows=(-4, -2)),
    "rows after": ff.around(rows=(1, 3)),
    "time around": ff.around(time=us(-6, 4)),
    "time before": ff.around(time=us(-9, -3), closed="left"),
    "landmark": ff.landmark(),
    "landmark since and until": ff.landmark(since=at(10), until=at(60), closed="both"),
    "landmark with a step": ff.landmark(every=us(7)),
    "landmark with a step, between": ff.landmark(since=at(3), until=at(50), every=us(7), closed="right"),
    "landmark with a step, on change": ff.landmark(until=at(50), every=us(3), emit="on_change"),
    "given windows": given_windows(keys=False),
    "given windows by key": given_windows(keys=True),
    "count, count": ff.policy(ff.by_count(4), ff.by_count(3)),
    "count, count, full": ff.policy(ff.by_count(4), ff.by_count(1), min_fill="full"),
    "count, time": ff.policy(ff.by_count(4), ff.by_time(us(6))),
    "count, delta": ff.policy(ff.by_count(3), ff.by_delta("x", 3)),
    "time, count": ff.policy(ff.by_time(us(9)), ff.by_count(2)),
    "time, time": ff.policy(ff.by_time(us(9)), ff.by_time(us(5)), empty="emit"),
    "time, time, until": ff.policy(ff.by_time(us(9)), ff.by_time(us(5)), until=at(200), empty="emit"),
    "time, delta": ff.policy(ff.by_time(us(15)), ff.by_delta("x", 3)),
    "delta, count": ff.policy(ff.by_delta("x", 4), ff.by_count(2)),
    "delta, time": ff.policy(ff.by_delta("t", us(9)), ff.by_time(us(5))),
    "delta, delta": ff.policy(ff.by_delta("x", 4), ff.by_delta("x", 2)),
    "several": (ff.sliding(us(9), every=us(4)), ff.cumulating(us(12), every=us(3)), ff.tumbling(us(5), closed="right")),
    "several with sessions": (ff.sliding(us(9), every=us(4)), ff.session(us(6))),
    "several with rows": (ff.last_rows(3), ff.sliding(us(9), every=us(4)), ff.around(time=us(-5, 2))),
}
INTERVALS = {
    "sliding": ff.sliding(us(9), every=us(4)),
    "tumbling": ff.tumbling(us(6), closed="right"),
    "snapshots": ff.snapshot(),
    "several": (ff.sliding(us(9), every=us(4)), ff.tumbling(us(15))),
}
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x")}
ORDERED: dict[str, Any] = {"xs": ff.CollectList("x"), "first": ff.First("x"), "v": ff.Variance("x")}


class Dict:
    """A store in memory."""

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}
        self.get = self.tables.get
        self.put = self.tables.__setitem__

    def pages(self) -> list[int]:
        return list(self.tables)

    def remove(self, page: int) -> None:
        self.tables.pop(page, None)


def plan_of(windows: Any, outputs: dict[str, Any], until: str | None = None, ties: tuple[str, ...] = ()) -> Plan:
    several = windows if isinstance(windows, tuple) else (windows,)
    made = {"until": until, "longest": None, "ties": ties, "null_time": "error"}
    return bind(SCHEMA, time="t", by=("k",), window=several, outputs=outputs, **made)


def table(events: list[tuple[int, int, str, int]]) -> pa.Table:
    columns = [list(column) for column in zip(*events, strict=True)] or [[], [], [], []]
    times = [pa.array(ticks, pa.int64()).cast(TIME) for ticks in columns[:2]]
    return pa.table([*times, *columns[2:]], schema=SCHEMA)


def shard_of(plan: Plan, width: int = 10, forget: int | None = None) -> Shard:
    plan = counted(plan)
    return Shard(plan, Dict(), HeldEvents(plan, Dict(), width) if holds(plan) else None, forget)


def fed(shard: Shard, batches: list[Batch]) -> tuple[Counter[str], int]:
    """What a shard gives, each row with how often it is given, and how many events it dropped."""
    rows, dropped = Counter[str](), 0
    for number, (watermark, events) in enumerate(batches):
        rows += of_tables(shard.advance(watermark))
        assert shard.due is None or shard.due > watermark
        if shard.held is None:
            dropped += events_in(shard.add(accumulate(shard.plan, table(events), number)))
        else:
            dropped += shard.hold(table(events))
    return rows, dropped


def streamed(plan: Plan, batches: list[Batch], width: int = 10, forget: int | None = None) -> tuple[Counter[str], int]:
    return fed(shard_of(plan, width, forget), [*batches, (LATEST, [])])


def of_tables(tables: Iterator[pa.Table]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for each in tables for row in each.to_pylist())


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Batches of events that are not late, in any order."""
    batches, watermark = [], draw(st.integers(-20, 20))
    for _ in range(draw(st.integers(1, 7))):
        times = st.integers(watermark, watermark + draw(st.sampled_from([5, 20, 60])))
        events = st.tuples(times, st.integers(1, 40), st.sampled_from("aab"), st.integers(-9, 9))
        some = draw(st.lists(events, max_size=8))
        batches.append((watermark, [(time, time + life, key, x) for time, life, key, x in some]))
        watermark += draw(st.integers(0, 40))
    return batches


def all_of(batches: list[Batch]) -> pa.Table:
    return table([event for _, events in batches for event in events])


def batch(windows: Any, outputs: dict[str, Any], events: pa.Table, **of: Any) -> Counter[str]:
    several = windows if isinstance(windows, tuple) else (windows,)
    return of_tables(iter([ff.events(events, time="t", by="k", **of).window(*several).aggregate(**outputs)]))


@pytest.mark.parametrize("kind", EVENTS)
@examples(60)
@given(batches=streams(), width=st.sampled_from([1, 7, 1000]))
def test_every_window_of_the_batch_once(kind: str, batches: list[Batch], width: int) -> None:
    windows = EVENTS[kind]
    plan = plan_of(windows, OUTPUTS)
    assert why_not(plan) is None
    found, dropped = streamed(plan, batches, width)
    assert dropped == 0
    assert found == batch(windows, OUTPUTS, all_of(batches))


@pytest.mark.parametrize("kind", EVENTS)
@examples(60)
@given(batches=streams(), ties=st.sampled_from([(), ("x",)]))
def test_operations_that_depend_on_the_order(kind: str, batches: list[Batch], ties: tuple[str, ...]) -> None:
    windows = EVENTS[kind]
    found, _ = streamed(plan_of(windows, ORDERED, ties=ties), batches)
    assert found == batch(windows, ORDERED, all_of(batches), ties=list(ties))


@pytest.mark.parametrize("kind", INTERVALS)
@examples(60)
@given(batches=streams())
def test_interval_events(kind: str, batches: list[Batch]) -> None:
    windows, outputs = INTERVALS[kind], dict(OUTPUTS)
    if not isinstance(windows, tuple):
        outputs["w"] = ff.TimeWeightedAverage("x")
    found, dropped = streamed(plan_of(windows, outputs, until="u"), batches)
    assert dropped == 0
    assert found == batch(windows, outputs, all_of(batches), until="u")


@pytest.mark.parametrize("kind", EVENTS)
def test_state_does_not_grow(kind: str) -> None:
    """Sixty micro-batches leave no more behind than thirty do."""
    shard, sizes = shard_of(plan_of(EVENTS[kind], OUTPUTS), width=10), {}
    for number in range(60):
        x = number if kind.startswith("delta") else (number % 7) ** 2  # nothing evicts the greatest value
        events = [(20 * number + place, 0, "ab"[place % 2], x + place % 5) for place in range(0, 10, 3)]
        fed(shard, [(20 * number - 10, events)])
        held = [] if shard.held is None else shard.held.store.tables.values()
        sizes[number] = sum(map(len, [*shard.store.tables.values(), *held]))
    assert max(list(sizes.values())[30:]) <= max(list(sizes.values())[:30]) + 1


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
    windows = ff.session(us(gap), longest=us(longest), merge_touching=touching)
    shard, rows = shard_of(plan_of(windows, OUTPUTS), width=10), Counter[str]()
    come = [(time, 0, "ab"[number % 3 // 2], number) for number, time in enumerate(times)]
    for watermark in range(0, 401, step):
        found, dropped = fed(shard, [(watermark, [each for each in come if watermark <= each[0] < watermark + step])])
        rows += found
        assert not dropped
        firsts = [tick for each in shard.store.tables.values() for tick in each["#first.tick"].to_pylist()]
        # Two keys: of each the last of what is over, and the frames of a session that is open.
        assert len(firsts) <= 2 * (1 + 2 * longest // gap + 3)
    assert rows + fed(shard, [(LATEST, [])])[0] == batch(windows, OUTPUTS, all_of([(0, come)]))


def test_sessions_that_never_end_leave_little() -> None:
    shard = shard_of(plan_of(ff.session(us(7), longest=us(20)), OUTPUTS), width=10)
    for number in range(200):
        fed(shard, [(20 * number - 10, [(20 * number + place, 0, "a", 1) for place in range(0, 20, 3)])])
        assert sum(map(len, shard.store.tables.values())) <= 12


def test_keys_are_forgotten() -> None:
    for windows in (ff.last_rows(3), ff.sliding(us(12), every=us(5), min_fill="full"), ff.landmark()):
        shard = shard_of(plan_of(windows, OUTPUTS), forget=50)
        fed(shard, [(0, [(1, 0, "a", 1), (30, 0, "b", 1)]), (40, []), (70, [(75, 0, "b", 2)]), (81, [])])
        keys = [key for each in shard.store.tables.values() for key in each["k"].to_pylist()]
        assert set(keys) == {"b"}, windows
        fed(shard, [(200, [])])
        assert not shard.store.tables
        assert shard.due is None


@pytest.mark.parametrize("cut", [1, 3, 50])
@pytest.mark.parametrize("early", [0, 60])
def test_windows_without_an_event_go_on_until_a_key_is_forgotten(cut: int, early: int) -> None:
    """By tens, forgotten after 30: the windows that begin by then after an event, however the stream is cut."""
    for windows in (ff.tumbling(us(10), empty="emit"), ff.cumulating(us(20), every=us(10), empty="emit")):
        shard = shard_of(plan_of(windows, {"n": ff.Count()}), forget=30)
        rows = Counter[str]()
        for watermark in range(-60, 200, cut):
            come = [(5, 0, "a", 1), (36, 0, "a", 1), (104, 0, "a", 1)]
            events = [event for event in come if watermark <= event[0] - early < watermark + cut]
            rows += fed(shard, [(watermark, events)])[0]
        rows += fed(shard, [(300, [])])[0]
        assert set(rows.values()) == {1}
        ends = {re.findall(r"'end': datetime.datetime\(1970, 1, 1, 0, 0, 0, (\d+)", row)[0] for row in rows}
        both = {*range(10, 71, 10), *range(110, 141, 10)}
        assert ends == {str(end) for end in (both if isinstance(windows, type(ff.tumbling(1))) else {*both, 80})}
        assert not shard.store.tables


@pytest.mark.parametrize(
    ("windows", "dropped"),
    [(ff.sliding(us(20), every=us(10)), 1), (ff.last_rows(2), 2), (ff.snapshot(), 1), (given_windows(keys=True), 1)],
)
def test_late_events(windows: Any, dropped: int) -> None:
    """At 30: an event of 18 is in the window from 10 to 30, which has closed, and one of 25 in one that has not."""
    until = "u" if isinstance(windows, type(ff.snapshot())) else None
    events = [(25, 40, "a", 1), (18, 19, "a", 5)]
    if windows == ff.sliding(us(20), every=us(10)):
        events = [(25, 40, "a", 1), (8, 9, "a", 5)]
    if until is None and "another data set" in str(windows):
        events = [(25, 40, "a", 1), (6, 9, "b", 5)]
    shard = shard_of(plan_of(windows, OUTPUTS, until=until))
    assert fed(shard, [(30, events)])[1] == dropped


FILLED = ff.tumbling(us(3), empty="emit", fill_from="1970-01-01T00:00:00Z")
REASONS: dict[str, Any] = {
    "windows are filled": (FILLED, None),
    "events have an end, and the order of events": (ff.tumbling(us(3)), "u", {"x": ff.CollectList("x")}),
    "given keys": (given_windows(keys=True).__class__(**vars(given_windows(keys=True)) | {"empty": "emit"}), None),
    "first eviction": (ff.policy(ff.by_delta("x", 4), ff.by_count(1), min_fill="full"), None),
    "events have an end, and windows": (ff.sliding(us(9), every=us(4), emit="on_change"), "u"),
    "empty='emit' asks for windows without one": (ff.tumbling(us(3), empty="emit"), "u"),
    "several kinds of windows.*evict count": ((ff.policy(ff.by_count(4)), ff.last_rows(3)), None),
    "several kinds of windows.*everything so far": ((ff.landmark(every=us(4)), ff.tumbling(us(3))), None),
    "several kinds of windows.*empty='emit'": ((ff.tumbling(us(3), empty="emit"), ff.tumbling(us(4))), None),
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_shards_cannot_keep(reason: str) -> None:
    windows, until, *outputs = REASONS[reason]
    assert re.search(reason, str(why_not(plan_of(windows, *(outputs or [OUTPUTS]), until=until))))


def test_ties_of_interval_events() -> None:
    plan = plan_of(ff.snapshot(), OUTPUTS, until="u", ties=("x",))
    assert "ties= asks for an order of those of one time" in str(why_not(plan))
