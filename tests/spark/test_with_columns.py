"""``.with_columns`` on Spark: each event's own columns beside its outputs, as the local engine has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

import framefold as ff

from ..support.spark_parts import COMPUTED
from ..support.spark_results import rows
from ..windows.test_with_columns import KINDS, events, expected

OUTPUTS: dict[str, Any] = {
    "total": ff.Sum("x"), "n": ff.Count(), "first": ff.First("id"), "ids": ff.CollectList("id"),
    "twice": ff.Sum(ff.expr("x * 2")),
}  # fmt: skip


def by_id(found: Any) -> list[dict[str, Any]]:
    return sorted(rows(found), key=lambda row: row["id"])


@pytest.mark.cell
@pytest.mark.parametrize("by", ["k", None])
def test_as_locally_and_by_definition(spark: SparkSession, tmp_path: Path, by: str | None) -> None:
    table = events(7)
    pq.write_table(table, tmp_path / "events.parquet")
    df = spark.createDataFrame(table).repartition(3, "id")
    specs = [spec for spec, _ in KINDS.values()]
    wide = {f"{name}{at}": each.over(spec) for at, spec in enumerate(specs) for name, each in OUTPUTS.items()}
    for data in (df, spark.read.parquet(str(tmp_path)), ff.parquet(str(tmp_path), spark=spark)):
        query = ff.events(data, time="t", by=by, ties="id").window()
        where = dict(query.explain_with_columns(**wide).rows)["accumulate, slide, finish"]
        assert by is None or "some keys at a time, lazily" in where
        found = by_id(query.with_columns(**wide))
        assert found == by_id(ff.events(table, time="t", by=by, ties="id").window().with_columns(**wide))
        for number, (_, window) in enumerate(KINDS.values()):
            assert [row[f"ids{number}"] for row in found] == expected(table, window, by), list(KINDS)[number]


def test_it_is_lazy_and_keeps_types_names_and_equal_rows(spark: SparkSession) -> None:
    values = (
        "timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, s) as ts, k as `a.b`, cast(s as smallint) C"
    )
    others = "map('x', 1) as m, cast(1.5 as decimal(7,2)) as d, interval '1' second as i, cast(s as double) as v"
    made = "values (3), (1), (2), (1) as a(s), values ('p'), ('q') as b(k)"
    df = spark.sql(f"select {values}, {others} from {made}")
    failing = df.withColumn("v", f.expr("case when v < 9 then raise_error('it ran') else v end").cast("double"))
    windows = ff.around(time=("-1 second", "0 seconds"))
    outputs = {"n": ff.Count(), "s": ff.Sum("v"), "window": ff.Max("ts")}
    for each in (failing, df):
        query = ff.events(each, time="ts", by="a.b").window(windows)
        found = query.with_columns(**outputs)  # where it were not lazy, the first one would raise
    types = [(each.name, each.dataType) for each in df.schema]
    outs = [("n", t.LongType()), ("s", t.DoubleType()), ("window", t.TimestampType())]
    assert [(each.name, each.dataType) for each in found.schema] == [*types, *outs]
    counts = sorted(tuple(row) for row in found.select("C", "n", "s", "`a.b`", f.col("i").cast("string")).collect())
    wanted = [(1, 2, 2.0), (1, 2, 2.0), (2, 3, 4.0), (3, 2, 5.0)]
    second = "INTERVAL '01' SECOND"
    assert counts == sorted((*each, key, second) for each in wanted for key in "pq")


def test_events_without_a_time_stay(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 2), (2, None), (3, 1)], "id int, t int")
    windows = ff.around(time=(-5, 0))
    found = ff.events(df, time="t", null_time="drop").window(windows).with_columns(n=ff.Count())
    assert sorted(map(tuple, found.collect())) == [(1, 2, 2), (2, None, None), (3, 1, 1)]
    with pytest.raises(Exception, match="the time 't' is null in 1 of 3 events"):
        ff.events(df, time="t").window(windows).with_columns(n=ff.Count()).collect()


@pytest.mark.parametrize("way", [{"combine": "driver"}, {"combine": "executors"}, {"max_driver_partials": 0}])
def test_labels_come_back_in_their_order(spark: SparkSession, way: dict[str, Any]) -> None:
    """Computed once, and beside labels where these are, unless it is to be lazy."""
    table, rng = events(2), np.random.default_rng(3)
    start = rng.integers(-3, 20, 30)
    columns = {"n.o": np.arange(30)[::-1], "k": ["a", "b", "zz"] * 10, "from": start, "to": start + 4, "x": ["u"] * 30}
    labels = pa.table(columns)
    wanted = None
    df, frame = spark.createDataFrame(table), spark.createDataFrame(labels)
    for data, given in ((table, labels), (df, labels), (df, frame)):
        windows = ff.windows_from(given, start="from", end="to", by="k", empty="skip")
        query = ff.events(data, time="t", by="k", ties="id").window(windows)
        found = query.options(**way).with_columns(most=ff.Max("id"), first=ff.First("id"), n=ff.Count())
        assert data is table or (found in COMPUTED) == ("executors" not in way.values())
        wanted = wanted or rows(found)
        assert rows(found) == wanted
    assert [row["n.o"] for row in wanted or []] == columns["n.o"].tolist()


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    df: DataFrame = spark.createDataFrame([(1, 2)], "id int, t int")
    with pytest.raises(ff.QueryError, match="the column 'id' and the output 'ID' differ in case only"):
        ff.events(df, time="t").window(ff.last_rows(2)).with_columns(ID=ff.Count())
    with pytest.raises(ff.QueryError, match=r"which are not one for each event; expected ff.around"):
        ff.events(df, time="t").window(ff.tumbling(2)).with_columns(n=ff.Count())
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ff.QueryError, match=r"with_columns\(\) is asked for a stream.*expected .aggregate"):
        ff.events(stream, time="timestamp").window(ff.last_rows(2)).with_columns(n=ff.Count())


def test_columns_of_labels_that_cannot_be_used(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2)], "from int, to int").withColumn("other", f.array())
    windows = ff.events(pa.table({"t": [1]}), time="t").window(ff.windows_from(frame, start="from", end="to"))
    assert windows.aggregate(n=ff.Count())["n"].to_pylist() == [1]
    with pytest.raises(ff.ColumnError, match="the other table has a column 'other' of a type that cannot be used"):
        windows.with_columns(n=ff.Count())
