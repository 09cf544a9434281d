"""Random streams in windows of every kind, cut at random: each window of the definition once, and no other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import framefold as ff

from ..oracles.windows import Row, Window
from ..oracles.windows_grid import parse
from ..strategies.windows import DAY, GRID, Anchors, Problem
from ..support.examples import examples
from ..support.shards import Cut, as_stream
from ..windows.test_random import (
    CONSTRUCTORS,
    Span,
    events_of,
    got_rows,
    in_ticks,
    over_lifetimes,
    right_row,
    right_windows,
    scale,
    window_of,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),  # steps and sizes are drawn apart
    pytest.mark.filterwarnings("ignore::framefold.CalendarWarning"),
]


def emits(problem: Problem) -> bool:
    return problem.spec.name in GRID and problem.spec.arguments.get("empty") == "emit"


@st.composite
def streams(draw: st.DrawFn, problems: st.SearchStrategy[Problem]) -> tuple[Problem, Cut]:
    """A problem with its events in an order in which they could come, and how they are cut into micro-batches."""
    problem = streamable(draw(problems))
    reach = draw(st.sampled_from([0, 2, 10, 1000]))
    places = [row.time + draw(st.integers(0, reach)) for row in problem.rows]
    rows = [problem.rows[number] for number in sorted(range(len(places)), key=places.__getitem__)]
    cut = Cut(
        sizes=draw(st.lists(st.integers(0, 6), max_size=8)),
        slack=draw(st.sampled_from([0, 0, 3, 50])),
        shards=draw(st.integers(1, 3)),
        width=draw(st.sampled_from([1, 7, 10_000_000])),
        portion=draw(st.sampled_from([1, 3, 100])),
        forget=draw(st.sampled_from([1, 5, 40])) * scale(problem.kind) if emits(problem) else None,
        full=draw(st.sampled_from([1, 5, 4096])),
    )
    return replace(problem, rows=rows), cut


def streamable(problem: Problem) -> Problem:
    """The problem with what streams refuse left out of it."""
    arguments = dict(problem.spec.arguments)
    lives = problem.spec.name == "snapshot" or any(row.end is not None for row in problem.rows)
    if lives:
        plain = {"emit": "every", "min_fill": "partial", "empty": "skip"}
        arguments |= {name: word for name, word in plain.items() if name in arguments}
    if problem.spec.name in GRID and arguments.get("empty") == "emit":
        arguments |= {"emit": "every"} | ({"min_fill": "partial"} if "min_fill" in arguments else {})
    anchors = arguments.get("anchors")
    if isinstance(anchors, Anchors) and anchors.by and problem.keyed:
        arguments["empty"] = "skip"
    evict = arguments.get("evict")
    if evict is not None and evict.name == "by_delta":
        arguments["min_fill"] = "partial"
    return replace(problem, spec=replace(problem.spec, arguments=arguments), tied=problem.tied and not lives)


def commutative(lifetimes: bool) -> dict[str, Any]:
    """Outputs that do not depend on the order of events, so that partials are kept where windows allow it."""
    more = {"covered": ff.Covered(), "weighted": ff.TimeWeightedAverage("v")}
    rest = {"n": ff.Count(), "s": ff.Sum("v"), "low": ff.Min("v")}
    return {"rows": ff.CollectSet("number"), **rest, **(more if lifetimes else {})}


def in_order() -> dict[str, Any]:
    """Outputs that do, for which events are held back."""
    rest = {"n": ff.Count(), "first": ff.First("v"), "list": ff.CollectList("v")}
    return {"rows": ff.CollectList("number"), **rest}


def units(duration: Any, kind: str) -> int:
    """A duration of a specification in units of its time column, or somewhat more."""
    if isinstance(duration, Span):
        return duration.units
    if isinstance(duration, str):
        months, length = parse(duration)
        days = 31 * months + length.days
    else:  # business days
        days = 7 * (duration.count + len(duration.holidays) + 1)
    return days * (1 if kind == "date" else DAY)


def right(problem: Problem, forget: int | None) -> list[Window]:
    """The windows of a stream: those of the batch, but that nobody knows that no more events will come.

    Windows around rows wait for those that they lack; those without an event go on until their key is forgotten.
    """
    if forget is not None:
        return going_on(problem, forget)
    count = 0
    if problem.spec.name == "around" and problem.spec.arguments.get("min_fill") == "partial":
        count = max(*problem.spec.arguments.get("rows", (0, 0)), 0)
    windows = right_windows(replace(problem, rows=[*problem.rows, *to_come(problem, 1, count)]))
    return [window for window in windows if max(window.rows, default=-1) < len(problem.rows)] if problem.rows else []


def to_come(problem: Problem, after: int, count: int = 1) -> list[Row]:
    """Events of every key some time after the last one, each as long as that."""
    begin = max((row.time for row in problem.rows), default=0) + after
    keys = {row.key if problem.keyed else None for row in problem.rows}
    return [Row(begin + more, key, end=begin + more + after) for key in keys for more in range(count)]


def going_on(problem: Problem, forget: int) -> list[Window]:
    """The windows with those without an event that begin before their key is forgotten."""
    kind, arguments, rows = problem.kind, problem.spec.arguments, in_ticks(problem)
    lengths = sum(units(arguments[name], kind) for name in ("size", "every") if name in arguments)
    windows = right_windows(
        replace(problem, rows=[*problem.rows, *to_come(problem, forget // scale(kind) + 3 * lengths)])
    )
    inside = {number for window in windows for number in window.rows if number < len(rows)}  # and not in gaps
    shift, found = int(arguments.get("closed") == "right"), []
    for window in windows:
        own = tuple(number for number in window.rows if number in inside)
        times = [rows[number].time for number in inside if rows[number].key == window.key]
        before = [time for time in times if time < window.start + shift]
        if own or (own == window.rows and max(before) + forget >= window.start + shift):
            found.append(replace(window, rows=own))
    return found


def assert_same(problem: Problem, got: list[dict[str, Any]], windows: list[Window], outputs: list[str]) -> None:
    """The rows of a result are those of some windows, in any order."""
    rows, names = in_ticks(problem), ["key", "start", "end", "at", *outputs]
    want = [right_row(problem.rows, window) for window in windows]
    if "covered" in outputs:
        want = [row | over_lifetimes(problem, rows, window) for row, window in zip(want, windows, strict=True)]
    assert in_some_order(got, names) == in_some_order(want, names)


def in_some_order(rows: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Rows in an order that does not depend on when they came."""
    some = [{name: sorted(row[name]) if name == "rows" else row[name] for name in names} for row in rows]
    return sorted(some, key=lambda row: repr([row[name] for name in names if name != "weighted"]))


OF_LIFETIMES = ("intervals", "snapshot")
CASES = [
    (name, ordered) for name in CONSTRUCTORS for ordered in (False, True) if not (ordered and name in OF_LIFETIMES)
]


MANY = settings(max_examples=1000, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))

CASES_AT_LEAST = 7
"""Random streams of each kind of windows; of all kinds together there are at least 300."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "ordered"), CASES)
def test_each_window_once(name: str, ordered: bool) -> None:
    cases: Counter[str] = Counter()

    def check(stream: tuple[Problem, Cut]) -> None:
        problem, cut = stream
        lifetimes = name in OF_LIFETIMES and any(row.end is not None for row in problem.rows)
        outputs = in_order() if ordered else commutative(lifetimes)
        query = as_stream(events_of(problem), cut).window(window_of(problem))
        got = got_rows(query.aggregate(**outputs))
        assert_same(problem, got, right(problem, cut.forget), list(outputs))
        cases.update(streams=1, with_windows=bool(got), windows=len(got))

    any_stream = streams(CONSTRUCTORS[name])
    settings(examples(200, quick=7), suppress_health_check=[HealthCheck.too_slow])(given(any_stream)(check))()
    if not cases["with_windows"]:  # policies that wait for much give few windows
        check(find(any_stream, lambda stream: bool(right(stream[0], stream[1].forget)), settings=MANY))
    print(f"{name}, {'ordered' if ordered else 'in any order'}: {dict(cases)}")
    assert cases["streams"] >= CASES_AT_LEAST
    assert cases["with_windows"]


def test_there_are_enough_random_streams() -> None:
    assert len(CASES) * CASES_AT_LEAST >= 300


@pytest.mark.parametrize("sizes", [(), (1,), (0, 1, 1)], ids=str)
def test_windows_without_an_event_do_not_depend_on_the_cut(sizes: tuple[int, ...]) -> None:
    """Those that begin within five of an event: in gaps, and where windows begin after their start."""
    events = as_stream(ff.events(pa.table({"t": [0, 20]}), time="t"), Cut(sizes, forget=5))
    for windows, starts in (
        (ff.sliding(1, every=2, empty="emit", gaps="allow"), [0, 2, 4, 20, 22, 24]),
        (ff.tumbling(2, closed="right", empty="emit"), [-2, 0, 2, 4, 18, 20, 22, 24]),
    ):
        found = events.window(windows).aggregate(n=ff.Count())["window"].to_pylist()
        assert [window["start"] for window in found] == starts


def test_an_event_that_lives_between_two_windows_is_not_late() -> None:
    """A shard that has seen none of its windows close drops nothing; as_stream sees to that."""
    table = pa.table({"t": [10, 13], "until": [11, 15]})
    events = as_stream(ff.events(table, time="t", until="until"), Cut((1, 1)))
    assert events.window(ff.sliding(1, every=10, gaps="allow")).aggregate(n=ff.Count())["n"].to_pylist() == [1]
