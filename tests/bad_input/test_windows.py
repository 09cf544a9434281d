"""Windows that cannot be: each refused at once, in a sentence that says what was found and what to use instead."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from .mistakes import mistakes, require

TABLE = pa.table({
    "t": [1, 2, 3], "end": [4, 5, 6], "v": [1.0, 2.0, 3.0], "name": ["a", "b", "c"],
    "ts": pa.array([dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3)], pa.timestamp("us", "UTC")),
    "naive": pa.array([dt.datetime(2026, 1, day) for day in (1, 2, 3)], pa.timestamp("us")),
    "day": pa.array([dt.date(2026, 1, day) for day in (1, 2, 3)]),
})  # fmt: skip
ANCHORS = pa.table({"a": [0, 2], "b": [2, 1], "k": ["x", "y"], "n": pa.array([1, None]), "d": TABLE["day"][:2]})
HUGE = 1 << 70


def ask(window: Any, *, data: pa.Table = TABLE, time: str = "t", **options: Any) -> Any:
    return ff.events(data, time=time, **options).window(window).aggregate(n=ff.Count())


def anchored(**arguments: Any) -> Any:
    return ff.windows_from(ANCHORS, **{"start": "a", "end": "b"} | arguments)


@mistakes("""\
ask(ff.tumbling("1 month"))  # -> expected an integer such as 60
ask(ff.tumbling("5 hours", timezone="Europe/Berlin"), time="ts")
    # -> expected whole days or weeks, months, quarters or years, or no timezone
ask(ff.tumbling("1 day", timezone="Europe/Berlin"), time="naive")  # -> has no zone; expected no timezone
ask(ff.tumbling("1 day", timezone="Mars/Base"), time="ts")  # -> expected the name of a zone
ask(ff.tumbling("1 year", offset="45 days"), time="ts")  # -> from -28 to 30 days beside them, such as '1 month 14 days'
ask(ff.tumbling("0 months"), time="ts")  # -> size is '0 months'; expected a duration above zero
ask(ff.tumbling("5 business days"))  # -> size is '5 business days', but the time 't' is an integer column
ask(ff.landmark(every=ff.business_days(5)))  # -> every is business_days(5), but the time 't' is an integer column
ask(ff.tumbling("1 business day 2 hours"), time="ts")  # -> which mixes business days with other units; expected whole
ask(ff.sliding("5 business days", every="1 hour"), time="ts")
    # -> expected both in the same business days, or ff.lookback('5 business days', every='1 hour')
ask(ff.sliding("5 business days", every=ff.business_days(1, holidays=["2026-12-25"])), time="ts")
    # -> every is business_days(1, holidays=<1 day>); expected both in the same business days
ask(ff.tumbling("1 business day", offset="1 day"), time="ts")
    # -> offset is '1 day', and windows are of 1 business day; expected the same business days, or less than a day
ask(ff.tumbling("1 month", offset="1 business day"), time="ts")  # -> expected months, and from -28 to 30 days
ask(ff.tumbling("1 week", offset="1 business day"), time="ts")  # -> and a business day has no fixed length
ask(ff.cumulating("1 business day", every="1 hour"), time="ts")
    # -> expected both in the same business days, or steps of business days and a size in days, weeks, months
ask(ff.cumulating("36 hours", every="1 business day"), time="ts")  # -> and a size in days, weeks, months
ask(ff.cumulating("5 business days", "2 business days"), time="ts")  # -> expected a size in whole steps
ff.session("1 business day")  # -> gap is '1 business day', and a business day has no fixed length
ff.by_time(ff.business_days(1))  # -> by_time() is business_days(1), and a business day has no fixed length
ff.tumbling(ff.business_days(0))  # -> size is business_days(0); expected a duration above zero
ff.business_days(1.5)  # -> count is 1.5; expected a whole number of business days
ff.business_days(5, "Mo Tu")  # -> weekmask is 'Mo Tu'; expected the business days of a week, such as 'Mon-Fri'
ff.business_days(5, holidays="2026-12-25")  # -> holidays is '2026-12-25'; expected a list of dates
ff.business_days(5, holidays=["Christmas"])  # -> holidays is ['Christmas']; expected a list of dates
ff.business_days(5, holidays=[None])  # -> holidays is [None]; expected a list of dates
ff.business_days(5, holidays=[20261225])  # -> holidays is [20261225]; expected a list of dates
ff.business_days(5, holidays=["2026-12"])  # -> holidays is ['2026-12']; expected a list of dates
ask(ff.tumbling("1 day", offset=dt.datetime(2026, 1, 1, 9)), time="ts")
    # -> which is not in UTC; expected a time in UTC
ask(ff.tumbling(5, offset=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)))  # -> expected a duration since the epoch
ff.tumbling(5, min_fill="half")  # -> min_fill is 'half'; expected 'partial' or 'full'
ff.tumbling(5, emit="never")  # -> emit is 'never'; expected 'every' or 'on_change'
ff.tumbling(3, min_samples=-1)  # -> min_samples is -1; expected an integer of 0 or more
ff.sliding(3, 1, min_samples="2")  # -> min_samples is '2'; expected an integer of 0 or more
ff.cumulating(4, 2, min_samples=1.5)  # -> min_samples is 1.5; expected an integer of 0 or more
ff.policy(ff.by_count(2), min_samples=True)  # -> min_samples is True; expected an integer of 0 or more
ff.last_rows(3, min_samples=4)  # -> min_samples is 4, and a window has at most 3 rows; expected 3 or fewer
ff.around(rows=(-1, 1), min_samples=4)  # -> min_samples is 4, and a window has at most 3 rows; expected 3 or fewer
ff.tumbling(5, stamp="now")  # -> stamp is 'now'; expected 'interval', 'end' or 'start'
ask(ff.cumulating(5, 2))  # -> expected a size in whole steps
ask(ff.session(0))  # -> gap is 0; expected a duration above zero
ask(ff.tumbling(5), until="end", longest=0)  # -> longest is 0; expected a duration
ask(ff.tumbling(5), longest=3)  # -> expected it only for interval events (until=)
ask(ff.tumbling(5), until="end", longest=2**63)
    # -> longest is 9223372036854775808; expected a duration that fits int64
ff.session(1, merge_touching="yes")  # -> expected True or False
ask(ff.landmark(5, 3, every=1))  # -> expected since before until
ask(ff.landmark("2026-01-01", every=1))  # -> expected an integer
ask(ff.landmark(dt.datetime(2026, 1, 1), every="1 day"), time="ts")
    # -> expected a time with a zone such as '2026-01-31T09:00Z'
ff.landmark(stamp="end")  # -> expected stamp only with every=
ff.last_rows(0)  # -> n is 0; expected an integer of 1 or more
ff.last_rows(2, every=0.5)  # -> every is 0.5; expected an integer of 1 or more
ff.last_rows(2, ties="any")
    # -> ties is 'any'; expected 'arrival' for rows in their order, 'distinct_time' for n times with all their rows or
    #    'strict' for whole times with at most n rows together
ff.around()  # -> neither rows nor time; expected one of them
ff.around(rows=(0, 1), time=(0, 1))  # -> both rows and time; expected one of them
ff.around(rows=(1,))  # -> rows is (1,); expected a pair
ff.around(rows=(0, 0.5))  # -> expected two integers
ask(ff.around(rows=(0, 0), closed="neither"))  # -> which has no row; expected some
ff.around(time=(0, 1), min_fill="full")  # -> expected it only with rows=
ff.policy(evict="punct")  # -> expected ff.by_count(n), ff.by_time(t) or ff.by_delta
ff.policy(ff.by_count(2), empty="emit")
    # -> empty is 'emit' with the trigger count(1); expected it only with ff.by_time(t)
ask(ff.policy(ff.by_delta("name", 1)))  # -> which is string; expected a column of numbers
ask(ff.policy(ff.by_delta("v", -1)))  # -> expected a number of 0 or more
ask(ff.policy(ff.by_delta("w", 1)))  # -> by_delta() names the unknown column 'w'
ask(ff.policy(ff.by_delta("v", "1 second")))  # -> expected a number of 0 or more
ask(ff.policy(ff.by_delta("ts", 1)))  # -> expected a duration such as '1 hour'
anchored(end="c")  # -> end names 'c', which the anchors lack
ask(anchored())  # -> 1 windows that end before they start
ask(anchored(end="n"))  # -> is null in 1 rows; expected a time in every row
ask(anchored(end="d"))  # -> is date32[day], and the time 't' is an integer
ask(anchored(end="a", by="k"))  # -> the anchors have 1 keys and the events 0; expected as many
ask(anchored(end="a", by="a"), by="name")  # -> the anchors' key 'a' is int64, and 'name' is string; expected one type
ask(ff.session(1), until="end")  # -> not defined for interval events (until='end')
ask(ff.last_rows(1), until="end")  # -> expected ff.sliding, ff.tumbling, ff.cumulating
ask(ff.snapshot())  # -> these windows are of interval events; expected ff.events(...,
ff.events(TABLE, time="t").window(ff.tumbling(5)).aggregate(n=ff.Covered())
    # -> is of interval events only; expected ff.events(..., until=)
ff.events(TABLE, time="t", until="end").window(ff.tumbling(5), ff.snapshot()).aggregate(n=ff.Covered())
    # -> 2 kinds of windows; expected a query for each
ask(ff.tumbling(5), time="end", until="t")  # -> 3 of 3 events end no later
ask(ff.tumbling(5), until="day")  # -> expected the type of 't', int64
ff.events(TABLE, time="t").aggregate(at=ff.Count().over(ff.landmark()))  # -> the output 'at' would hide the column 'at'
ask(ff.tumbling(1), data=TABLE.append_column("l", pa.array([[1]] * 3)), ties="l")  # -> ties= names 'l', which is list
""")
def test_windows(call: str, said: str) -> None:
    require(call, said, globals())


@mistakes("""\
ff.around(time=("1 hour", "0 s"))
    # -> time is ('1 hour', '0 s'), whose first bound is after its last; expected time=('0 seconds', '1 hour') for what
    #    comes after the event or time=('-1 hour', '0 seconds') for what comes before it
ff.around(rows=(0, -2))
    # -> rows is (0, -2), whose first bound is after its last; expected rows=(-2, 0) for what comes before it or
    #    rows=(0, 2) for what comes after the event
ff.around(rows=(2, -1))  # -> expected rows=(-1, 2) or rows=(-2, 1)
ff.around(rows=[2, -2])  # -> after its last; expected rows=(-2, 2)
ff.around(time=(dt.timedelta(hours=1, minutes=30), dt.timedelta(0)))
    # -> time=('-1 hour -30 minutes', '0 seconds') for what comes before it
ff.around(time=(3, 1))  # -> time=(1, 3) for what comes after the event or time=(-3, -1) for
ff.around(rows=(np.int64(1), np.int32(0)))  # -> expected rows=(0, 1)
ff.around(time=("PT1H", "-PT1H"))  # -> expected time=('-1 hour', '1 hour')
ask(ff.landmark(since="2026-05-02", until="2026-05-01"), time="naive")  # -> expected since before until
ask(ff.tumbling("1 hour", empty="emit", fill_from="2026-05-02", fill_to="2026-05-01"), time="naive")
    # -> expected fill_from before fill_to
""")
def test_bounds_that_descend(call: str, said: str) -> None:
    require(call, said, globals())


@mistakes("""\
ff.last_rows(HUGE)  # -> n is 1180591620717411303424; expected no more than
ff.last_rows(1, every=HUGE)  # -> every is 1180591620717411303424; expected no more than
ff.by_count(1 << 63)  # -> by_count() is 9223372036854775808; expected no more than
ff.tumbling(1, min_samples=HUGE)  # -> min_samples is 1180591620717411303424; expected no more than
ff.around(rows=(-HUGE, 0))  # -> rows is (-1180591620717411303424, 0); expected no more than
ff.around(rows=(0, 2**63 - 1))  # -> rows is (0, 9223372036854775807); expected no more than
""")
def test_more_rows_than_can_be_counted(call: str, said: str) -> None:
    require(call, said, globals())


@pytest.mark.parametrize("n", [1 << 61, 1 << 62])
def test_as_many_rows_as_can_be_counted_are_all_of_them(n: int) -> None:
    for window, counts in (
        (ff.last_rows(n), [1, 2, 3]), (ff.policy(ff.by_count(n), ff.by_count(1)), [1, 2, 3]),
        (ff.around(rows=(-n, n), min_fill="partial"), [3, 3, 3]),
    ):  # fmt: skip
        assert ask(window)["n"].to_pylist() == counts


def test_more_values_than_there_are() -> None:
    outputs = {"first": ff.FirstN("t", HUGE), "last": ff.LastN("t", 1 << 63), "top": ff.TopN("t", HUGE)}
    found = ff.events(TABLE, time="t").window(ff.tumbling(10)).aggregate(**outputs, bottom=ff.BottomN("t", 1 << 63))
    (row,) = found.drop_columns("window").to_pylist()
    assert row == {"first": [1, 2, 3], "last": [1, 2, 3], "top": [3, 2, 1], "bottom": [1, 2, 3]}


@mistakes("""\
ask(ff.landmark(since=HUGE, every=1))  # -> ColumnError: since is 1180591620717411303424; expected an integer that fits
ask(ff.tumbling(1, empty="emit", fill_from=-HUGE, fill_to=HUGE))
    # -> ColumnError: fill_from is -1180591620717411303424; expected an integer that fits
ask(ff.policy(ff.by_delta("v", 1)), data=pa.table({"t": [1, 2], "v": [1.0, None]}))
    # -> ColumnError: 'v', which the windows are made by, is null in 1 of 2 events; expected
""")
def test_values_of_columns(call: str, said: str) -> None:
    require(call, said, globals())
