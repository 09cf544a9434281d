"""What people are used to elsewhere, and type here: it works, or the message says what to write instead."""

from __future__ import annotations

import datetime as dt
import traceback
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import framefold as ff

from .mistakes import mistakes, require

NOON = dt.datetime(2026, 5, 1, 12)
EVENTS = pa.table({"at": [NOON, NOON + dt.timedelta(minutes=90)], "k": ["a", "b"], "i": [1, 2]})
HOURS = ff.tumbling("1 hour")


def ask(data: Any = EVENTS, window: Any = HOURS, time: Any = "at", **outputs: Any) -> Any:
    return ff.events(data, time=time).window(window).aggregate(**outputs or {"n": ff.Count()})


@mistakes("""\
ff.events(EVENTS, time="at").window(HOURS).aggregate(ff.Count(), ff.Sum("i"))
    # -> aggregate() is given Count(), Sum('i') without a name; expected each as an argument: n=ff.Count()
ff.events(EVENTS, time="at").aggregate({"i": "sum"})
    # -> aggregate() is given {'i': 'sum'} without a name; expected each as an argument: n=ff.Count()
ff.events(EVENTS, time="at").explain(ff.Count())  # -> is given Count() without a name
ff.Count("*")  # -> Count is given '*'; expected ff.Count(), which counts all rows
ask(window=ff.tumbling(pl.duration(hours=1)))  # -> size is a polars Expr; expected a plain value, such as '1 hour'
ask(window=ff.session(["1 hour"]))  # -> gap is ['1 hour']; expected a plain value, such as '1 hour'
ask(pd.DataFrame({"at": [NOON] * 2, "k": ["a", 1]}), n=ff.Last("k"))
    # -> ColumnError: n=Last('k') names 'k', which Arrow does not take (
ask(pd.DataFrame([[NOON, 1, 2]], columns=["at", "k", "k"]), n=ff.Last("k"))
    # -> ColumnError: n=Last('k') names 2 columns called 'k'; expected one
ask(pd.DataFrame({"k": [1]}, index=pd.DatetimeIndex([NOON])), time="date")
    # -> ColumnError: time= names the unknown column 'date'; there are 'k', '__index_level_0__', which is the index that
    #    pandas has without a name
ask(pd.DataFrame({"at": ["2026-05-01 12:00"]}, dtype=object))
    # -> ColumnError: time= needs a column of timestamps, dates or integers; 'at' is string; parse it into a timestamp
    #    first: time=F.to_timestamp('at') on Spark, else time=pc.field('at').cast(pa.timestamp('us'))
ff.together(a=EVENTS, b=EVENTS)  # -> the input 'a' is a pyarrow Table; expected ff.events(...)
ff.parquet(EVENTS)  # -> the path is a pyarrow Table; expected a string or a path
ask(pl.from_arrow(EVENTS), n=ff.Sum(pl.col("i").sum()))
    # -> the input col("i").sum() is one value for all events; expected a value for each of them
ask(n=ff.Filtered(ff.Count(), "i > 1"))
    # -> ColumnError: n=Filtered(Count(), 'i > 1') names the unknown column 'i > 1'; ... for SQL, expected
    #    ff.expr('i > 1')
ask(window=ff.lookback("1 hour", at=pa.table({"at": pa.array([NOON], pa.timestamp("us", "UTC"))})))
    # -> ColumnError: the column 'at' of lookback(at=) is timestamp[us, tz=UTC], and the time 'at' is a timestamp
ff.events(EVENTS, time="at", by="k").window(ff.lookback("1 hour", at=EVENTS.select(["at"]).append_column("k", [[1, 2]]))
    ).aggregate(n=ff.Count())  # -> ColumnError: the key 'k' of lookback(at=) is int64, and 'k' is string; expected one
ff.events(Path("trips.parquet"), time="at")
    # -> events are a pathlib PosixPath; expected a Spark DataFrame, ff.parquet(path), or anything
ff.events(None, time="at")  # -> events are None; expected
ff.events(pl.from_arrow(EVENTS).lazy(), time="at")
    # -> events are a LazyFrame; expected collected data: call .collect() first
ff.events(EVENTS.append_column("window", EVENTS["k"]), time="at", by="window").aggregate(n=ff.Count().over(HOURS))
    # -> by= names 'window', the name of a column of every result; expected another: rename the column
""")
def test_mistakes(call: str, said: str) -> None:
    require(call, said, globals())


@pytest.mark.parametrize("size", ["60min", "3600s", "1hr", pd.Timedelta("1h"), dt.timedelta(hours=1)])
def test_durations_as_others_write_them(size: Any) -> None:
    assert ask(window=ff.tumbling(size)).equals(ask())


def test_data_as_others_have_it() -> None:
    frame = EVENTS.to_pandas()
    for data in (frame, frame.set_index("at"), pl.from_arrow(EVENTS), EVENTS.to_batches()[0], EVENTS.to_reader()):
        assert ask(data)["n"].to_pylist() == [1, 1]
    assert ask(pl.from_arrow(EVENTS), n=ff.Sum(pl.lit(2)))["n"].to_pylist() == [2, 2]
    assert ask(pl.from_arrow(EVENTS.slice(0, 1)), n=ff.Sum(pl.col("i") * 2))["n"].to_pylist() == [2]
    assert ask(EVENTS.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize(
    ("typed", "meant"), [("average", "Average"), ("sum", "Sum"), ("Stddev", "StdDev"), ("Slide", "sliding")]
)
def test_a_misspelt_name_is_answered_by_the_right_one(typed: str, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(ff, typed)
    assert str(caught.value) == f"module 'framefold' has no attribute {typed!r}; did you mean {meant!r}?"
    assert len(traceback.format_exception_only(caught.value)) == 1
