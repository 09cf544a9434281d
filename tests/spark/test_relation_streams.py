"""Relations of streams: what only adds rows is a stream, and gives the rows of the batch; the rest is refused."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
WINDOWS = ff.sliding("10 minutes", every="2 minutes", closed="right")


def events(seed: int) -> pa.Table:
    draw = random.Random(seed)
    rows = [
        {"t": START + dt.timedelta(minutes=number // 2), "k": draw.choice("ab"), "x": draw.randrange(9)}
        for number in range(60)
    ]
    return pa.Table.from_pylist(
        rows, pa.schema([("t", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("x", pa.int64())])
    )


def stream(spark: SparkSession, folder: Path, seed: int) -> DataFrame:
    """The events as a stream of two files, one a micro-batch."""
    folder.mkdir()
    table = events(seed)
    for number in range(2):
        pq.write_table(table.slice(30 * number, 30), folder / f"{number}.parquet")
    df = spark.readStream.schema("t timestamp, k string, x bigint").option("maxFilesPerTrigger", 1).parquet(str(folder))
    return df.withWatermark("t", "0 minutes")


def run(df: DataFrame, folder: Path) -> list[tuple[Any, ...]]:
    """All rows that a stream gives."""
    writer = df.writeStream.trigger(availableNow=True).format("parquet")
    asked = writer.option("checkpointLocation", str(folder / "c")).start(str(folder / "out"))
    asked.awaitTermination()
    return [tuple(row) for row in df.sparkSession.read.schema(df.schema).parquet(str(folder / "out")).collect()]


def relation(data: Any) -> Any:
    return ff.events(data, time="t").window(WINDOWS).relation()


def union(one: Any, other: Any) -> Any:
    return relation(one).where("x > 3").select("k", y="x + 1").union(relation(other).select("k", y="x"))


def join(one: Any, other: Any) -> Any:
    return relation(one).join(relation(other), on="k", prefix="p_")


@pytest.mark.parametrize("ask", [union, join])
def test_of_two_streams(spark: SparkSession, rocksdb: None, tmp_path: Path, ask: Any) -> None:
    given = ask(stream(spark, tmp_path / "a", 1), stream(spark, tmp_path / "b", 2)).rows()
    batch = ask(spark.createDataFrame(events(1)), spark.createDataFrame(events(2))).rows()
    assert given.isStreaming
    assert Counter(run(given, tmp_path)) == Counter(map(tuple, batch.collect()))


def test_aggregates_of_a_stream(spark: SparkSession, rocksdb: None, tmp_path: Path) -> None:
    def asked(data: Any) -> Any:
        return relation(data).where("x > 3").aggregate(by="k", n=ff.Count(), s=ff.Sum("x"))

    found = run(asked(stream(spark, tmp_path / "a", 1)).rows(), tmp_path)
    closed, batch = max(until for *_, until in found), asked(events(1))
    wanted = Counter(
        (row["k"], row["n"], row["s"], row["at"])
        for row in batch.states("2 minutes").to_pylist() if row["at"] < closed.replace(tzinfo=dt.UTC)
    )  # fmt: skip
    zone = START.tzinfo
    assert Counter((k, n, s, since.astimezone(zone)) for k, n, s, since, _ in found) == wanted


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda r: r.distinct("k"), "distinct of a stream needs deletes, which a stream of rows has not"),
        (lambda r: r.distinct("k", keep=True), "distinct of a stream needs deletes"),
        (lambda r: r.difference(r), "difference of a stream needs deletes"),
        (lambda r: r.join(r, on="k", how="left"), r"join\(how='left'\) of a stream needs deletes"),
        (lambda r: r.changes(), r"changes\(\) of a stream needs all rows at hand"),
        (lambda r: r.deletes(), r"deletes\(\) of a stream"),
        (lambda r: r.at("2026-05-01"), r"at\(\) of a stream"),
        (lambda r: r.union(r).aggregate(n=ff.Count()), "aggregate of a stream is there only right over sliding"),
    ],
)
def test_what_needs_deletes_is_refused(spark: SparkSession, ask: Any, sentence: str) -> None:
    rate = spark.readStream.format("rate").load().selectExpr("timestamp t", "'a' k", "value x")
    with pytest.raises(ff.QueryError, match=f"{sentence}.*foreachBatch"):
        ask(relation(rate.withWatermark("t", "1 minute")))


def test_joins_that_could_forget_nothing_are_refused(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load().selectExpr("timestamp t", "'a' k", "value x")
    with pytest.raises(ff.QueryError, match="the left has no watermark on the time of its rows"):
        relation(rate).join(relation(rate), on="k")
    marked = rate.withWatermark("t", "1 minute")
    ever = ff.events(marked, time="t").window(ff.landmark()).relation()
    with pytest.raises(ff.QueryError, match="rows of the right may be valid for ever"):
        relation(marked).join(ever, on="k")
    with pytest.raises(ff.QueryError, match="on a stream a row of the last n ends when later ones come"):
        ff.events(marked, time="t").window(ff.last_rows(2)).relation()
