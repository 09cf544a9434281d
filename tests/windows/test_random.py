"""Random events in random windows of every kind: each row of the result is that of the definition."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import median
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

import framefold as ff

from ..oracles import windows as oracle
from ..oracles.windows import Row, Window
from ..oracles.windows_rows import rank
from ..strategies import windows as strategies
from ..strategies.windows import CONSTRUCTORS, GRID, Anchors, Instant, Problem, Span, Spec, pairs
from ..support.examples import examples
from ..support.limits import limits
from ..support.plans import bind, fingerprint

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),  # steps and sizes are drawn apart
    pytest.mark.filterwarnings("ignore::framefold.CalendarWarning"),
]

MICROSECONDS = 1_000_000
EPOCH = dt.datetime(1970, 1, 1)
TYPES = {"int": pa.int64(), "naive": pa.timestamp("us"), "utc": pa.timestamp("us", "UTC"), "date": pa.date32()}
TYPES |= {zone: pa.timestamp("us", zone) for zone in strategies.ZONES}

# --- the two worlds: a problem as a user puts it, and in ticks ------------------------------------------------------


def scale(kind: str) -> int:
    """How many ticks a unit of a problem has: its units are seconds of a timestamp, days of a date."""
    return 1 if kind in ("int", "date") else MICROSECONDS


def instant(units: int, kind: str) -> Any:
    """A time as a user gives it."""
    if kind == "int":
        return units
    if kind == "date":
        return EPOCH.date() + dt.timedelta(days=units)
    return (EPOCH + dt.timedelta(seconds=units)).replace(tzinfo=None if kind == "naive" else dt.UTC)


def duration(units: int, kind: str) -> Any:
    """A duration as a user gives it: each kind has its own way of writing it."""
    words: dict[str, Any] = {"int": units, "naive": f"{units} seconds", "date": f"{units} days"}
    return dt.timedelta(seconds=units) if kind == "utc" else words[kind]


def ticks(value: Any) -> Any:
    """A time of a result in ticks."""
    if isinstance(value, dt.datetime):
        value = value if value.tzinfo is None else value.astimezone(dt.UTC)
        return (value.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, dt.date) else value


def converted(value: Any, leaf: Callable[[Any], Any], module: Any) -> Any:
    """A value of a specification for a module: ff itself or its oracle."""
    if isinstance(value, Spec):
        return getattr(module, value.name)(**{k: converted(v, leaf, module) for k, v in value.arguments.items()})
    if isinstance(value, tuple):
        return tuple(converted(each, leaf, module) for each in value)
    return leaf(value) if isinstance(value, Span | Instant) else value


def window_of(problem: Problem, keys: Callable[[pa.ChunkedArray], Any] = lambda keys: keys) -> Any:
    """The specification as a user writes it, with the keys of anchors as another column."""
    kind, spec = problem.kind, problem.spec

    def leaf(value: Any) -> Any:
        return duration(value.units, kind) if isinstance(value, Span) else instant(value.units, kind)

    anchors = spec.arguments.get("anchors")
    if isinstance(anchors, Anchors):
        names = ["key", "start", "end", "at"]
        columns = list(zip(*anchors.rows, strict=True)) or [()] * 4
        types = [pa.string(), *[TYPES[kind]] * 3]
        rows = [columns[0], *([instant(units, kind) for units in column] for column in columns[1:])]
        table = pa.table({name: pa.array(row, type) for name, row, type in zip(names, rows, types, strict=True)})
        table = table.set_column(0, "key", keys(table["key"]))
        by = "key" if anchors.by and problem.keyed else None
        more = {name: value for name, value in spec.arguments.items() if name != "anchors"}
        return ff.windows_from(table, start="start", end="end", by=by, **more)
    if kind in strategies.ZONES:  # that of the times, which is not said
        spec = Spec(spec.name, {name: value for name, value in spec.arguments.items() if name != "timezone"})
    return converted(spec, leaf, ff)


def events_of(problem: Problem) -> Any:
    """The events as a user gives them."""
    return ff.events(table_of(problem), **said_of(problem))


def said_of(problem: Problem) -> dict[str, Any]:
    """What a user says of the columns of the events."""
    lifetimes = any(row.end is not None for row in problem.rows) or problem.spec.name == "snapshot"
    said: dict[str, Any] = {"time": "t", "by": "key" if problem.keyed else None}
    said |= {"until": "end"} if lifetimes else {}
    return said | ({"ties": ["tie"]} if problem.tied else {})


def table_of(problem: Problem) -> pa.Table:
    """The events: columns t, end, key, tie, attr, v and their own number."""
    rows, kind = problem.rows, problem.kind
    whole = all(float(row.attr).is_integer() for row in rows)
    columns = {
        "t": pa.array([instant(row.time, kind) for row in rows], TYPES[kind]),
        "key": pa.array([row.key for row in rows], pa.string()),
        "tie": pa.array([row.tie for row in rows], pa.int64()),
        "attr": pa.array([int(row.attr) if whole else row.attr for row in rows], pa.int64() if whole else pa.float64()),
        "v": pa.array([row.value for row in rows], pa.int64()),
        "number": pa.array(range(len(rows)), pa.int64()),
    }
    if "until" in said_of(problem):
        columns["end"] = pa.array([None if row.end is None else instant(row.end, kind) for row in rows], TYPES[kind])
    return pa.table(columns)


def in_ticks(problem: Problem) -> list[Row]:
    """The rows as the definition sees them."""
    by = scale(problem.kind)
    return [
        replace(
            row,
            time=row.time * by,
            end=None if row.end is None else row.end * by,
            key=row.key if problem.keyed else None,
            tie=row.tie if problem.tied else 0,
        )
        for row in problem.rows
    ]


def right_windows(problem: Problem) -> list[Window]:
    """The windows that have to come out."""
    by, spec = scale(problem.kind), problem.spec
    anchors = spec.arguments.get("anchors")
    if isinstance(anchors, Anchors):
        stamped = "at" in spec.arguments
        rows = [(key, *(units * by for units in (a, b, at if stamped else a))) for key, a, b, at in anchors.rows]
        more = {name: spec.arguments[name] for name in ("closed", "empty")}
        brute = oracle.windows_from(rows, keyed=problem.keyed, by=anchors.by and problem.keyed, **more)
        return brute(in_ticks(problem))
    if problem.kind == "date" and not isinstance(spec.arguments.get("size", Span(1)), Span):
        spec = replace(spec, arguments={**spec.arguments, "dates": True})
    brute = converted(spec, lambda value: value.units * by, oracle)
    return brute(in_ticks(problem))


# --- comparing ----------------------------------------------------------------------------------------------------


OUTPUTS: dict[str, tuple[Any, Callable[[list[int], list[int]], Any]]] = {
    "s": (ff.Sum("v"), lambda v, n: sum(v) if v else None),
    "low": (ff.Min("v"), lambda v, n: min(v, default=None)),
    "first": (ff.First("v"), lambda v, n: v[0] if v else None),
    "last": (ff.Last("v"), lambda v, n: v[-1] if v else None),
    "list": (ff.CollectList("v"), lambda v, n: v),
    "middle": (ff.Median("v"), lambda v, n: median(v) if v else None),
    "different": (ff.CountDistinct("v"), lambda v, n: len(set(v))),
    "once": (ff.DistinctSum("v"), lambda v, n: sum(set(v)) if v else None),
    "mode": (ff.Mode("v"), lambda v, n: max(sorted(set(v)), key=v.count, default=None)),
    "counts": (ff.Histogram("v"), lambda v, n: sorted(Counter(v).items())),
    "top": (
        ff.TopN("v", 2, "number"),
        lambda v, n: [{"v": -value, "number": n[at]} for value, at in sorted((-x, at) for at, x in enumerate(v))[:2]],
    ),
    "each": (ff.GroupedBy(ff.Max("number"), "v"), lambda v, n: sorted(dict(sorted(zip(v, n, strict=True))).items())),
}
"""What slides by deduct, by two-stacks, what needs the order or all values; by the values v of a window that are not
null, and the numbers n of their rows."""


def outputs(lifetimes: bool) -> dict[str, Any]:
    """The same, and which rows are in a window."""
    more = {"covered": ff.Covered(), "weighted": ff.TimeWeightedAverage("v")} if lifetimes else {}
    of_values = {name: operation for name, (operation, _) in OUTPUTS.items()}
    return {"rows": ff.CollectList("number"), "n": ff.Count(), **of_values, **more}


def right_row(rows: Sequence[Row], window: Window) -> dict[str, Any]:
    """A row of the result, from a window's own rows."""
    numbers = [number for number in window.rows if rows[number].value is not None]
    values: list[Any] = [rows[number].value for number in numbers]
    return {
        "key": window.key, "start": window.start, "end": window.end, "at": window.at, "rows": list(window.rows),
        "n": len(window.rows), **{name: right(values, numbers) for name, (_, right) in OUTPUTS.items()},
    }  # fmt: skip


def over_lifetimes(problem: Problem, rows: Sequence[Row], window: Window) -> dict[str, Any]:
    """R17: what the operations see that weigh each event by how long it lives in the window."""
    closed = problem.spec.arguments.get("closed", "left")
    weights = [oracle.clipped(rows[number], window, closed) for number in window.rows]
    parts = [(rows[n].value, weight) for n, weight in zip(window.rows, weights, strict=True)]
    known = [(value, weight) for value, weight in parts if value is not None]
    total = sum(value * weight for value, weight in known)
    mean = float(Fraction(total, sum(weight for _, weight in known))) if known else None
    return {"covered": sum(weights), "weighted": None if mean is None else pytest.approx(mean, rel=1e-14, abs=1e-300)}


def got_rows(result: pa.Table) -> list[dict[str, Any]]:
    rows = []
    for row in result.to_pylist():
        bounds = row.pop("window")
        times = {"start": ticks(bounds["start"]), "end": ticks(bounds["end"]), "at": ticks(row.pop("at", None))}
        if isinstance(row.get("covered"), dt.timedelta):
            row["covered"] //= dt.timedelta(microseconds=1)
        rows.append({"key": row.pop("key", None), **times, **row})
    return rows


def assert_right(problem: Problem) -> None:
    """The result has exactly the rows that it has to have, in order."""
    lifetimes = problem.spec.name == "snapshot" or any(row.end is not None for row in problem.rows)
    rows, windows = in_ticks(problem), right_windows(problem)
    want = [right_row(problem.rows, window) for window in windows]
    if lifetimes:
        want = [right | over_lifetimes(problem, rows, w) for right, w in zip(want, windows, strict=True)]
    few = dict.fromkeys(("batch_rows", "chunk_windows", "range_block_values", "range_block_windows"), problem.batch)
    with limits(pending_partials=problem.pending, **few):
        result = events_of(problem).window(window_of(problem)).aggregate(**outputs(lifetimes))
    stamped = bool(want) and want[0]["at"] is not None
    assert ("at" in result.column_names) >= stamped
    got = got_rows(result)
    if got == want:
        return
    said = [f"should not be there: {row}" for row in got if row not in want]
    said += [f"missing: {row}" for row in want if row not in got]
    said = said or [f"out of order: {got}", f"should be: {want}"]
    raise AssertionError(f"{window_of(problem)}\n" + "\n".join(said[:8]))


def ends_of(problem: Problem) -> str:
    """Which ends belong to the windows: of windows counted in rows those of their first and last row do."""
    in_rows = problem.spec.name in ("last_rows", "policy") or "rows" in problem.spec.arguments
    return "both" if in_rows else problem.spec.arguments.get("closed", "left")


def evicts_any(problem: Problem) -> bool:
    """Whether windows may lack rows in their midst: these have rows of the result of their own."""
    evict = problem.spec.arguments.get("evict")
    return evict is not None and evict.name == "by_delta"


def test_windows_of_equal_bounds_and_other_results() -> None:
    """Another end, and another number of samples for one output; outputs over one of them each share a row."""
    events = ff.events(pa.table({"t": [1, 5], "x": [1, 2]}), time="t")
    left, right, few = ff.tumbling(5), ff.tumbling(5, closed="right"), ff.tumbling(5, min_samples=2)

    def rows(**outputs: Any) -> list[tuple[Any, ...]]:
        found = events.window(left).aggregate(**outputs).to_pylist()
        return [(row["window"]["start"], *(row[name] for name in outputs)) for row in found]

    n = ff.Count()
    assert rows(n=n.over(left, right)) == [(0, 1), (0, 2), (5, 1)]
    assert rows(a=n, b=n.over(right)) == [(0, 1, None), (0, None, 2), (5, 1, None)]
    assert rows(n=n.over(right, few)) == [(0, 2), (0, None), (5, None)]
    assert rows(n=n.over(left, few)) == [(0, 1), (0, None), (5, 1), (5, None)]
    assert rows(a=n, b=n.over(few)) == [(0, 1, None), (5, 1, None)]


def kept_as(problem: Problem) -> dict[str, Any]:
    """The text beside kept states of windows, by which other windows are refused."""
    said = said_of(problem)
    by, ties = [said["by"]] if said["by"] else [], said.get("ties", ())
    outputs = {"n": ff.Count()}
    return fingerprint(
        bind(table_of(problem).schema, time="t", by=by, ties=ties, window=window_of(problem), outputs=outputs)
    )


@pytest.mark.parametrize("name", [*GRID, "landmark a step", "calendar", "business days"])
def test_kept_states_fit_no_windows_of_another_offset_or_step(name: str) -> None:
    @settings(examples(60, quick=12), suppress_health_check=list(HealthCheck))
    @given(CONSTRUCTORS[name], CONSTRUCTORS[name], st.sampled_from(["offset", "every"]))
    def check(first: Problem, other: Problem, changed: str) -> None:
        given = first.spec.arguments
        assume(
            changed in given and changed in other.spec.arguments and (name == "landmark a step" or changed == "offset")
        )
        rows = [replace(row, time=time) for time, row in zip(range(0, 99, 7), first.rows, strict=False)]
        first = replace(first, rows=rows, spec=replace(first.spec, arguments={**given, "emit": "every"}))
        second = replace(
            first, spec=replace(first.spec, arguments=first.spec.arguments | {changed: other.spec.arguments[changed]})
        )
        try:
            kept = kept_as(first), kept_as(second)
        except ff.FramefoldError:  # drawn apart, they are none
            reject()
        if right_windows(first) != right_windows(second):
            assert kept[0] != kept[1], (window_of(first), window_of(second))

    check()


@settings(examples(200, quick=6), suppress_health_check=list(HealthCheck))
@given(pairs())
def test_two_kinds_in_one_pass(pair: tuple[Problem, Problem]) -> None:
    """Windows that are equal, and have the same rows, are given once: one with each output that is over them."""
    first, _ = pair
    windows = [window_of(each) for each in pair]
    assume(windows[0] != windows[1])
    right = [(each, right_windows(each)) for each in pair]
    own = [
        Counter(
            (w.key, w.start, w.end, w.at, (ends_of(each), number if evicts_any(each) else None), w.rows) for w in some
        )
        for number, (each, some) in enumerate(right)
    ]
    rows = {"a": ff.CollectList("number").over(windows[0]), "b": ff.CollectList("number").over(windows[1])}
    few = dict.fromkeys(("batch_rows", "chunk_windows"), first.batch)
    with limits(pending_partials=first.pending, **few):
        result = got_rows(events_of(first).window(*windows).aggregate(**rows, both=ff.CollectList("number")))
    found: Counter[Any] = Counter()
    for row in result:
        found[(row["key"], row["start"], row["end"], row["at"], *(str(row[name]) for name in ("a", "b", "both")))] += 1
    want: Counter[Any] = Counter()
    for at in set(own[0]) | set(own[1]):
        once, shared, members = [each[at] for each in own], min(each[at] for each in own), str(list(at[5]))
        for a, b, many in ((1, 1, shared), (1, 0, once[0] - shared), (0, 1, once[1] - shared)):
            if many:
                want[(*at[:4], members if a else "None", members if b else "None", members)] += many
    assert found == want, f"{windows}\n{found - want}\n{want - found}"
    at = [(*rank(row["key"]), row["start"] if row["at"] is None else row["at"], row["start"]) for row in result]
    assert at == sorted(at)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_windows(name: str) -> None:
    thorough = 100 if name.startswith("policy") else 250

    @settings(examples(thorough, quick=6), suppress_health_check=[HealthCheck.too_slow])
    @given(CONSTRUCTORS[name])
    def check(problem: Problem) -> None:
        assert_right(problem)

    check()
