"""What is wrong with a relation is said at once, in a sentence that names the argument or column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

TABLE = pa.table({"t": [0, 1], "k": ["a", "b"], "x": [1, 2], "m": [[1], [2]]})
LASTING = pa.table({"from": [0, 5], "to": pa.array([5, None], pa.int64()), "k": ["a", "a"], "x": [1, 2]})
TIMES = LASTING.set_column(0, "from", pa.array([dt.datetime(2026, 1, 1)] * 2)).set_column(
    1, "to", pa.array([None, None], pa.timestamp("us"))
)


def events(windows: Any, **more: Any) -> Any:
    return ff.events(TABLE, time="t", **more).window(windows).relation()


def calls() -> Any:
    return events(ff.sliding(4, every=1))


def rates(table: pa.Table = LASTING) -> Any:
    return ff.relation(table, valid_from="from", valid_to="to")


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "around": (lambda: events(ff.around(rows=(-1, 0))), "no rule says from when to when an event is in them; expected"),
    "sessions": (
        lambda: events(ff.session(3)),
        "no rule says from when to when an event is in them; expected ff.sliding",
    ),
    "policies": (lambda: events(ff.policy(ff.by_delta("x", 2))), "no rule says from when to when"),
    "two windows": (
        lambda: ff.events(TABLE, time="t").window(ff.tumbling(1), ff.tumbling(2)).relation(),
        "is of 2 kinds of windows",
    ),
    "min_fill": (lambda: events(ff.last_rows(2, min_fill="full")), "are of results; expected none for a relation"),
    "min_samples": (lambda: events(ff.tumbling(2, min_samples=2)), "min_samples and fill_from are of results"),
    "strict steps": (lambda: events(ff.last_rows(4, 2, ties="strict")), "ties='strict' and every=2; expected every=1"),
    "no windows": (lambda: ff.events(TABLE, time="t").relation(), "is given no windows; expected .window"),
    "interval events in windows": (
        lambda: ff.events(LASTING, time="from", until="to").window(ff.tumbling(2)).relation(),
        "have a validity already",
    ),
    "longest": (lambda: ff.events(LASTING, time="from", until="to", longest=3).relation(), "longest= is of interval"),
    "a column called ts": (
        lambda: ff.events(TABLE.append_column("ts", TABLE["x"]), time="t").window(ff.tumbling(1)).relation(),
        "there is a column 'ts', which relations have of their own",
    ),
    "valid_from": (lambda: ff.relation(LASTING, valid_from="fro", valid_to="to"), "'fro'; did you mean 'from'"),
    "valid_to": (lambda: ff.relation(LASTING, valid_from="from", valid_to=3), "valid_to= is 3; expected the name of"),
    "unlike times": (
        lambda: ff.relation(TIMES.set_column(1, "to", pa.array([1, 2])), valid_from="from", valid_to="to"),
        "valid_from= names 'from', which is timestamp",
    ),
    "text as times": (
        lambda: ff.relation(LASTING, valid_from="k", valid_to="to"),
        "timestamps, dates or integers; 'k' is",
    ),
    "one column for both": (
        lambda: ff.relation(LASTING, valid_from="from", valid_to="from"),
        "valid_from= and valid_to= both name 'from'; expected two columns",
    ),
    "floats as ends": (
        lambda: rates(pa.table({"from": [1], "to": [2.0]})),
        "valid_to= needs a column of timestamps, dates or integers; 'to' is double",
    ),
    "ts of another type": (
        lambda: ff.relation(TIMES.append_column("at", LASTING["x"]), valid_from="from", valid_to="to", ts="at"),
        r"valid_from= names 'from', which is timestamp\[us\], and ts= 'at', which is int64; expected one type",
    ),
    "an end before": (
        lambda: rates(pa.table({"from": [3], "to": [2]})).rows(),
        "events end no later than they start, the first from 3 to 2",
    ),
    "a null begin": (
        lambda: rates(pa.table({"from": pa.array([None], pa.int64()), "to": [2]})).rows(),
        "valid_from= names 'from', which is null in 1 of 1 rows; expected an instant for every row$",
    ),
    "an unknown column in where": (lambda: calls().where("y > 1"), "names the unknown column 'y'; "),
    "SQL": (lambda: calls().where("x >"), "the expression 'x >' is no SQL of one value: "),
    "a number beyond all": (lambda: calls().where(f"x = {'9' * 39}"), "and it has 39 digits; expected at most 38"),
    "a condition that divides by zero": (
        lambda: rates().where(pc.divide(pc.field("x"), 0) > 1).rows(),
        r"the condition .* of where\(\) does not fit the columns: divide by zero",
    ),
    "a column that divides by zero": (
        lambda: calls().select(y=pc.divide(pc.field("x"), 0)).rows(),
        r"a column of select\(\) does not fit the columns: divide by zero",
    ),
    "no condition": (lambda: calls().where(3), r"where\(\) of a relation of this process is given a builtins.int"),
    "an unknown column in select": (lambda: calls().select("y"), r"select\(\) names the unknown column 'y'"),
    "a reserved name": (lambda: calls().select("k", ts="x"), "computes 'ts', which is another column"),
    "an expression": (
        lambda: calls().select(y=pc.field("q") + 1),
        r"a column of select\(\) names the unknown column 'q'",
    ),
    "no expression": (lambda: calls().select(y=3), r"select\(\) is given y=3; expected SQL"),
    "no relation": (lambda: calls().join(TABLE, on="k"), r"join\(\) is given .*; expected a relation"),
    "on": (lambda: calls().join(rates(), on="j"), "on= of the left names the unknown column 'j'"),
    "on of the right": (lambda: calls().join(rates(), on={"k": "j"}), "on= of the right names the unknown column 'j'"),
    "on of nothing": (lambda: calls().join(rates(), on=3), r"on= of join\(\) is 3; expected names, or pairs"),
    "on of numbers": (lambda: calls().join(rates(), on=[1]), r"on= of join\(\) is \[1\]; expected names, or pairs"),
    "on of three": (lambda: calls().join(rates(), on=[("k", "k", "x")]), "expected names, or pairs of a name"),
    "on of lists": (lambda: calls().join(calls(), on="m"), "on= names 'm', which is list"),
    "on of unlike types": (
        lambda: calls().join(rates(), on={"k": "x"}),
        "on= names columns of types that cannot be equal",
    ),
    "prefix": (
        lambda: calls().join(rates(), on="k", prefix=""),
        "the column 'k' of the right would hide one of the left",
    ),
    "stamp": (
        lambda: calls().join(rates(), on="k", stamp="mean"),
        "stamp is 'mean'; expected 'min', 'max', 'left' or 'right'",
    ),
    "how": (lambda: calls().join(rates(), on="k", how="outer"), "how is 'outer'; expected 'inner', 'left' or 'asof'"),
    "times that differ": (lambda: calls().join(rates(TIMES), on="k"), "whose times are int64 and one of timestamp"),
    "columns that differ": (
        lambda: calls().union(rates()),
        r"with the columns \['k', 'x', 'm'\] and one with \['k', 'x'\]",
    ),
    "types that differ": (
        lambda: calls().select(x="k").union(rates().select("x")),
        "columns of one name are of types that do not go together",
    ),
    "difference of lists": (lambda: calls().difference(calls()), "by= names 'm', which is list"),
    "distinct of lists": (lambda: calls().distinct(), "names 'm', which is list"),
    "distinct kept of lists": (lambda: calls().distinct(keep=True), "names 'm', which is list"),
    "an unknown group": (
        lambda: calls().aggregate(by="j", n=ff.Count()),
        "by= of aggregate.* names the unknown column 'j'",
    ),
    "an output of a reserved name": (
        lambda: calls().aggregate(ts=ff.Count()),
        "the output 'ts' would hide a time of rows",
    ),
    "an output without a name": (lambda: calls().aggregate(ff.Count()), "without a name"),
    "an output of an unknown column": (lambda: calls().aggregate(s=ff.Sum("y")), "names the unknown column 'y'"),
    "an instant": (lambda: calls().at("2026-05-01"), r"at\(\) is '2026-05-01', but the time .* is an integer"),
    "a step": (lambda: calls().states(0), "every is 0; expected a duration above zero"),
    "a step of another kind": (lambda: rates(TIMES).states(3), "every is 3, but the time"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str) -> None:
    ask, sentence = CASES[case]
    with pytest.raises(ff.FramefoldError, match=sentence):
        ask()
