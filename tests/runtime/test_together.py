"""Several inputs in the same windows."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

import framefold as ff

ORDERS = pa.table({"at": [1, 2, 9, 25, 12], "shop": ["a", "b", "a", "c", None], "sum": [10, 20, 30, 40, 50]})
VISITS = pa.table({"seen": [0, 3, 4, 11], "place": ["a", "a", "b", None], "people": [1.5, 2.0, None, 4.0]})
RETURNS = pa.table({"t": [8], "s": ["a"], "sum": [7]})


def inputs() -> dict[str, Any]:
    return {
        "orders": ff.events(ORDERS, time="at", by="shop"),
        "visits": ff.events(VISITS, time="seen", by="place"),
        "returns": ff.events(RETURNS, time="t", by="s"),
    }


def test_three_inputs_as_duckdb_unites_them() -> None:
    outputs = {"all": ff.Count(), "sold": ff.Sum("orders.sum"), "people": ff.Average("visits.people")}
    windows = ff.together(**inputs()).window(ff.sliding(10, every=5))
    result = windows.aggregate(**outputs, back=ff.Sum("returns.sum")).to_pylist()
    orders, visits, returns = ORDERS, VISITS, RETURNS  # noqa: F841  # duckdb reads them by name
    expected = duckdb.sql(
        """
        WITH united AS (
          SELECT "at" AS t, shop, sum AS sold, NULL AS people, NULL AS back FROM orders
          UNION ALL SELECT seen, place, NULL, people, NULL FROM visits
          UNION ALL SELECT t, s, NULL, NULL, sum FROM returns
        ), windows AS (SELECT unnest(range(-10, 40, 5)) AS start)
        SELECT shop, start, count(*), sum(sold)::BIGINT, avg(people), sum(back)::BIGINT
        FROM united JOIN windows ON t >= start AND t < start + 10 GROUP BY shop, start
        ORDER BY shop NULLS FIRST, start
        """
    ).fetchall()
    rows = [(row["shop"], row["window"]["start"], *(row[name] for name in (*outputs, "back"))) for row in result]
    assert rows == expected


def test_an_operation_over_columns_of_two_inputs_never_sees_both() -> None:
    both = ff.together(**inputs()).window(ff.tumbling(100))
    parts = ff.AllOf(sold=ff.Sum("orders.sum"), people=ff.Sum("visits.people"))
    assert both.aggregate(x=parts)["x"].to_pylist()[1] == {"sold": 40, "people": 3.5}


def visits(time: str = "seen", by: Any = "place", **more: Any) -> ff.Events:
    return ff.events(VISITS, time=time, by=by, **more)


ORDERED = ff.events(ORDERS, time="at", by="shop")
LASTING = ff.events(pa.table({"a": [0], "b": [2]}), "a", until="b")
POINTS = ff.events(pa.table({"t": [1]}), "t")
WRONG: list[tuple[Any, str]] = [
    (lambda: {"a": ORDERED}, "given 1 inputs; expected two or more"),
    (lambda: {"a": ff.events(ORDERS, time="at"), "b": visits()}, "'b' has 1 keys and 'a' has 0; expected as many"),
    (lambda: {"a": ORDERED, "b": visits("people")}, "'people' of the input 'b' is double, and 'at' of others is int64"),
    (lambda: {"a": ORDERED, "b": visits("x")}, "no column 'x'"),
    (lambda: {"a": ORDERED, "b": visits(null_time="drop")}, "null_time of the input 'b' is 'drop'"),
    (lambda: {"a": POINTS, "b": LASTING}, r"the input 'b' has interval events \(until=\) and 'a' has not; expected"),
    (lambda: {"b": LASTING, "a": POINTS}, r"the input 'b' has interval events \(until=\) and 'a' has not; expected"),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message for _, message in WRONG])
def test_inputs_that_do_not_fit(make: Any, message: str) -> None:
    with pytest.raises(ff.QueryError, match=message):
        ff.together(**make())


def test_interval_events_of_two_inputs() -> None:
    machines = ff.events(pa.table({"on": [0, 6], "off": [4, 9], "watts": [5, 7]}), "on", until="off")
    people = ff.events(pa.table({"came": [3], "left": [8], "desks": [1]}), "came", until="left")
    result = ff.together(machines=machines, people=people).window(ff.snapshot())
    rows = result.aggregate(watts=ff.Sum("machines.watts"), desks=ff.Count("people.desks")).to_pylist()
    expected = [(0, 3, 5, 0), (3, 4, 5, 1), (4, 6, None, 1), (6, 8, 7, 1), (8, 9, 7, 0)]
    assert [(*row["window"].values(), row["watts"], row["desks"]) for row in rows] == expected


def test_ties_are_broken_by_the_columns_of_each_input() -> None:
    left = ff.events(pa.table({"t": [1, 1], "n": [2, 1], "x": ["b", "a"]}), "t", ties="n")
    right = ff.events(pa.table({"t": [1], "n": [3], "x": ["c"]}), "t", ties="n")
    both = ff.together(left=left, right=right).window(ff.tumbling(5))
    assert both.aggregate(x=ff.CollectList("left.x"))["x"].to_pylist() == [["a", "b"]]
