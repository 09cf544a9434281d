"""Windows that cannot be: each refused at once, in a sentence that says what was found and what to use instead."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

TABLE = pa.table(
    {
        "t": [1, 2, 3],
        "end": [4, 5, 6],
        "v": [1.0, 2.0, 3.0],
        "name": ["a", "b", "c"],
        "ts": pa.array([dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3)], pa.timestamp("us", "UTC")),
        "naive": pa.array([dt.datetime(2026, 1, day) for day in (1, 2, 3)], pa.timestamp("us")),
        "day": pa.array([dt.date(2026, 1, day) for day in (1, 2, 3)]),
    }
)
ANCHORS = pa.table({"a": [0, 2], "b": [2, 1], "k": ["x", "y"], "n": pa.array([1, None]), "d": TABLE["day"][:2]})


def ask(window: Any, *, time: str = "t", **options: Any) -> Any:
    return ff.events(TABLE, time=time, **options).window(window).aggregate(n=ff.Count())


def anchored(**arguments: Any) -> Any:
    return ff.windows_from(ANCHORS, **{"start": "a", "end": "b"} | arguments)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "half a month": (lambda: ask(ff.tumbling("1 month 2 days"), time="ts"), "mixes months with other units"),
    "months and days": (lambda: ask(ff.sliding("1 month", "1 day"), time="ts"), "expected both in months"),
    "months of integers": (lambda: ask(ff.tumbling("1 month")), "expected an integer such as 60"),
    "hours of a zone": (
        lambda: ask(ff.tumbling("5 hours", timezone="Europe/Berlin"), time="ts"),
        "expected whole days or weeks, months, quarters or years, or no timezone",
    ),
    "a zone for naive times": (
        lambda: ask(ff.tumbling("1 day", timezone="Europe/Berlin"), time="naive"),
        "has no zone; expected no timezone",
    ),
    "no such zone": (lambda: ask(ff.tumbling("1 day", timezone="Mars/Base"), time="ts"), "expected the name of a zone"),
    "a month's offset in days": (
        lambda: ask(ff.tumbling("1 month", offset="2 days"), time="ts"),
        "expected months, such as '3 months'",
    ),
    "no months": (
        lambda: ask(ff.tumbling("0 months"), time="ts"),
        "size is '0 months'; expected a duration above zero",
    ),
    "an alignment not in UTC": (
        lambda: ask(ff.tumbling("1 day", offset=dt.datetime(2026, 1, 1, 9)), time="ts"),
        "which is not in UTC; expected a time in UTC",
    ),
    "an alignment of integers": (
        lambda: ask(ff.tumbling(5, offset=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))),
        "expected a duration since the epoch",
    ),
    "min_fill": (lambda: ff.tumbling(5, min_fill="half"), "min_fill is 'half'; expected 'partial' or 'full'"),
    "emit": (lambda: ff.tumbling(5, emit="never"), "emit is 'never'; expected 'every' or 'on_change'"),
    "stamp": (lambda: ff.tumbling(5, stamp="now"), "stamp is 'now'; expected 'interval', 'end' or 'start'"),
    "cumulating in part": (lambda: ask(ff.cumulating(5, 2)), "expected a size in whole steps"),
    "no gap": (lambda: ask(ff.session(0)), "gap is 0; expected a duration above zero"),
    "no longest": (lambda: ask(ff.session(2, longest=0)), "longest is 0; expected a duration above zero"),
    "lives of no length": (lambda: ask(ff.tumbling(5), until="end", longest=0), "longest is 0; expected a duration"),
    "lives without an end": (lambda: ask(ff.tumbling(5), longest=3), "expected it only for interval events (until=)"),
    "lives too long": (
        lambda: ask(ff.tumbling(5), until="end", longest=2**63),
        "longest is 9223372036854775808; expected a duration that fits int64",
    ),
    "merge_touching": (lambda: ff.session(1, merge_touching="yes"), "expected True or False"),
    "landmark after its end": (lambda: ask(ff.landmark(5, 3, every=1)), "expected since before until"),
    "landmark of another kind": (lambda: ask(ff.landmark("2026-01-01", every=1)), "expected an integer"),
    "landmark without a zone": (
        lambda: ask(ff.landmark(dt.datetime(2026, 1, 1), every="1 day"), time="ts"),
        "expected a time with a zone such as '2026-01-31T09:00Z'",
    ),
    "landmark with a stamp for each event": (lambda: ff.landmark(stamp="end"), "expected stamp only with every="),
    "no rows": (lambda: ff.last_rows(0), "n is 0; expected an integer of 1 or more"),
    "half a row": (lambda: ff.last_rows(2, every=0.5), "every is 0.5; expected an integer of 1 or more"),
    "ties": (
        lambda: ff.last_rows(2, ties="any"),
        "ties is 'any'; expected 'arrival' for rows in their order, 'distinct_time' for n times with all their rows or "
        "'strict' for whole times with at most n rows together",
    ),
    "around nothing": (lambda: ff.around(), "neither rows nor time; expected one of them"),
    "around both": (lambda: ff.around(rows=(0, 1), time=(0, 1)), "both rows and time; expected one of them"),
    "around one end": (lambda: ff.around(rows=(1,)), "rows is (1,); expected a pair"),
    "around half a row": (lambda: ff.around(rows=(0, 0.5)), "expected two integers"),
    "around no row": (lambda: ask(ff.around(rows=(0, 0), closed="neither")), "which has no row; expected some"),
    "full windows of time": (lambda: ff.around(time=(0, 1), min_fill="full"), "expected it only with rows="),
    "a punctuation": (lambda: ff.policy(evict="punct"), "expected ff.by_count(n), ff.by_time(t) or ff.by_delta"),
    "empty windows of counts": (
        lambda: ff.policy(ff.by_count(2), empty="emit"),
        "empty is 'emit' with the trigger count(1); expected it only with ff.by_time(t)",
    ),
    "delta of names": (lambda: ask(ff.policy(ff.by_delta("name", 1))), "which is string; expected a column of numbers"),
    "delta below zero": (lambda: ask(ff.policy(ff.by_delta("v", -1))), "expected a number of 0 or more"),
    "delta of an unknown column": (
        lambda: ask(ff.policy(ff.by_delta("w", 1))),
        "by_delta() names the unknown column 'w'",
    ),
    "a duration of numbers": (lambda: ask(ff.policy(ff.by_delta("v", "1 second"))), "expected a number of 0 or more"),
    "a number for times": (lambda: ask(ff.policy(ff.by_delta("ts", 1))), "expected a duration such as '1 hour'"),
    "anchors without the column": (lambda: anchored(end="c"), "end names 'c', which the anchors lack"),
    "anchors that end before they start": (lambda: ask(anchored()), "1 windows that end before they start"),
    "anchors without a time": (lambda: ask(anchored(end="n")), "is null in 1 rows; expected a time in every row"),
    "anchors of another kind": (lambda: ask(anchored(end="d")), "is date32[day], and the time 't' is an integer"),
    "anchors with too many keys": (
        lambda: ask(anchored(end="a", by="k")),
        "the anchors have 1 keys and the events 0; expected as many",
    ),
    "anchors with other keys": (
        lambda: ask(anchored(end="a", by="a"), by="name"),
        "the anchors' key 'a' is int64, and 'name' is string; expected one type",
    ),
    "sessions of intervals": (lambda: ask(ff.session(1), until="end"), "not defined for interval events (until='end')"),
    "rows of intervals": (lambda: ask(ff.last_rows(1), until="end"), "expected ff.sliding, ff.tumbling, ff.cumulating"),
    "snapshots of points": (
        lambda: ask(ff.snapshot()),
        "these windows are of interval events; expected ff.events(...,",
    ),
    "lives of points": (
        lambda: ff.events(TABLE, time="t").window(ff.tumbling(5)).aggregate(n=ff.Covered()),
        "is of interval events only; expected ff.events(..., until=)",
    ),
    "lives in several kinds": (
        lambda: ff.events(TABLE, time="t", until="end").window(ff.tumbling(5), ff.snapshot()).aggregate(n=ff.Covered()),
        "2 kinds of windows; expected a query for each",
    ),
    "lives that end before they start": (
        lambda: ask(ff.tumbling(5), time="end", until="t"),
        "3 of 3 events end no later",
    ),
    "ends of another type": (lambda: ask(ff.tumbling(5), until="day"), "expected the type of 't', int64"),
    "an output called at": (
        lambda: ff.events(TABLE, time="t").window(ff.landmark()).aggregate(at=ff.Count()),
        "the output 'at' would hide the column 'at'",
    ),
    "ties by what has no order": (
        lambda: (
            ff.events(TABLE.append_column("l", pa.array([[1]] * 3)), time="t", ties="l")
            .window(ff.tumbling(1))
            .aggregate(n=ff.Count())
        ),
        "ties= names 'l', which is list",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_sentence(case: str) -> None:
    wrong, said = WRONG[case]
    with pytest.raises(ff.QueryError) as caught:
        wrong()
    sentence = str(caught.value)
    assert said in sentence
    assert "\n" not in sentence
    assert not sentence.endswith(".")


def test_null_in_a_column_that_windows_are_made_by() -> None:
    table = pa.table({"t": [1, 2], "v": [1.0, None]})
    with pytest.raises(ff.ColumnError, match="'v', which the windows are made by, is null in 1 of 2 events; expected"):
        ff.events(table, time="t").window(ff.policy(ff.by_delta("v", 1))).aggregate(n=ff.Count())
