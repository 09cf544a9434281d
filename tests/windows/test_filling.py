"""Windows without an event, from when to when and for which keys a user says: ``fill_from``, ``fill_to`` and keys."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

Event = tuple[int, str, int]
Row = tuple[str, int, int, int, int | None]


def table(events: list[Event]) -> pa.Table:
    columns: list[Any] = [list(column) for column in zip(*events, strict=True)] or [[], [], []]
    return pa.table(
        dict(zip("tkx", columns, strict=True)), pa.schema([("t", "int64"), ("k", "string"), ("x", "int64")])
    )


def found(events: list[Event], windows: Any) -> list[Row]:
    result = ff.events(table(events), time="t", by="k").window(windows).aggregate(n=ff.Count(), s=ff.Sum("x"))
    return [(row["k"], row["window"]["start"], row["window"]["end"], row["n"], row["s"]) for row in result.to_pylist()]


def grid(size: int, every: int, cycle: int | None) -> list[tuple[int, int]]:
    """Windows around zero; cumulating ones where there is a cycle."""
    if cycle is None:
        return [(k * every, k * every + size) for k in range(-60, 60)]
    return [(k * cycle, k * cycle + end) for k in range(-30, 30) for end in range(every, cycle + 1, every)]


def expected(
    events: list[Event], windows: list[tuple[int, int]], closed: str, start: int | None, end: int | None, keys: set[str]
) -> list[Row]:
    """By definition: those from the first to the last that an event, or a time to be filled, is in."""
    rows: list[Row] = []
    shift = int(closed == "right")
    if start is not None and end is not None:  # each key then has windows, wherever its events are
        keys = keys | {k for _, k, _ in events}
    events = [(t - shift, k, x) for t, k, x in events if any(low <= t - shift < high for low, high in windows)]
    for key in sorted({k for _, k, _ in events} | keys):
        times = [(t, x) for t, k, x in events if k == key]
        marks = [t for t, _ in times]
        if start is not None and end is not None:
            marks += range(start, end)
        elif start is not None and marks:  # on to its first event
            marks += range(start, min(marks))
        elif end is not None and marks:
            marks += range(max(marks), end)
        inside = [at for at, (low, high) in enumerate(windows) if any(low <= mark < high for mark in marks)]
        for low, high in windows[inside[0] : inside[-1] + 1] if inside else []:
            xs = [x for t, x in times if low <= t < high]
            rows.append((key, low, high, len(xs), sum(xs) if xs else None))
    return rows


KEYS_IN_GAPS = [(1, "a", 1), (13, "a", 1), (3, "b", 1), (29, "b", 1)]
GAPS: dict[str, Any] = {"steps": (2, 5), "closed": "left", "grows": False, "keyed": False}


@example(events=[(16, "a", 1)], start=3, length=None, **GAPS)  # in a gap: the next window is the first
@example(events=[(1, "a", 1)], start=None, length=14, **GAPS)
@example(events=KEYS_IN_GAPS, start=None, length=None, **GAPS)  # "b" is in gaps only, and has no windows
@example(events=KEYS_IN_GAPS, start=0, length=None, **GAPS)
@example(events=KEYS_IN_GAPS, start=5, length=6, **GAPS)  # but here it has all
@given(
    events=st.lists(st.tuples(st.integers(-20, 20), st.sampled_from("ab"), st.integers(-9, 9)), max_size=9),
    steps=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    closed=st.sampled_from(["left", "right"]),
    start=st.one_of(st.none(), st.integers(-25, 20)),
    length=st.one_of(st.none(), st.integers(1, 20)),
    grows=st.booleans(),
    keyed=st.booleans(),
)
def test_sliding_and_cumulating_windows_by_definition(
    events: list[Event], steps: tuple[int, int], closed: str, start: int | None, length: int | None, grows: bool,
    keyed: bool,
) -> None:  # fmt: skip
    size, every = steps
    end = None if length is None else (start or 0) + length
    keys = {"b", "c"} if keyed and start is not None and end is not None else set()
    choices: dict[str, Any] = {"closed": closed, "empty": "emit", "fill_from": start, "fill_to": end}
    if keys:
        choices["fill_keys"] = pa.table({"name": ["see", "bee"], "k": ["c", "b"]})
    if grows:
        cycle = every * (1 + size % 3)
        windows, all_of = ff.cumulating(cycle, every, **choices), grid(0, every, cycle)
    else:
        windows, all_of = ff.sliding(size, every, gaps="allow", **choices), grid(size, every, None)
    gaps = not grows and every > size
    if gaps and start is not None and end is not None and not any(low < end and high > start for low, high in all_of):
        with pytest.raises(ff.QueryError, match="where none is; expected more"):
            found(events, windows)
        return
    assert found(events, windows) == expected(events, all_of, closed, start, end, keys)


def test_every_operation_gives_of_a_window_without_an_event_what_it_always_does() -> None:
    outputs: dict[str, Any] = {
        "n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x"), "first": ff.First("x"), "xs": ff.CollectList("x"),
        "v": ff.Variance("x"), "d": ff.CountDistinct("x"), "q": ff.Median("x"), "e": ff.Ewma("x", 10),
        "all": ff.BoolAnd("y"), "p": ff.Product("x"), "top": ff.TopN("x", 2),
    }  # fmt: skip
    events = pa.table({"t": [0, 40, 41], "x": [1.0, 2.0, 4.0], "y": [True, False, True]})
    query = ff.events(events, time="t")
    inner = query.window(ff.sliding(10, every=5, empty="emit")).aggregate(**outputs)
    empty = next(row for row in inner.to_pylist() if row["n"] == 0)
    wider = ff.sliding(10, every=5, empty="emit", fill_from=-20, fill_to=71)
    rows = query.window(wider).aggregate(**outputs)
    starts = [row["start"] for row in rows["window"].to_pylist()]
    assert starts == list(range(-25, 75, 5))
    for row in rows.to_pylist():
        if row["n"]:
            assert row in inner.to_pylist()
        else:
            assert row | {"window": None} == empty | {"window": None}


def test_no_key_and_no_event() -> None:
    windows = ff.tumbling(10, empty="emit", fill_from=0, fill_to=30)
    nothing = table([]).drop("k")
    assert ff.events(nothing, time="t").window(windows).aggregate(n=ff.Count())["n"].to_pylist() == [0, 0, 0]
    half = ff.tumbling(10, empty="emit", fill_from=0)
    assert ff.events(nothing, time="t").window(half).aggregate(n=ff.Count()).num_rows == 0


def test_half_filled_windows_are_left_out_from_the_time_on() -> None:
    windows = ff.sliding(4, every=2, empty="emit", min_fill="full", fill_from=0, fill_to=6)
    assert [row[1:4] for row in found([(5, "a", 1)], windows)] == [(0, 4, 0), (2, 6, 1), (4, 8, 1)]


def test_stamps_zones_and_samples() -> None:
    at = dt.datetime(2026, 3, 29, 10, tzinfo=dt.UTC)
    windows = ff.tumbling(
        "1 day", timezone="Europe/Berlin", empty="emit", stamp="end", min_samples=1,
        fill_from="2026-03-28T00:00+01:00", fill_to=at + dt.timedelta(days=1),
    )  # fmt: skip
    result = ff.events(pa.table({"t": [at]}), time="t").window(windows).aggregate(n=ff.Count())
    assert result["n"].to_pylist() == [None, 1, None]
    ends = [each.astimezone(dt.UTC).hour for each in result["at"].to_pylist()]
    assert ends == [23, 22, 22]
    assert all(before["end"] == after["start"] for before, after in pairwise(result["window"].to_pylist()))


def test_large_results_come_in_chunks() -> None:
    windows = ff.tumbling(1, empty="emit", fill_from=-700_000, fill_to=700_000)
    result = ff.events(table([(5, "a", 2)]), time="t", by="k").window(windows).aggregate(n=ff.Count())
    assert result.num_rows == 1_400_000
    assert pa.compute.sum(result["n"]).as_py() == 1
    assert result["window"].num_chunks > 1


def test_it_is_explained() -> None:
    windows = ff.tumbling(10, empty="emit", fill_from=0, fill_to=30, fill_keys=pa.table({"k": ["a"]}))
    text = str(ff.events(table([]), time="t", by="k").window(windows).explain(n=ff.Count()))
    assert "windows without an event are given too, also from 0 to 30 for given keys" in text


def filled(**choices: Any) -> Any:
    return ff.tumbling(3, empty="emit", **({"fill_from": 0, "fill_to": 9} | choices))


def asked(*windows: Any) -> Any:
    return ff.events(pa.table({"t": [1], "k": [2]}), time="t", by="k").window(*windows).aggregate(n=ff.Count())


KEYS = pa.table({"k": [dt.date(2026, 1, 1)]})
OTHER_KEYS = pa.table({"key": ["a"]})
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: ff.tumbling(3, fill_from=1),
     "fill_from is given, but windows without an event are left out; expected empty='emit'"),
    (lambda: ff.cumulating(4, 2, empty="emit", emit="on_change", fill_to=1),
     "fill_to is given, but a window like the one before it is left out; expected emit='every'"),
    (lambda: ff.sliding(3, 1, empty="emit", fill_to=3, fill_keys=KEYS),
     "fill_keys is given without both fill_from and fill_to; expected them: a key without an event has no times of its "
     "own"),
    (lambda: asked(filled(fill_to=0)), "fill_from is 0 and fill_to is 0; expected fill_from before fill_to"),
    (lambda: asked(filled(fill_from="2026-01-01")),
     "fill_from is '2026-01-01', but the time 't' is an integer column (int64); expected an integer"),
    (lambda: asked(filled(), ff.session(2)),
     "windows of 3 every 3 are filled (fill_from=, fill_to=), and there are several kinds of windows in one pass; "
     "expected one kind of windows over events of one time"),
    (lambda: asked(filled(fill_keys=OTHER_KEYS)), "fill_keys lacks the key 'k'; there are 'key'"),
    (lambda: asked(filled(fill_keys=KEYS)),
     "fill_keys has the key 'k' as date32[day], and the events as int64; expected one type"),
    (lambda: asked(filled(fill_keys=["a"])), "fill_keys is a list; expected a table with the columns of by="),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises((ff.QueryError, ff.ColumnError), match=f"^{re.escape(sentence)}$"):
        call()


def test_intervals_and_keys_of_events_without_a_key_are_refused() -> None:
    events = pa.table({"t": [1], "u": [2]})
    with pytest.raises(ff.QueryError, match=r"and there are interval events \(until=\); expected one kind"):
        ff.events(events, time="t", until="u").window(filled()).aggregate(n=ff.Count())
    with pytest.raises(ff.QueryError, match="fill_keys is given, but the events have no key; expected by= too"):
        ff.events(events, time="t").window(filled(fill_keys=events)).aggregate(n=ff.Count())
