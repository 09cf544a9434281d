"""Keys that are structs on Spark: a stream of them, and what is refused; ``test_cells`` has them in every way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

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
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Grouped as Spark itself does; NaN is not equal to itself, and so rows are compared as text."""
    pytest.importorskip("pyspark", minversion="4.1")
    times = [START + timedelta(minutes=7 * number) for number in range(3 * len(KEYS))]
    columns = {"t": pa.array(times, pa.timestamp("us", "UTC")), "s": pa.array(KEYS * 3, KIND), "x": range(len(times))}
    df = spark.createDataFrame(pa.table(columns)).coalesce(1)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "in" / "a.parquet")
    last = {
        "t": pa.array([START + timedelta(days=9)], pa.timestamp("us", "UTC")),
        "s": pa.array([None], KIND),
        "x": [0],
    }
    pq.write_table(pa.table(last), tmp_path / "in" / "b.parquet")
    with state_in_rocksdb(spark):
        stream = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
        events = ff.events(stream.withWatermark("t", "1 minute"), time="t", by="s")
        found = events.window(ff.tumbling("30 minutes")).aggregate(n=ff.Count(), x=ff.Sum("x"))
        writer = found.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
        writer.start().awaitTermination(120)
    theirs = df.groupBy("s", f.window("t", "30 minutes")).agg(f.count("*").alias("n"), f.sum("x").alias("x"))
    mine, expected = (
        listed(each.select("s", f.col("window.start").cast("long").alias("start"), "n", "x"))
        for each in (spark.read.parquet(str(tmp_path / "out")), theirs)
    )
    assert sorted(mine) == sorted(expected)
    assert len(mine) > len(KEYS)


def test_keys_that_spark_does_not_group_by(spark: SparkSession) -> None:
    for sql in ("map(1, 2)", "array(1)"):
        df = spark.sql(f"select timestamp'2026-01-01' t, named_struct('a', {sql}) s")
        with pytest.raises(
            ff.ColumnError, match=r"by= names 's', which is struct<.*expected numbers, .* or structs of"
        ):
            ff.events(df, time="t", by="s").window(ff.tumbling("1 day")).aggregate(n=ff.Count())
