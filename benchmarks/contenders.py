"""The same sliding sums and counts, done by framefold and by what a user could write instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff


@dataclass(frozen=True)
class Job:
    """Sum and count by key over windows of ``size`` minutes every minute, from a Parquet file."""

    path: Path
    size: int


def spark_window(spark: SparkSession, job: Job) -> DataFrame:
    """Spark's own ``window()``: each event is copied into every window it is in."""
    windows = f.window("t", f"{job.size} minutes", "1 minute")
    grouped = spark.read.parquet(str(job.path)).groupBy("k", windows.alias("window"))
    return grouped.agg(f.sum("x").alias("total"), f.count("*").alias("events"))


def spark_two_stages(spark: SparkSession, job: Job) -> DataFrame:
    """Two stages by hand: one row a key and minute, then a range of minutes; no windows that end after the data."""
    spark.read.parquet(str(job.path)).createOrReplaceTempView("events")
    return spark.sql(
        f"""
        WITH minutes AS (
          SELECT k, unix_micros(date_trunc('minute', t)) div 60000000 AS minute, sum(x) AS total, count(*) AS events
          FROM events GROUP BY ALL
        )
        SELECT k, minute, sum(total) OVER w AS total, sum(events) OVER w AS events FROM minutes
        WINDOW w AS (PARTITION BY k ORDER BY minute RANGE BETWEEN {job.size - 1} PRECEDING AND CURRENT ROW)
        """
    )


def windowed(source: object, job: Job) -> ff.Windowed:
    """The job as a framefold query."""
    return ff.events(source, time="t", by="k").window(ff.sliding(f"{job.size} minutes", every="1 minute"))


def framefold_dataframe(combine: str) -> Callable[[SparkSession, Job], DataFrame]:
    """framefold on a Spark DataFrame."""

    def run(spark: SparkSession, job: Job) -> DataFrame:
        query = windowed(spark.read.parquet(str(job.path)), job).options(combine=combine)
        result: DataFrame = query.aggregate(total=ff.Sum("x"), events=ff.Count())
        return result

    return run


def framefold_local(job: Job) -> pa.Table:
    """framefold's local engine on the file."""
    result: pa.Table = windowed(ff.parquet(job.path), job).aggregate(total=ff.Sum("x"), events=ff.Count())
    return result


CLOSE = "abs(a.total - b.total) <= 1e-9 * abs(b.total)"


def differing_rows(ours: pa.Table, theirs: pa.Table) -> int:
    """How many windows two results do not have in common, equal up to the rounding of float sums."""
    columns = "k, epoch_us({0}) AS start, total, events"
    connection = duckdb.connect()
    connection.register("ours", flat(ours))
    connection.register("theirs", flat(theirs))
    query = f"""
        SELECT count(*) FROM (SELECT {columns.format("start")} FROM ours) a
        FULL JOIN (SELECT {columns.format("start")} FROM theirs) b USING (k, start)
        WHERE (a.events IS DISTINCT FROM b.events) OR NOT coalesce({CLOSE}, false)
    """
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def flat(result: pa.Table) -> pa.Table:
    """A result with the start of its windows as a column."""
    start = pa.chunked_array([chunk.field("start") for chunk in result.column("window").chunks])
    return result.drop_columns(["window"]).append_column("start", start.cast(pa.timestamp("us", tz="UTC")))
