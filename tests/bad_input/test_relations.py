"""What is wrong with a relation is said at once, in a sentence that names the argument or column."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

import framefold as ff

from .mistakes import mistakes, require

TABLE = pa.table({"t": [0, 1], "k": ["a", "b"], "x": [1, 2], "m": [[1], [2]]})
LASTING = pa.table({"from": [0, 5], "to": pa.array([5, None], pa.int64()), "k": ["a", "a"], "x": [1, 2]})
TIMES = LASTING.set_column(0, "from", pa.array([dt.datetime(2026, 1, 1)] * 2)).set_column(
    1, "to", pa.array([None, None], pa.timestamp("us"))
)
MANY = pa.table({"from": [0] * 40_000, "to": [1] * 40_000})


def events(windows: Any, **more: Any) -> Any:
    return ff.events(TABLE, time="t", **more).window(windows).relation()


def calls() -> Any:
    return events(ff.sliding(4, every=1))


def rates(table: pa.Table = LASTING) -> Any:
    return ff.relation(table, valid_from="from", valid_to="to")


@mistakes("""\
events(ff.around(rows=(-1, 0)))  # -> no rule says from when to when an event is in them; expected
events(ff.session(3))  # -> no rule says from when to when an event is in them; expected ff.sliding
events(ff.policy(ff.by_delta("x", 2)))  # -> no rule says from when to when
ff.events(TABLE, time="t").window(ff.tumbling(1), ff.tumbling(2)).relation()  # -> is of 2 kinds of windows
events(ff.last_rows(2, min_fill="full"))  # -> are of results; expected none for a relation
events(ff.tumbling(2, min_samples=2))  # -> min_samples and fill_from are of results
events(ff.tumbling(2), by="m")  # -> by= names 'm', which is list<item: int64>; expected numbers
events(ff.tumbling(2), ties=["x", "m"])  # -> ties= names 'm', which is list<item: int64>; expected numbers
events(ff.last_rows(4, 2, ties="strict"))  # -> ties='strict' and every=2; expected every=1
ff.events(TABLE, time="t").relation()  # -> is given no windows; expected .window
ff.events(LASTING, time="from", until="to").window(ff.tumbling(2)).relation()  # -> have a validity already
ff.events(LASTING, time="from", until="to", longest=3).relation()  # -> longest= is of interval
ff.events(TABLE.append_column("ts", TABLE["x"]), time="t").window(ff.tumbling(1)).relation()
    # -> there is a column 'ts', which relations have of their own
ff.relation(LASTING, valid_from="fro", valid_to="to")  # -> 'fro'; did you mean 'from'
ff.relation(LASTING, valid_from="from", valid_to=3)  # -> valid_to= is 3; expected the name of
ff.relation(TIMES.set_column(1, "to", pa.array([1, 2])), valid_from="from", valid_to="to")
    # -> valid_from= names 'from', which is timestamp
ff.relation(LASTING, valid_from="k", valid_to="to")  # -> timestamps, dates or integers; 'k' is
ff.relation(LASTING, valid_from="from", valid_to="from")
    # -> valid_from= and valid_to= both name 'from'; expected two columns
rates(pa.table({"from": [1], "to": [2.0]}))
    # -> valid_to= needs a column of timestamps, dates or integers; 'to' is double
ff.relation(TIMES.append_column("at", LASTING["x"]), valid_from="from", valid_to="to", ts="at")
    # -> valid_from= names 'from', which is timestamp[us], and ts= 'at', which is int64; expected one type
rates(pa.table({"from": [3], "to": [2]})).rows()  # -> events end no later than they start, the first from 3 to 2
rates(pa.table({"from": pa.array([None], pa.int64()), "to": [2]})).rows()
    # -> NullTimeError: valid_from= names 'from', which is null in 1 of 1 rows; expected an instant for every row
rates(pa.table({"from": [0], "to": [2**60]})).states(1)
    # -> 1 rows become 1.2e+18, more than one process can hold; expected a longer step in states(), or since=
rates(MANY).join(rates(MANY)).rows()
    # -> 40000 rows become 1.6e+09, more than one process can hold; expected fewer pairs
rates(pa.table({"from": pa.array([0], pa.timestamp("ns")), "to": pa.array([2**63 - 1], pa.timestamp("ns"))})).rows()
    # -> ColumnError: has pd.Timestamp.max, which has digits below a microsecond; expected a null where an end is open
calls().where("y > 1")  # -> names the unknown column 'y';
calls().where("x >")  # -> the expression 'x >' is no SQL of one value:
calls().where(f"x = {'9' * 39}")  # -> and it has 39 digits; expected at most 38
rates().where(pc.divide(pc.field("x"), 0) > 1).rows()
    # -> the condition ... of where() does not fit the columns: divide by zero
calls().select(y=pc.divide(pc.field("x"), 0)).rows()  # -> a column of select() does not fit the columns: divide by zero
calls().where(3)  # -> where() of a relation of this process is given a builtins.int
calls().select("y")  # -> select() names the unknown column 'y'
calls().select("k", ts="x")  # -> computes 'ts', which is another column
calls().select(y=pc.field("q") + 1)  # -> a column of select() names the unknown column 'q'
calls().select(y=3)  # -> select() is given y=3; expected SQL
calls().join(TABLE, on="k")  # -> join() is given ... ; expected a relation
calls().join(rates(), on="j")  # -> on= of the left names the unknown column 'j'
calls().join(rates(), on={"k": "j"})  # -> on= of the right names the unknown column 'j'
calls().join(rates(), on=3)  # -> on= of join() is 3; expected names, or pairs
calls().join(rates(), on=[1])  # -> on= of join() is [1]; expected names, or pairs
calls().join(rates(), on=[("k", "k", "x")])  # -> expected names, or pairs of a name
calls().join(calls(), on="m")  # -> on= names 'm', which is list
calls().join(rates(), on={"k": "x"})  # -> on= names columns of types that cannot be equal
calls().join(rates(), on="k", prefix="")  # -> the column 'k' of the right would hide one of the left
calls().join(rates(), on="k", stamp="mean")  # -> stamp is 'mean'; expected 'min', 'max', 'left' or 'right'
calls().join(rates(), on="k", how="outer")  # -> how is 'outer'; expected 'inner', 'left', 'asof' or 'at'
calls().join(rates(TIMES), on="k")  # -> whose times are int64 and one of timestamp
calls().union(rates())  # -> with the columns ['k', 'x', 'm'] and one with ['k', 'x']
calls().select(x="k").union(rates().select("x"))  # -> columns of one name are of types that do not go together
calls().difference(calls())  # -> by= names 'm', which is list
calls().distinct(keep=True)  # -> names 'm', which is list
calls().distinct()  # -> names 'm', which is list
calls().aggregate(by="j", n=ff.Count())  # -> by= of aggregate ... names the unknown column 'j'
calls().aggregate(ts=ff.Count())  # -> the output 'ts' would hide a time of rows
calls().aggregate(ff.Count())  # -> without a name
calls().aggregate(s=ff.Sum("y"))  # -> names the unknown column 'y'
calls().at("2026-05-01")  # -> at() is '2026-05-01', but the time ... is an integer
calls().states(0)  # -> every is 0; expected a duration above zero
rates(TIMES).states(3)  # -> every is 3, but the time
""")
def test_what_is_wrong_is_said(call: str, said: str) -> None:
    require(call, said, globals())
