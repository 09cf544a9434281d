"""Durations, bounds and columns are checked where they are written, in one sentence that says what to write."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

from ..support.durations import MICROSECONDS, microseconds, written
from .mistakes import mistakes, require

NOON = dt.datetime(2026, 5, 1, 12)
NAIVE = pa.table({"t": [NOON, NOON + dt.timedelta(hours=30)], "k": ["a", "b"], "x": [1.0, 2.0]})
INTEGERS = pa.table({"t": [0, 1, 5], "k": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})


def starts(window: Any, data: Any = NAIVE) -> list[Any]:
    found = ff.events(data, time="t").window(window).aggregate(n=ff.Count())
    return [row["start"] for row in found["window"].to_pylist()]


def test_what_the_sentence_says_can_be_written() -> None:
    """Both ways of the first case, by hand: the hour before and the hour after."""
    hours = pa.table({"t": [NOON + dt.timedelta(minutes=30 * n) for n in range(5)]})
    events = ff.events(hours, time="t")
    for bounds, want in ((("-1 hour", "0 seconds"), [1, 2, 3, 3, 3]), (("0 seconds", "1 hour"), [3, 3, 3, 2, 1])):
        assert events.window(ff.around(time=bounds)).aggregate(n=ff.Count())["n"].to_pylist() == want
    odd = ff.around(time=("-1 hour -30 minutes", "0 seconds"))
    assert events.window(odd).aggregate(n=ff.Count())["n"].to_pylist() == [1, 2, 3, 4, 4]


def output(data: pa.Table, operation: Any) -> Any:
    return ff.events(data, time="t").window(ff.tumbling(10)).aggregate(s=operation)["s"].to_pylist()


HOUR = pa.array([MICROSECONDS["hour"] // 1000], pa.int64()).view(pa.date64())
HUGE = pa.table({
    "t": [0, 1], "n": pa.array([Decimal(10) ** 37 * 9] * 2, pa.decimal128(38, 0)), "i": [2**62] * 2,
})  # fmt: skip
SAME = {
    "1min": "1 minute", "90s": "90 seconds", "1S": "1 second", "2h": "2 hours", "1H": "1 hour", "1d": "1 day",
    "1D": "1 day", "1w": "1 week", "1W": "1 week", "2wks": "2 weeks", "5m": "5 minutes", "5 MIN": "5 minutes",
    "10 msec": "10 milliseconds", "3us": "3 microseconds", "3\u00b5s": "3 microseconds", "3\u03bcs": "3 microseconds",
    "2000 ns": "2 microseconds",
    "PT1H": "1 hour", "PT90S": "90 seconds", "PT1M30.5S": "1 minute 30.5 seconds", "P1DT12H": "1 day 12 hours",
    "P2W": "2 weeks", "-PT1H": "-1 hour", "PT-5M": "-5 minutes",
}  # fmt: skip
MONTHS = {"1mo": 1, "1mon": 1, "2 mons": 2, "1q": 3, "1Q": 3, "1qtr": 3, "1y": 12, "1Y": 12, "1 yr": 12, "2yrs": 24}
MONTHS |= {"1YS": 12, "1QS": 3, "P1M": 1, "P1Y": 12, "P1Y2M": 14, "1 MONTH": 1}


OF_PANDAS = ["1min", "90s", "2h", "5m", "3us", "PT1H", "P1DT12H", "PT90S", "PT1M30.5S", "1D", "10ms"]


def test_short_units_that_mean_one_thing() -> None:
    assert {text: microseconds(text, "size") for text in SAME} == {
        text: microseconds(long, "size") for text, long in SAME.items()
    }
    assert [microseconds(text, "size") * 1000 for text in OF_PANDAS] == [pd.Timedelta(text).value for text in OF_PANDAS]
    found = {text: written(text, "size") for text in MONTHS}
    assert {text: (one.months, one.microseconds) for text, one in found.items() if not isinstance(one, int)} == {
        text: (months, 0) for text, months in MONTHS.items()
    }


@pytest.mark.parametrize("text", ["90s", "2h", "5m", "3us", "1d", "1w", "1mo", "1q", "1y", "10ms"])
def test_as_polars_reads_them(text: str) -> None:
    moments = pa.array([dt.datetime(2024, 2, 29, 13, 47, 11, 123456) + n * dt.timedelta(hours=31) for n in range(30)])
    want = pl.from_arrow(moments).dt.truncate(text).unique().sort().to_list()  # type: ignore[union-attr]
    with pytest.warns(ff.CalendarWarning) if text == "1w" else nullcontext():
        assert starts(ff.tumbling(text), pa.table({"t": moments})) == want


REFUSED = {
    "1M": "where 'M' could be minutes or months; expected '1 minute' or '1 month'",
    "15M": "expected '15 minutes' or '15 months'",
    "1MS": "where 'MS' could be milliseconds or months; expected '1 millisecond' or '1 month'",
    "1Ms": "expected '1 millisecond' or '1 month'", "1T": "with the unit 'T' of pandas; expected '1 minute'",
    "5L": "expected '5 milliseconds'", "5U": "expected '5 microseconds'", "1ME": "expected '1 month'",
    "2QE": "expected '2 quarters'", "1A": "expected '1 year'", "5 ns": "which is not a whole number of microseconds",
    "1 fortnight": "with the unknown unit 'fortnight'; expected weeks, days",
    "1.5 months": "a part of a month, quarter or year has no fixed length; expected whole ones",
    "5B": "with the unit 'B' of pandas; expected '5 business days'",
    "2BDay": "with the unit 'BDay' of pandas; expected '2 business days'",
    "1.5 business days": "a part of a business day has no fixed length; expected whole ones",
    "0.5 years": "expected whole ones", "PT1H30": "which is not a duration; expected a number and a unit",
    "P": "which is not a duration", "0 hours": "expected a duration above zero",
    "-1 hour": "expected a duration above zero", "0 months": "expected a duration above zero",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_units_that_are_refused_with_what_to_write(text: str) -> None:
    """Where the windows are written, whatever the kind."""
    kinds: list[tuple[str, Callable[[Any], Any]]] = [
        ("size", ff.tumbling), ("size", lambda it: ff.sliding(it, every="1 day")),
        ("every", lambda it: ff.sliding("1 day", every=it)), ("gap", ff.session),
        ("longest", lambda it: ff.session("1 hour", longest=it)),
        ("size", lambda it: ff.cumulating(it, every="1 hour")),
        ("every", lambda it: ff.landmark(every=it)), ("by_time()", ff.by_time),
        ("longest", lambda it: ff.events(NAIVE, time="t", longest=it)),
        ("forget", lambda it: ff.events(NAIVE, time="t").stream(forget=it)),
    ]  # fmt: skip
    for argument, write in kinds:
        with pytest.raises(ff.DurationError) as caught:
            write(text)
        assert str(caught.value).startswith(f"{argument} is {text!r}")
        if "month" not in text and "year" not in text:
            assert REFUSED[text] in str(caught.value)


@pytest.mark.parametrize("value", [None, True, 1.5, float("nan"), [], {}, pl.duration(hours=1), np.timedelta64(1, "M")])
def test_what_is_no_duration(value: Any) -> None:
    for argument, write in (("size", ff.tumbling), ("gap", ff.session), ("by_time()", ff.by_time)):
        with pytest.raises(ff.DurationError) as caught:
            write(value)
        assert str(caught.value).startswith(f"{argument} is ")
        assert "; expected a" in str(caught.value)


def test_steps_of_integers_as_polars_writes_them() -> None:
    assert starts(ff.tumbling("2i"), INTEGERS) == starts(ff.tumbling(2), INTEGERS)


@mistakes("""\
ff.events(NAIVE, time="t", by=["k", "K"])  # -> by= names the unknown column 'K'; did you mean 'k'?
ff.events(NAIVE, time="t", by=[1])  # -> by= names 1; expected the name of a column
ff.events(NAIVE, time="t", ties="nope")  # -> ties= names the unknown column 'nope'
ff.events(NAIVE, time=pc.field("nope").cast(pa.timestamp("s")))
    # -> the input cast(nope, timestamp[s]) names the unknown column 'nope'
ff.events("trips", time="t")  # -> ff.parquet('trips') reads files, spark.table('trips') a table or a view of Spark
ff.events(NAIVE, time="t").explain()  # -> no window is given; expected
starts(ff.tumbling("2i"))  # -> DurationError: size is '2i', but the time 't' is a timestamp column
ff.tumbling("1 day", offset=1.5)  # -> DurationError: offset is 1.5; expected
starts(ff.tumbling("1 day"), pa.table({"t": HOUR}))  # -> dates with a time of day; expected whole days
starts(ff.landmark(every=1), pa.table({"t": [0, 2**61]}))  # -> more than one process can hold; expected a longer step
output(HUGE, ff.Sum("n"))  # -> SumOverflowError: cast the column to double to go on
output(HUGE, ff.Average("n"))  # -> SumOverflowError: cast the column to double to go on
output(HUGE, ff.Sum("i"))  # -> SumOverflowError: cast the column to a wider type (decimal(38, 0) or double) to go on
ff.Quantile("x", True)  # -> q= of Quantile('x') is True; expected a number from 0 to 1
ff.Quantile("x", [0.5, False])  # -> expected a number from 0 to 1, or a list of such
ff.Sum("x", empty=True)  # -> is True; expected a number, a timedelta or None
""")
def test_what_is_wrong_is_said(call: str, said: str) -> None:
    require(call, said, globals())


def test_the_time_may_be_an_expression() -> None:
    seconds = pa.table({"t": [0, 5400], "x": [1.0, 2.0], "day": ["2026-01-31 09:00:00", "2026-02-01T10:00:00"]})
    times = [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 1)]
    of = ff.events(seconds, time=pc.field("t").cast(pa.timestamp("s"))).window(ff.tumbling("1 hour"))
    found = of.aggregate(s=ff.Sum("x"), m=ff.Max("t"))
    assert [row["start"] for row in found["window"].to_pylist()] == times
    assert found["s"].to_pylist() == [1.0, 2.0]
    text = ff.events(seconds, time=pc.field("day").cast(pa.timestamp("us"))).window(ff.tumbling("1 day"))
    days = [row["start"].day for row in text.aggregate(n=ff.Count())["window"].to_pylist()]
    assert days == [31, 1]
    polars = ff.events(pl.from_arrow(seconds), time=pl.from_epoch("t", time_unit="s")).window(ff.tumbling("1 hour"))
    assert [row["start"] for row in polars.aggregate(n=ff.Count())["window"].to_pylist()] == times
    plain = ff.events(seconds, time=pc.field("t"), by="day").window(ff.tumbling(10))
    assert plain.events.time == "t"


def test_text_and_integers_are_told_how_to_become_times() -> None:
    for data, sentence in (
        (pa.table({"t": ["2026-01-31"]}), "time=F.to_timestamp('t') on Spark, else time=pc.field('t').cast(pa."),
        (INTEGERS, "time=F.timestamp_seconds('t') on Spark, else time=pc.field('t').cast(pa."),
    ):
        with pytest.raises(ff.QueryError) as caught:
            starts(ff.tumbling("1 day"), data)
        assert sentence in str(caught.value)
        here = eval(str(caught.value).partition("else time=")[2], {"pc": pc, "pa": pa})  # what it says works
        assert len(ff.events(data, time=here).window(ff.tumbling("1 day")).aggregate(n=ff.Count())) == 1


def test_backticks_are_as_in_spark() -> None:
    data = pa.table({"a.b": [0, 1], "my key": ["x", "y"], "`odd`": [3, 4], "s": [{"v": 1}, {"v": 2}]})
    events = ff.events(data, time="`a.b`", by=["`my key`"])
    assert (events.time, events.by) == ("a.b", ("my key",))
    found = events.window(ff.tumbling(10)).aggregate(m=ff.Max("`a.b`"), o=ff.Sum("```odd```"), v=ff.Sum("`s`.`v`"))
    assert found.drop("window").to_pydict() == {"my key": ["x", "y"], "m": [0, 1], "o": [3, 4], "v": [1, 2]}
    near = ff.policy(ff.by_delta("`a.b`", 5))
    assert events.window(near).aggregate(n=ff.Count())["n"].to_pylist() == [1, 1]
    anchors = pa.table({"from.a": [0], "to": [9]})
    windows = ff.windows_from(anchors, start="`from.a`", end="`to`")
    assert ff.events(data, time="`a.b`").window(windows).aggregate(n=ff.Count())["n"].to_pylist() == [2]


def test_an_explanation_without_outputs() -> None:
    query = ff.events(NAIVE, time="t", by="k").window(ff.sliding("1 hour", every="1 minute"), ff.session("5 minutes"))
    told = str(query.explain())
    assert told.splitlines()[0] == "framefold on the local engine"
    assert [line.split()[0] for line in told.splitlines()[1:]] == ["events", "frames", "windows", "windows"]
    assert "time t (timestamp[us]), key k" in told


def test_the_range_of_decimals_with_a_negative_scale() -> None:
    column = pa.array([Decimal(100), Decimal(300), None, Decimal(-500)], pa.decimal128(5, -2))
    data = pa.table({"t": [0, 1, 2, 3], "x": column})
    assert output(data, ff.Range("x")) == [Decimal(800)]
    assert output(data.slice(2, 1), ff.Range("x")) == [None]
    for q in (0.25, 0.5):
        expected = float(np.quantile([float(each) for each in column.to_pylist() if each is not None], q))
        assert output(data, ff.Quantile("x", q)) == [expected]


def test_uuids_stay_uuids() -> None:
    one, two = uuid.UUID(int=1), uuid.UUID(int=2**127)
    stored = pa.array([two.bytes, one.bytes, None], pa.binary(16))
    data = pa.table({"t": [0, 1, 2], "k": ["a", "a", "b"], "u": pa.ExtensionArray.from_storage(pa.uuid(), stored)})
    windows = ff.events(data, time="t", by="k").window(ff.tumbling(10))
    picked = {"m": ff.Min("u"), "l": ff.Last("u"), "all": ff.CollectList("u"), "top": ff.ArgMax("u", "t")}
    found = windows.aggregate(**picked, n=ff.Count())
    assert found.drop(["k", "window"]).to_pylist() == [
        {"m": one, "l": one, "all": [two, one], "top": one, "n": 2},
        {"m": None, "l": None, "all": [], "top": None, "n": 1},
    ]
    inside = {
        "by": (ff.GroupedBy(ff.Count(), "u"), [(one, 1), (two, 1)]),
        "of": (ff.GroupedBy(ff.Max("u"), "k"), [("a", two), ("b", None)]),
        "all": (ff.AllOf(m=ff.Max("u"), n=ff.Count()), {"m": two, "n": 3}),
    }
    whole = ff.events(data, time="t").window(ff.tumbling(10))
    for name, (output, expected) in inside.items():
        assert whole.aggregate(**{name: output})[name].to_pylist() == [expected]
    keyed = ff.events(data, time="t", by="u").window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert keyed["u"].to_pylist() == [None, one, two]
    again = ff.events(keyed, time="window.start", by="u").window(ff.tumbling(10)).aggregate(n=ff.Sum("n"))
    assert again["u"].type == pa.uuid()
