"""Keys that are structs on Spark: grouped and sorted as Spark itself does, on every way and as a stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f

import framefold as ff

from ..support.sessions import state_in_rocksdb
from ..support.spark_results import listed
from ..values.struct_keys import KEYS, KIND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)


def table() -> pa.Table:
    """Events of all keys, in the order of their times."""
    times = [START + timedelta(minutes=7 * number) for number in range(3 * len(KEYS))]
    return pa.table(
        {"t": pa.array(times, pa.timestamp("us", "UTC")), "s": pa.array(KEYS * 3, KIND), "x": range(3 * len(KEYS))}
    )


def by_spark(df: DataFrame) -> list[str]:
    """What Spark groups and sorts by itself, as text: NaN is not equal to itself."""
    window = f.window("t", "30 minutes")
    found = df.groupBy("s", window.alias("w")).agg(f.count("*").alias("n"), f.sum("x").alias("x"))
    return rows(found.orderBy("s", "w").select("s", f.col("w.start"), "n", "x").toArrow().rename_columns(NAMES))


NAMES = ["s", "start", "n", "x"]


def rows(found: pa.Table) -> list[str]:
    if "window" in found.column_names:
        starts = found["window"].combine_chunks().field("start")
        found = pa.table({"s": found["s"], "start": starts, "n": found["n"], "x": found["x"]})
    return [repr(row) for row in found.set_column(1, "start", found["start"].cast("int64")).to_pylist()]


@pytest.fixture
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table()).repartition(3)


def result(events: Any, **options: Any) -> pa.Table:
    query = ff.events(events, time="t", by="s").options(**options).window(ff.tumbling("30 minutes"))
    found = query.aggregate(n=ff.Count(), x=ff.Sum("x"))
    return found if isinstance(found, pa.Table) else found.toArrow()


def test_every_way_groups_and_sorts_as_spark(spark: SparkSession, df: DataFrame, tmp_path: Path) -> None:
    expected = by_spark(df)
    assert len(expected) > len(KEYS)
    assert rows(result(table())) == expected
    for accumulate in ("spark", "python"):
        assert rows(result(df, accumulate=accumulate)) == expected, accumulate
    assert rows(result(df, accumulate="python", combine="executors")) == expected
    pq.write_table(table(), tmp_path / "a.parquet", row_group_size=5)
    assert rows(result(ff.parquet(str(tmp_path), spark=spark))) == expected
    assert rows(result(ff.parquet(str(tmp_path)))) == expected


def test_windows_counted_in_rows(df: DataFrame) -> None:
    def ask(events: Any, **ways: Any) -> list[str]:
        query = ff.events(events, time="t", by="s", ties="s").options(**ways).window(ff.last_rows(2))
        return listed(query.aggregate(x=ff.CollectList("x")))

    for ways in ({"combine": "driver"}, {"combine": "executors"}, {"max_driver_partials": 0}):
        assert ask(df, **ways) == ask(table()), ways


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", minversion="4.1")
    with state_in_rocksdb(spark):
        (tmp_path / "in").mkdir()
        pq.write_table(table(), tmp_path / "in" / "a.parquet")
        day = pa.array([START + timedelta(days=9)], pa.timestamp("us", "UTC"))
        last = pa.table({"t": day, "s": pa.array([None], KIND), "x": [0]})
        pq.write_table(last, tmp_path / "in" / "b.parquet")
        stream = spark.readStream.schema(spark.createDataFrame(table()).schema).parquet(str(tmp_path / "in"))
        events = ff.events(stream.withWatermark("t", "1 minute"), time="t", by="s")
        found = events.window(ff.tumbling("30 minutes")).aggregate(n=ff.Count(), x=ff.Sum("x"))
        writer = found.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
        writer.start().awaitTermination(120)
        got = rows(spark.read.parquet(str(tmp_path / "out")).toArrow())
    assert sorted(got) == sorted(by_spark(spark.createDataFrame(table())))


def test_keys_that_spark_does_not_group_by(spark: SparkSession) -> None:
    for sql in ("map(1, 2)", "array(1)"):
        df = spark.sql(f"select timestamp'2026-01-01' t, named_struct('a', {sql}) s")
        with pytest.raises(
            ff.ColumnError, match=r"by= names 's', which is struct<.*expected numbers, .* or structs of"
        ):
            ff.events(df, time="t", by="s").window(ff.tumbling("1 day")).aggregate(n=ff.Count())
