"""The local engine: batches of any size, by any number of threads, of one input or several, give one answer."""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.plans import BoundAggregate, bind, is_library_code
from ..support.sources import Readers, accumulate_reader, by_key_and_time, in_order, of_one_size
from ..support.toys import Joined, Total


def events(rows: int) -> pa.Table:
    chance = np.random.default_rng(rows)
    return pa.table(
        {
            "t": chance.integers(-50, 50, rows),
            "k": chance.choice(["a", "b", "c"], rows),
            "x": chance.integers(-99, 99, rows),
            "s": [f"{row};" for row in range(rows)],
        }
    )


def aggregate(data: Any, **outputs: Any) -> pa.Table:
    chosen = outputs or {"n": ff.Count(), "s": ff.Sum("x"), "last": ff.Last("s"), "low": ff.Min("s")}
    return ff.events(data, time="t", by="k").window(ff.sliding(7, 2)).aggregate(**chosen)


def test_of_one_size_puts_small_batches_together_and_cuts_large_ones(limit: Callable[..., None]) -> None:
    limit(batch_rows=10)
    table = pa.table({"t": range(47)})
    for size in (1, 3, 10, 25, 47):
        made = list(of_one_size(table.to_reader(max_chunksize=size)))
        assert pa.concat_tables(made).equals(table)
        assert all(10 <= len(each) < 20 for each in made[:-1])
    assert list(of_one_size(table.slice(0, 0).to_reader())) == []


ROW = st.tuples(st.sampled_from(["b", "a", None]), st.integers(0, 4), st.integers(0, 2))


@given(st.lists(ROW, min_size=1, max_size=30), st.booleans(), st.booleans())
def test_events_by_key_and_time_keep_ties_as_they_came(rows: list[Any], sort: bool, numbered: bool) -> None:
    rows = sorted(rows, key=lambda row: row[1]) if sort else rows
    schema = pa.schema({"k": pa.string(), "t": pa.int64(), "tie": pa.int64(), "s": pa.string()})
    table = pa.Table.from_pylist(
        [{"k": k, "t": t, "tie": tie, "s": str(place)} for place, (k, t, tie) in enumerate(rows)], schema
    )
    windows = ff.last_rows(3) if numbered else ff.tumbling(1)
    for ties in ([], ["tie"]):
        query = bind(schema, time="t", by=["k"], ties=ties, window=windows, outputs={"j": Joined("s")})
        made = pa.concat_tables(by_key_and_time(table.to_reader(max_chunksize=2), query))
        order = sorted(range(len(rows)), key=lambda row: (rows[row][0] or "", rows[row][1], rows[row][2] * len(ties)))
        assert made["s"].to_pylist() == list(map(str, order))
        if numbered:
            keys = [rows[row][0] for row in order]
            assert made[query.rank].to_pylist() == [keys[:place].count(key) for place, key in enumerate(keys)]


@pytest.mark.parametrize("ordered", [False, True])
def test_null_times_are_counted_over_all_batches(ordered: bool, limit: Callable[..., None]) -> None:
    limit(batch_rows=2)
    table = pa.table({"t": [None, 1, 2, None, 4, None], "k": ["a"] * 6, "x": range(6), "s": list("abcdef")})
    outputs = {"y": Joined("s")} if ordered else {"y": ff.Sum("x")}
    with pytest.raises(ff.NullTimeError, match="'t' is null in 3 of 6 events"):
        aggregate(table, **outputs)
    dropping = ff.events(table, time="t", by="k", null_time="drop").window(ff.tumbling(10))
    with pytest.warns(ff.DroppedEventsWarning, match="3 of 6 events"):
        result = dropping.aggregate(**outputs)
    assert result["y"].to_pylist() == ["bce" if ordered else 1 + 2 + 4]


def test_no_warning_where_nothing_is_dropped() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ff.events(events(5), time="t", null_time="drop").window(ff.tumbling(10)).aggregate(n=ff.Count())


@pytest.mark.parametrize("outputs", [{"n": ff.Count()}, {"j": Joined("s")}, {"f": ff.Sum("x"), "m": ff.Min("s")}])
def test_no_events(outputs: Any) -> None:
    result = aggregate(events(0).cast(events(1).schema), **outputs)
    assert result.num_rows == 0
    assert result.schema.names == ["k", "window", *outputs]
    assert result.schema.field("window").type == pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])


# Threads: the order of results is that of the items, errors come through, users' functions stay where they are


def test_results_come_in_the_order_of_the_items_and_few_items_wait() -> None:
    taken = 0

    def items() -> Any:
        nonlocal taken
        for number in range(20):
            taken += 1
            yield number

    def slow_at_first(place: int, number: int) -> int:
        assert place == number
        time.sleep(0.01 if number < 3 else 0)
        return number

    found = in_order(slow_at_first, items(), 3)
    assert next(found) == 0
    assert taken <= 5
    assert list(found) == list(range(1, 20))


def test_the_first_error_comes_through_and_the_rest_is_left() -> None:
    def fails_at_two(place: int, number: int) -> int:
        if number >= 2:
            raise ValueError(number)
        return number

    found = in_order(fails_at_two, range(100), 2)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="2"):
        next(found)


class Doubled(Total):
    """A user's sum of doubles, which notes who calls it."""

    callers: set[int] = set()

    def accumulate(self, frames: ff.Frames, x: Any) -> Any:
        self.callers.add(threading.get_ident())
        return {"total": frames.sum(2 * x)}


@pytest.mark.parametrize("own", [{}, {"doubled": Doubled("x")}, {"all": ff.AllOf(doubled=Doubled("x"))}])
def test_the_same_results_in_every_run(own: dict[str, ff.Operation], limit: Callable[..., None]) -> None:
    limit(batch_rows=100)
    chance = np.random.default_rng(3)
    columns = {"t": chance.integers(0, 500, 5000), "k": chance.integers(0, 9, 5000), "x": chance.integers(0, 99, 5000)}
    events = pa.table(columns).append_column("f", pa.array(chance.normal(0, 1e9, 5000)))
    query = ff.events(events, time="t", by="k").window(ff.sliding(100, every=10))
    first, *others = (query.aggregate(n=ff.Count(), x=ff.Sum("f"), m=ff.Max("f"), **own) for _ in range(4))
    assert all(other.equals(first) for other in others)
    assert Doubled.callers <= {threading.get_ident()}


def test_what_calls_a_users_function() -> None:
    number, text = pa.int64(), pa.string()
    assert is_library_code(BoundAggregate("x", ff.Variance("x"), [number]))
    assert is_library_code(BoundAggregate("x", ff.AllOf(a=ff.Sum("x"), b=ff.First("s")), [number, text]))
    assert not is_library_code(BoundAggregate("x", Doubled("x"), [number]))
    assert not is_library_code(BoundAggregate("x", ff.AllOf(a=ff.Sum("x"), b=Doubled("x")), [number, number]))


@pytest.mark.parametrize("threads", [1, 2])
def test_events_are_let_go_of_while_later_ones_are_read(threads: int) -> None:
    schema = pa.schema({"t": pa.int64(), "x": pa.int64()})
    query = bind(schema, time="t", by=[], window=ff.tumbling(10), outputs={"total": ff.Sum("x")})
    made: list[Any] = []
    alive: list[int] = []

    def batches() -> Any:
        for number in range(12):
            alive.append(sum(batch() is not None for batch in made[: max(number - 4, 0) if threads > 1 else number]))
            batch = pa.record_batch({"t": [number], "x": [number]})
            made.append(weakref.ref(batch))
            yield batch
            del batch

    readers = Readers(map(lambda batch: partial(list, [batch]), batches()), threads)  # noqa: C417
    found = in_order(partial(accumulate_reader, query), readers.readers, readers.threads)
    assert sum(events for events, *_ in found) == 12
    assert alive == [0] * 12


# Several inputs in the same windows

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
