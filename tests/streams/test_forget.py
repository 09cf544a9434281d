"""Keys that streams forget: by the times of events alone, whatever the micro-batches, in windows of every kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import framefold as ff

from ..oracles.windows import Row, Window
from ..strategies.windows import GRID, Anchors, Instant, Problem, Span, Spec
from ..support.examples import examples
from ..support.plans import bind
from ..support.shards import Bytes, Cut, HeldEvents, Shard, as_stream, counted
from ..windows.test_random import CONSTRUCTORS, events_of, got_rows, right_windows, scale, window_of
from .test_random import OF_LIFETIMES, assert_same, commutative, emits, in_order, in_some_order, right, streams, units

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),  # steps and sizes are drawn apart
    pytest.mark.filterwarnings("ignore::framefold.CalendarWarning"),
]

NAMES = [name for name in CONSTRUCTORS if name not in OF_LIFETIMES]
NONE: dict[str, Any] = {"by": (), "until": None, "longest": None, "ties": (), "null_time": "error"}

NEAR = 1 << 40
"""Times and steps below it: no pause between them is beyond what times can be."""


def given_rows(problem: Problem, cut: Cut, ordered: bool) -> list[dict[str, Any]]:
    query = as_stream(events_of(problem), cut).window(window_of(problem))
    return got_rows(query.aggregate(**(in_order() if ordered else commutative(False))))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_no_result_depends_on_the_cut(name: str, ordered: bool) -> None:
    """Of two random cuts, however short a time keys are kept: watermarks that pass many pauses at once, or each."""

    @settings(examples(100, quick=3), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    @given(streams(CONSTRUCTORS[name]), st.lists(st.integers(0, 4), max_size=8), st.sampled_from([1, 4, 15, 60]))
    def check(stream: tuple[Problem, Cut], sizes: list[int], forget: int) -> None:
        problem, cut = stream
        cut = replace(cut, forget=forget * scale(problem.kind))
        other = replace(cut, sizes=sizes, slack=0, shards=1, portion=100)
        each = replace(other, sizes=[1] * len(problem.rows))
        names = ["key", "start", "end", "at", *(in_order() if ordered else commutative(False))]
        found = [in_some_order(given_rows(problem, some, ordered), names) for some in (cut, other, each)]
        assert found[0] == found[1] == found[2]

    check()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_what_comes_after_a_pause_is_of_another_key(name: str) -> None:
    """Each of them has the windows that the definition gives to its own events."""
    lives: Counter[str] = Counter()

    @settings(examples(150, quick=5), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    @given(streams(CONSTRUCTORS[name]), st.integers(1, 9), st.lists(st.floats(0.1, 0.9), min_size=1, max_size=3))
    def check(stream: tuple[Problem, Cut], more: int, places: list[float]) -> None:
        problem, cut = stream
        assume(not emits(problem))
        assume(problem.spec.name == "landmark" or problem.spec.arguments.get("until") is None)
        forget = reach(problem.spec.arguments, problem.kind) + more
        assume(forget < NEAR and all(abs(row.time) < NEAR for row in problem.rows))
        times = sorted(row.time for row in problem.rows)
        pauses = {times[int(place * len(times))] for place in places if times}
        later = [
            replace(row, time=row.time + (forget + 1) * sum(row.time >= at for at in pauses)) for row in problem.rows
        ]
        problem = replace(problem, rows=later)
        got = given_rows(problem, replace(cut, forget=forget * scale(problem.kind)), ordered=True)
        assert_same(problem, got, windows_in_lives(problem, forget), list(in_order()))
        lives.update(some=1, several=len({key for key in life_of_rows(problem, forget) if not key.endswith("/0")}))

    check()
    assert lives["several"] or lives["some"] < 40  # few examples may have none


def reach(value: Any, kind: str) -> int:
    """The lengths of all durations in a specification together, in units: no window is longer."""
    if isinstance(value, Span):
        return abs(value.units)
    if isinstance(value, Spec):
        return reach(value.arguments, kind)
    if isinstance(value, dict):
        return sum(reach(each, kind) for name, each in value.items() if name not in ("offset", "timezone", "closed"))
    if isinstance(value, tuple):
        return sum(reach(each, kind) for each in value)
    if hasattr(value, "holidays") or (isinstance(value, str) and value[:1].isdigit()):
        return units(value, kind)
    return 0


def life_of_rows(problem: Problem, forget: int) -> list[str]:
    """The key of each row with the number of its life."""
    rows, lives = problem.rows, [""] * len(problem.rows)
    seen: dict[Any, tuple[int, int]] = {}
    inside = in_a_window(problem)
    for number in sorted(range(len(rows)), key=lambda number: rows[number].time):
        key = rows[number].key if problem.keyed else None
        before, life = seen.get(key, (rows[number].time, 0))
        life += rows[number].time > before + forget
        if inside[number]:
            seen[key] = rows[number].time, life
        lives[number] = f"{key}/{life}"
    return lives


def in_a_window(problem: Problem) -> list[bool]:
    """Which rows leave a trace: all but those in gaps between windows, and before a landmark."""
    arguments, rows = problem.spec.arguments, problem.rows
    if problem.spec.name == "landmark" and isinstance(since := arguments.get("since"), Instant):
        least = since.units + (arguments.get("closed") in ("right", "neither"))
        return [row.time >= least for row in rows]
    if problem.spec.name in GRID:
        plain = {"emit": "every", "min_fill": "partial", "min_samples": 0}
        plain = {name: word for name, word in plain.items() if name in arguments}
        spec = replace(problem.spec, arguments={**arguments, **plain})
        found = {number for window in right_windows(replace(problem, spec=spec)) for number in window.rows}
        return [number in found for number in range(len(rows))]
    return [True] * len(rows)


def windows_in_lives(problem: Problem, forget: int) -> list[Window]:
    """The windows of the stream where each life of a key is a key of its own; given windows know of no pause."""
    if problem.spec.name == "windows_from" or isinstance(problem.spec.arguments.get("anchors"), Anchors):
        return right(problem, None)
    lives = life_of_rows(problem, forget)
    rows = [replace(row, key=life) for row, life in zip(problem.rows, lives, strict=True)]
    last = {life: max(row.time for row in rows if row.key == life) for life in lives}
    count = 0
    if problem.spec.name == "around" and problem.spec.arguments.get("min_fill") == "partial":
        count = max(*problem.spec.arguments.get("rows", (0, 0)), 0)
    waited = [Row(last[life] + 1, life) for life in last for _ in range(count)]
    windows = right_windows(replace(problem, rows=[*rows, *waited], keyed=True))
    keys = {life: row.key if problem.keyed else None for life, row in zip(lives, problem.rows, strict=True)}
    kept = [window for window in windows if max(window.rows, default=-1) < len(rows)]
    return [replace(window, key=keys[str(window.key)]) for window in kept]


def test_a_running_count_begins_anew_after_a_pause() -> None:
    """Events a day apart are forgotten after an hour, in one micro-batch or in one each."""
    table = pa.table({"t": [0, 100, 101, 200]})
    for sizes in ((4,), (1, 1, 1, 1), (2, 2), (1, 3)):
        events = as_stream(ff.events(table, time="t"), Cut(sizes, forget=5))
        found = events.window(ff.landmark()).aggregate(n=ff.Count())
        assert sorted(zip(found["at"].to_pylist(), found["n"].to_pylist(), strict=True)) == [
            (0, 1), (100, 1), (101, 2), (200, 1)
        ], sizes  # fmt: skip


def test_open_windows_are_of_the_last_life() -> None:
    """What is open by now, of events that are still held back."""
    plan = counted(
        bind(pa.schema({"t": pa.int64()}), time="t", window=ff.landmark(), outputs={"n": ff.Count()}, **NONE)
    )
    shard = Shard(plan, Bytes(), HeldEvents(plan, Bytes(), 10), forget=5)
    shard.hold(pa.table({"t": [0, 1]}))
    assert [row["n"] for each in shard.advance(2) for row in each.to_pylist()] == [1, 2]
    shard.hold(pa.table({"t": [3, 20, 21]}))
    assert [row["n"] for each in shard.early() for row in each.to_pylist()] == [3, 1, 2]
    assert [row["n"] for each in shard.advance(22) for row in each.to_pylist()] == [3, 1, 2]


def test_a_key_is_known_by_its_last_event() -> None:
    """Not by the first, which alone says from when on windows are full: events five apart for a hundred."""
    table = pa.table({"t": list(range(0, 100, 5))})
    for sizes in ((20,), (1,) * 20, (7, 7, 6)):
        events = as_stream(ff.events(table, time="t"), Cut(sizes, forget=20))
        found = events.window(ff.sliding(4, every=2, min_fill="full")).aggregate(n=ff.Count())
        starts = sorted(window["start"] for window in found["window"].to_pylist())
        assert starts == [at for at in range(0, 98, 2) if any(at <= time < at + 4 for time in range(0, 100, 5))]
