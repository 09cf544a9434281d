"""Relations of what users have: floats as keys, ends and times that are null, several zones, no columns."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import framefold as ff

from .test_joins import by_duckdb, merged
from .test_relations import interpreted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = float("nan")
ENDS = pa.array([3, None, 6, 9, 12], pa.int64())
FLOATS = pa.table(
    {"id": range(5), "k": [0.0, NAN, -0.0, None, 2.5], "x": range(5), "from": [0, 2, 4, 5, 7], "to": ENDS}
)
OTHERS = pa.table(
    {"id": range(5), "k": [NAN, -0.0, 2.5, None, 1.0], "x": range(5), "from": [1, 2, 3, 4, 5], "to": ENDS}
)
HOWS: list[Any] = ["inner", "left", "asof"]


def text(rows: Any) -> list[Any]:
    """Rows in which NaN is equal to itself, as -0.0 is to 0.0."""
    found = [[value + 0.0 if isinstance(value, float) else value for value in row] for row in rows]
    return [tuple("NaN" if value != value else value for value in row) for row in found]


def relation(table: Any, **more: Any) -> Any:
    return ff.relation(table, valid_from="from", valid_to="to", **more)


def joined(left: Any, right: Any, how: Any) -> Any:
    left, right = (relation(each).select("k", "x") for each in (left, right))
    return left.join(right, on="k", prefix="r_", how=how).rows()


def expected(how: str) -> Counter[Any]:
    """DuckDB's join: a NaN is equal to a NaN there too."""
    found = by_duckdb(FLOATS, OTHERS, how, "l.k = r.k")
    return Counter({text([change])[0]: count for change, count in found.items()})


@pytest.mark.parametrize("how", HOWS)
def test_floats_as_keys(how: Any) -> None:
    assert merged(text(row.values() for row in joined(FLOATS, OTHERS, how).to_pylist())) == expected(how)


@pytest.mark.slow
def test_floats_as_keys_and_rows_without_a_time_on_spark(spark: SparkSession) -> None:
    """A NaN is no null; as-of, a row without a time of its own matches none, and is none's match."""
    from pyspark.sql import functions as f

    left, right = (spark.createDataFrame(each) for each in (FLOATS, OTHERS))
    frames = [joined(left, right, how).select(f.lit(how).alias("how"), "*") for how in HOWS]
    timed = spark.createDataFrame(UNTIMED)
    found = ff.relation(timed, valid_from="from", valid_to="to", ts="at").join(
        ff.relation(timed, valid_from="from", valid_to="to", ts="at"), on="k", prefix="r_", how="asof"
    )  # fmt: skip
    last = found.rows().selectExpr("'ts'", "double(k)", "ts", "double(r_k)", "r_x", "valid_from", "valid_to")
    with interpreted(spark, 1):
        rows = frames[0].union(frames[1]).union(frames[2]).union(last).collect()
    for how in HOWS:
        assert merged(text(row[1:] for row in rows if row[0] == how)) == expected(how)
    assert sorted(tuple(row[i] for i in (2, 4)) for row in rows if row[0] == "ts" and row[2] is not None) == AS_OF
    assert [row[4] for row in rows if row[0] == "ts" and row[2] is None] == [None]


UNTIMED = pa.table(
    {"k": [1, 1, 1], "x": [10, 20, 30], "from": [0, 1, 2], "to": [1, 4, 5], "at": pa.array([None, 3, 2], pa.int64())}
)
AS_OF = [(2, 30), (3, 20)]
"""The time of each row that has one, and the x of the last one of the other side."""


def test_rows_without_a_time_of_their_own() -> None:
    rows = relation(UNTIMED, ts="at")
    found = rows.join(rows, on="k", prefix="r_", how="asof").rows().to_pylist()
    assert sorted((row["ts"], row["r_x"]) for row in found if row["ts"] is not None) == AS_OF
    assert [row["r_x"] for row in found if row["ts"] is None] == [None]
    assert rows.rows()["ts"].to_pylist() == [None, 3, 2]
    latest = [tuple(row.values()) for row in rows.distinct("k").rows().to_pylist()]
    assert latest == [(1, None, 0, 1), (1, 3, 1, 4), (1, 2, 4, 5)]
    pairs = rows.where("x = 10").join(rows.where("x = 20").select("k"), on=None, how="left")
    assert relation(pairs.rows().rename_columns(["at", "k", "x", "r", "from", "to"]), ts="at").rows().num_rows == 1


@pytest.mark.parametrize("table", [
    pa.table({"from": [0, 2], "to": pa.nulls(2), "k": ["a", "b"]}),
    pl.DataFrame({"from": [0, 2], "to": [None, None], "k": ["a", "b"]}),
    pd.DataFrame({"from": [0, 2], "to": [None, None], "k": ["a", "b"]}),
], ids=["arrow", "polars", "pandas"])  # fmt: skip
def test_ends_that_are_all_null(table: Any) -> None:
    rows = relation(table).rows()
    assert rows.schema.field("valid_to").type == pa.int64()
    assert rows["valid_to"].to_pylist() == [None, None]


def test_ends_that_are_all_null_on_spark(spark: SparkSession) -> None:
    df = spark.sql("select timestamp'2026-01-01' as `from`, null as `to`, 1 as k")
    found = relation(df).rows()
    assert found.schema["valid_to"].dataType == found.schema["valid_from"].dataType
    assert [row.valid_to for row in found.collect()] == [None]


def test_several_zones() -> None:
    """Instants are the same in all zones; those of the left count for results. One without a zone is in theirs."""
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    at = pa.array([dt.datetime(2026, 5, 1, tzinfo=dt.UTC)], pa.timestamp("us", tz="UTC"))
    table = pa.table({"from": at.cast(pa.timestamp("ms", tz="Europe/Berlin")), "to": pa.nulls(1, at.type), "k": [1]})
    left, right = relation(table), relation(table.set_column(0, "from", at))
    found = left.join(right, on="k").rows()
    assert found.schema.field("valid_from").type == pa.timestamp("us", tz="Europe/Berlin")
    assert found["valid_from"].to_pylist() == [dt.datetime(2026, 5, 1, tzinfo=dt.UTC)]
    assert left.union(right).distinct().rows().num_rows == 1
    assert left.difference(right).rows().num_rows == 0
    local: Any
    for local in ("2026-05-01T02:00", dt.datetime(2026, 5, 1, 2), pd.Timestamp("2026-05-01 02:00")):
        assert left.at(local).num_rows == 1
    for local in ("2026-05-01T01:59", dt.datetime(2026, 5, 1, 1, 59), dt.datetime(2026, 5, 1, 1, 59, tzinfo=berlin)):
        assert left.at(local).num_rows == 0


def test_rows_of_times_alone() -> None:
    rows = relation(pa.table({"from": [0, 1], "to": [2, 3]}))
    assert [rows.at(instant).num_rows for instant in range(4)] == [1, 2, 1, 0]
    assert rows.states(1)["at"].to_pylist() == [0, 1, 1, 2]
    assert rows.distinct().rows().to_pylist() == [{"valid_from": 0, "valid_to": 3}]
    assert [row["weight"] for row in rows.changes().to_pylist()] == [1, 1, -1, -1]


def test_a_key_named_twice() -> None:
    left = relation(pa.table({"a": [1, 2], "from": [0, 0], "to": [9, 9]}))
    right = relation(pa.table({"b": [1, 2], "c": [1, 3], "from": [0, 0], "to": [9, 9]}))
    pairs = left.join(right, on=[("a", "b"), ("a", "c")], prefix="").rows().to_pylist()
    assert [(row["a"], row["b"], row["c"]) for row in pairs] == [(1, 1, 1)]
    assert left.join(left, on=["a", "a"]).rows().num_rows == 2


@pytest.mark.parametrize("of", ["x", "f"])
def test_remainders(of: str) -> None:
    """As in Spark, of the sign of the dividend; exact beyond 2**53."""
    values: dict[str, list[Any]] = {"x": [7, -7, (1 << 60) + 1, None], "f": [5.5, -5.5, 0.25, None]}
    table = pa.table({of: values[of], "from": [0] * 4, "to": [1] * 4})
    wanted = {"x": [1, -1, ((1 << 60) + 1) % 3, None], "f": [2.5, -2.5, 0.25, None]}
    assert relation(table).select(y=f"{of} % 3").rows()["y"].to_pylist() == wanted[of]
