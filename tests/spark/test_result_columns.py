"""The windows of results on Spark: known to it as windows, as columns of their own, as events of further windows."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..conftest import COMBINED
from ..support.pages import BLOCK, DOCS, run
from ..support.stream_source import into_files

MINUTE = 60_000_000


def events(rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(5)
    times = pa.array(rng.integers(0, 200 * MINUTE, rows)).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"t": times, "k": rng.choice(["a", "b"], rows), "x": rng.integers(0, 100, rows)})


def fives(data: Any, **choices: Any) -> Any:
    query = ff.events(data, time="t", by="k").options(**choices).window(ff.tumbling("5 minutes"))
    return query.aggregate(s=ff.Sum("x"))


def sparks(df: DataFrame, size: str = "5 minutes") -> DataFrame:
    """The same by Spark's own windows."""
    return df.groupBy("k", f.window("t", size)).agg(f.sum("x").alias("s"))


def rows_of(df: DataFrame) -> list[Any]:
    return sorted(map(repr, df.collect()))


@pytest.mark.parametrize("combine", COMBINED)
def test_spark_knows_the_windows_as_its_own(spark: SparkSession, combine: str) -> None:
    df = spark.createDataFrame(events())
    ours, theirs = fives(df, combine=combine), sparks(df)
    assert ours.schema["window"].metadata == theirs.schema["window"].metadata
    found, expected = (each.select("k", f.window_time("window").alias("at"), "s") for each in (ours, theirs))
    assert rows_of(found) == rows_of(expected)


def test_only_windows_of_timestamps_are_known_to_spark(spark: SparkSession) -> None:
    for kind, size in (("bigint", 7), ("date", "7 days"), ("timestamp_ntz", "1 hour")):
        time = {"bigint": "id", "date": "date_add(date'1970-01-01', int(id))"}.get(kind, "timestamp_ntz'1970-01-01'")
        df = spark.range(3).selectExpr(f"cast({time} as {kind}) as t", "id as x")
        found = ff.events(df, time="t").window(ff.tumbling(size)).aggregate(s=ff.Sum("x"))
        assert bool(found.schema["window"].metadata) == (kind == "timestamp_ntz")
    assert [row.at.hour for row in found.select(f.window_time("window").alias("at")).collect()] == [0]


def test_sessions_of_several_keys_stay_apart_in_groups(spark: SparkSession) -> None:
    """By the mark of its own sessions Spark would merge those that overlap."""
    found = ff.events(spark.createDataFrame(events()), time="t", by="k").window(ff.session("1 minute"))
    sessions = found.aggregate(s=ff.Sum("x"))
    assert sessions.groupBy("window").count().count() == sessions.select("window").distinct().count()


@pytest.mark.parametrize("combine", COMBINED)
def test_flat_columns(spark: SparkSession, combine: str, tmp_path: Path) -> None:
    df = spark.createDataFrame(events())
    flat = fives(df, combine=combine, window="flat")
    assert flat.columns == ["k", "window_start", "window_end", "s"]
    assert rows_of(flat) == rows_of(sparks(df).select("k", "window.start", "window.end", "s").toDF(*flat.columns))
    df.write.parquet(str(tmp_path / "events"))
    assert rows_of(fives(ff.parquet(str(tmp_path / "events"), spark=spark), window="flat")) == rows_of(flat)
    flat.write.option("header", True).csv(str(tmp_path / "flat.csv"))
    read = spark.read.csv(str(tmp_path / "flat.csv"), header=True, inferSchema=True)
    assert sorted(row.s for row in read.collect()) == sorted(row.s for row in flat.collect())


def test_names_that_differ_in_case_only_are_refused_of_flat_columns_too(spark: SparkSession) -> None:
    query = ff.events(spark.createDataFrame(events()), time="t").options(window="flat").window(ff.tumbling("1 hour"))
    with pytest.raises(ff.QueryError, match="'window_end' and the output 'Window_End' differ in case only"):
        query.aggregate(Window_End=ff.Count())


def greatest(data: Any, **choices: Any) -> Any:
    query = ff.events(data, time="window.start", by="k").options(**choices).window(ff.tumbling("1 hour"))
    return query.aggregate(most=ff.Max("s"), last=ff.Last("window.end"))


def expected_greatest(df: DataFrame) -> DataFrame:
    hours = sparks(df).groupBy("k", f.window("window", "1 hour"))
    return hours.agg(f.max("s").alias("most"), f.max("window.end").alias("last"))


@pytest.mark.parametrize("combine", COMBINED)
def test_results_are_events_of_further_windows(spark: SparkSession, combine: str, tmp_path: Path) -> None:
    df = spark.createDataFrame(events())
    results = fives(df, combine=combine)
    expected = rows_of(expected_greatest(df))
    assert rows_of(greatest(results, combine=combine)) == expected
    results.write.parquet(str(tmp_path / "fives"))
    assert rows_of(greatest(spark.read.parquet(str(tmp_path / "fives")), combine=combine)) == expected
    assert rows_of(greatest(ff.parquet(str(tmp_path / "fives"), spark=spark), combine=combine)) == expected


def test_results_as_windows_and_without_a_time(spark: SparkSession) -> None:
    df = spark.createDataFrame(events())
    results = fives(df)
    windows = ff.windows_from(results, start="window.start", end="window.end", by="k")
    again = ff.events(df, time="t", by="k").window(windows).aggregate(s=ff.Sum("x"))
    assert rows_of(again.drop("at")) == rows_of(results)
    some = results.union(spark.createDataFrame([("c", None, 1)], results.schema))
    dropped = ff.events(some, time="window.start", null_time="drop").dropped()
    assert dropped.columns == results.columns
    assert [row.k for row in dropped.collect()] == ["c"]
    with pytest.raises(ff.ColumnError, match=r"the unknown column 'window.begin'; did you mean 'window.end'\?"):
        ff.events(results, time="window.begin").window(ff.tumbling("1 hour")).aggregate(n=ff.Count())


def test_results_on_disk_are_a_stream_of_events(spark: SparkSession, tmp_path: Path) -> None:
    """Whose time is named, or an expression."""
    pytest.importorskip("google.protobuf")
    pytest.importorskip("pyspark", minversion="4.1")
    from ..support.sessions import state_in_rocksdb

    df = spark.createDataFrame(events())
    results = fives(df)
    late = spark.createDataFrame(
        [("a", tuple(datetime.fromtimestamp(each * 60, UTC) for each in (900, 905)), 0)], results.schema
    )
    for part in (results, late):
        part.coalesce(1).write.mode("append").parquet(str(tmp_path / "fives"))
    stream = spark.readStream.schema(results.schema).parquet(str(tmp_path / "fives"))
    for number, time in enumerate(("window.start", f.timestamp_seconds(f.unix_seconds("window.start")))):
        with state_in_rocksdb(spark):
            query = ff.events(stream, time=time, by="`k`").stream(watermark="10 minutes").options(window="flat")
            hours = query.window(ff.tumbling("1 hour")).aggregate(most=ff.Max("s"))
            running = into_files(hours, tmp_path / f"hours{number}", tmp_path / f"checkpoint{number}")
            assert running.awaitTermination(300)
        found = spark.read.parquet(str(tmp_path / f"hours{number}"))
        assert found.columns == ["k", "window_start", "window_end", "most"]
        expected = expected_greatest(df).select("k", "window.start", "window.end", "most").toDF(*found.columns)
        assert rows_of(found) == rows_of(expected)


@pytest.mark.usefixtures("spark_of_docs")
def test_the_page_of_what_comes_after_the_result() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    blocks = BLOCK.findall((DOCS / "after-the-result.md").read_text())
    assert [run(block, namespace) for _, block in blocks] == [block.count("# ->") for _, block in blocks]
    assert sum(needed == "pyspark" for needed, _ in blocks) == 3
    # The others are run by test_stream_page.py and test_spark_idioms.py.
    with_spark = [page.name for page in DOCS.glob("*.md") if "requires=pyspark" in page.read_text()]
    assert sorted(with_spark) == ["README.md", "after-the-result.md", "from-spark-flink-hazelcast.md"]
