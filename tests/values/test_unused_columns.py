"""Columns that Arrow does not take are no hindrance where a query does not use them, and are named where it does."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.sources import Source

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

GOOD: dict[str, Any] = {"t": [1, 2, 8], "k": ["a", "b", "a"], "x": [1.5, 2.0, 4.0]}
LONG = decimal.Decimal(10**38)


class Own:
    """A value of a class of a user's."""


def of_polars(**columns: Any) -> Any:
    return polars.DataFrame({**GOOD, **columns})


def of_pandas(bad: Any) -> Any:
    return pandas.DataFrame({**GOOD, "bad": bad})


BAD: dict[str, Callable[[], Any]] = {
    "Polars Int128": lambda: of_polars(bad=polars.Series([1, 2, 3], dtype=polars.Int128)),
    "Polars objects": lambda: of_polars(bad=polars.Series([Own()] * 3, dtype=polars.Object)),
    "text and numbers": lambda: of_pandas(["a", 1, None]),
    "objects": lambda: of_pandas([Own()] * 3),
    "complex numbers": lambda: of_pandas([1j, 2j, 3j]),
    "lists and numbers": lambda: of_pandas([[1], 2, None]),
    "decimals of 78 digits": lambda: of_pandas([LONG, decimal.Decimal("0." + "1" * 39), None]),
    "intervals of pandas": lambda: of_pandas(pandas.interval_range(0, 3).astype(object)),
    "an index of pandas": lambda: pandas.DataFrame(GOOD, index=pandas.Index(["a", 1, None], name="bad")),
}


def ask(events: ff.Events) -> list[Any]:
    found = events.window(ff.tumbling(5)).aggregate(x=ff.Sum("x"), last=ff.Last("k"))
    rows: list[Any] = found.select(["x", "last"]).to_pylist()
    return rows


EXPECTED = [{"x": 1.5, "last": "a"}, {"x": 4.0, "last": "a"}, {"x": 2.0, "last": "b"}]


@pytest.mark.parametrize("what", BAD)
def test_what_is_not_used_is_no_hindrance(what: str) -> None:
    """Nor in a picture, and beside expressions of Polars."""
    pytest.importorskip("drawsvg")
    data = BAD[what]()
    events = ff.events(data, time="t", by="k")
    assert ask(events) == ask(events.where(pc.field("x") > 0)) == EXPECTED
    doubled = events.window(ff.tumbling(5)).aggregate(x=ff.Sum(pc.field("x") * 2))
    assert doubled["x"].to_pylist() == [3.0, 8.0, 4.0]
    both = ff.together(a=events, b=ff.events(pa.table(GOOD), time="t", by="k"))
    assert both.window(ff.tumbling(5)).aggregate(x=ff.Sum("a.x"))["x"].to_pylist() == [1.5, 4.0, 2.0]
    assert "<svg" in ff.tumbling(5).draw(ff.events(BAD[what](), time="t", by="k")).as_svg()
    if what.startswith("Polars"):
        some = events.where(pc.field("x") > 1.5).window(ff.tumbling(5))
        assert some.aggregate(x=ff.Sum(polars.col("x") * 2), last=ff.Last("k"))["x"].to_pylist() == [8.0, 4.0]


@pytest.mark.parametrize("what", BAD)
def test_what_is_used_is_named(what: str) -> None:
    data = BAD[what]()
    query = ff.events(data, time="t").window(ff.tumbling(5))
    uses: dict[str, Callable[[], Any]] = {
        r"n=Last\('bad'\)": lambda: query.aggregate(n=ff.Last("bad")),
        "by=": lambda: ff.events(data, time="t", by="bad").window(ff.tumbling(5)).aggregate(n=ff.Count()),
        "time=": lambda: ff.events(data, time="bad").window(ff.tumbling(5)).aggregate(n=ff.Count()),
        "ties=": lambda: ff.events(data, time="t", ties="bad").window(ff.tumbling(5)).aggregate(n=ff.Count()),
        r"the condition .* of where\(\)": lambda: ff.events(data, time="t").where(pc.field("bad").is_valid()),
        "the input .*bad.*": lambda: query.aggregate(n=ff.Count(pc.field("bad").is_valid())),
        "the query": lambda: ff.events(data, time="t").dropped(),
    }
    for user, use in uses.items():
        with pytest.raises(ff.ColumnError, match=f"^{user} names 'bad', which Arrow does not take \\(.*; expected"):
            use()


def test_an_index_that_is_the_time() -> None:
    index = pandas.DatetimeIndex([dt.datetime(2026, 1, day) for day in (1, 2, 3)], name="at")
    data = pandas.DataFrame({"x": [1, 2, 3], "bad": ["a", 1, None]}, index=index)
    found = ff.events(data, time="at").window(ff.tumbling("7 days")).aggregate(x=ff.Sum("x"))
    assert sum(found["x"].to_pylist()) == 6


def test_only_what_is_used_is_converted() -> None:
    table = pa.table({**GOOD, "unused": [["a"]] * 3})
    for data in (table, polars.from_arrow(table), table.to_pandas(), duckdb.from_arrow(table)):
        assert Source(data).batches(["x", "t"]).schema.names == ["x", "t"]


def test_decimals_of_39_digits(tmp_path: Any) -> None:
    table = pa.table({**GOOD, "bad": pa.array([LONG] * 3)})
    assert table.schema.field("bad").type == pa.decimal256(39, 0)
    pq.write_table(table, tmp_path / "a.parquet")
    for data in (table, table.to_batches()[0], table.to_reader(), ff.parquet(str(tmp_path))):
        assert ask(ff.events(data, time="t", by="k")) == EXPECTED
    with pytest.raises(ff.ColumnError, match=r"'bad' is decimal256\(39, 0\)"):
        ff.events(table, time="t").window(ff.tumbling(5)).aggregate(n=ff.Sum("bad"))


def test_types_of_duckdb() -> None:
    data = duckdb.sql(
        "select *, 170141183460469231731687303715884105727::hugeint h, uuid() u, '101'::bit b, interval 1 month i, "
        "union_value(a := 1) un, '12:00:00+01'::timetz z, 1::bignum v from (values (1, 'a', 1.5), (2, 'b', 2.0), "
        "(8, 'a', 4.0)) _(t, k, x)"
    )
    found = ff.events(data, time="t", by="k").window(ff.tumbling(5)).aggregate(x=ff.Sum("x"), last=ff.Last("k"))
    assert [(float(row["x"]), row["last"]) for row in found.to_pylist()] == [(1.5, "a"), (4.0, "a"), (2.0, "b")]
    with pytest.raises(ff.ColumnError, match="by= names 'un', which is sparse_union"):
        ff.events(data, time="t", by="un").window(ff.tumbling(5)).aggregate(n=ff.Count())


UNMADE = {
    "a union": pa.UnionArray.from_dense(
        pa.array([0] * 3, pa.int8()), pa.array(range(3), pa.int32()), [pa.array([1, 2, 3])]
    ),
    "UUIDs in lists": pa.array([[b"a" * 16], None, []], pa.list_(pa.binary(16))).cast(pa.list_(pa.uuid())),
}


@pytest.mark.parametrize("kind", UNMADE)
def test_values_that_arrow_does_not_make_block_no_condition_and_no_expression(kind: str) -> None:
    events = ff.events(pa.table({**GOOD, "bad": UNMADE[kind]}), time="t", by="k")
    assert ask(events.where(pc.field("x") > 0)) == EXPECTED
    doubled = events.window(ff.tumbling(5)).aggregate(x=ff.Sum(pc.field("x") * 2))
    assert doubled["x"].to_pylist() == [2 * row["x"] for row in EXPECTED]
    with pytest.raises(ff.ColumnError, match=r"^Last\('bad'\) keeps values of .*, which Arrow does not make; expected"):
        events.window(ff.tumbling(5)).aggregate(x=ff.Last("bad"))
    sentence = r"^a relation has all columns, and 'bad' is .*, of which Arrow makes no value"
    with pytest.raises(ff.ColumnError, match=sentence):
        events.window(ff.tumbling(5)).relation()


def test_two_columns_of_one_name() -> None:
    rows = [[1, "a", 1.5, 0, 0], [2, "b", 2.0, 0, 0], [8, "a", 4.0, 0, 0]]
    data = pandas.DataFrame(rows, columns=[*GOOD, "no", "no"])
    events = ff.events(data, time="t", by="k")
    assert ask(events) == EXPECTED
    both = ff.together(a=events, b=events).window(ff.tumbling(50)).aggregate(x=ff.Sum("a.x"), n=ff.Count("b.x"))
    assert both.select(["x", "n"]).to_pylist() == [{"x": 5.5, "n": 2}, {"x": 2.0, "n": 1}]
    with pytest.raises(ff.ColumnError, match=r"^a relation has all columns, and 2 are called 'no'; expected one$"):
        events.window(ff.tumbling(5)).relation()
