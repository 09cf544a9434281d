"""Relations of streams: what only adds rows is a stream, and gives the rows of the batch; the rest is refused."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..support.stream_source import Source

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
WINDOWS = ff.sliding("10 minutes", every="2 minutes", closed="right")


def events(seed: int) -> pa.Table:
    draw = random.Random(seed)
    rows = [
        {"time": START + dt.timedelta(minutes=number // 2), "key": draw.choice("ab"), "x": float(draw.randrange(9))}
        for number in range(60)
    ]
    types = [pa.timestamp("us", tz="UTC"), pa.string(), pa.float64()]
    return pa.Table.from_pylist(rows, pa.schema(zip(rows[0], types, strict=True)))


def stream(source: Source, seed: int) -> DataFrame:
    """The events as a stream of two files, one a micro-batch."""
    return source.add(events(seed)[:30], events(seed)[30:]).plain.withWatermark("time", "0 minutes")


def run(source: Source, df: DataFrame) -> list[tuple[Any, ...]]:
    """All rows that a stream gives."""
    source.run(out=df)
    return [tuple(row) for row in source.spark.read.schema(df.schema).parquet(str(source.folder / "out")).collect()]


def relation(data: Any) -> Any:
    return ff.events(data, time="time").window(WINDOWS).relation()


def union(one: Any, other: Any) -> Any:
    return relation(one).where("x > 3").select("key", y="x + 1").union(relation(other).select("key", y="x"))


def join(one: Any, other: Any) -> Any:
    return relation(one).join(relation(other), on="key", prefix="p_")


@pytest.mark.parametrize("ask", [union, join])
def test_of_two_streams(spark: SparkSession, rocksdb: None, tmp_path: Path, ask: Any) -> None:
    sources = [Source(spark, tmp_path / name) for name in "ab"]
    given = ask(stream(sources[0], 1), stream(sources[1], 2)).rows()
    batch = ask(spark.createDataFrame(events(1)), spark.createDataFrame(events(2))).rows()
    assert given.isStreaming
    assert Counter(run(sources[0], given)) == Counter(map(tuple, batch.collect()))


def test_aggregates_of_a_stream(spark: SparkSession, rocksdb: None, tmp_path: Path) -> None:
    def asked(data: Any) -> Any:
        return relation(data).where("x > 3").aggregate(by="key", n=ff.Count(), s=ff.Sum("x"))

    source = Source(spark, tmp_path)
    found = run(source, asked(stream(source, 1)).rows())
    closed, batch = max(until for *_, until in found), asked(events(1))
    wanted = Counter(
        (row["key"], row["n"], row["s"], row["at"])
        for row in batch.states("2 minutes").to_pylist() if row["at"] < closed.replace(tzinfo=dt.UTC)
    )  # fmt: skip
    zone = START.tzinfo
    assert Counter((k, n, s, since.astimezone(zone)) for k, n, s, since, _ in found) == wanted


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda r: r.distinct("key"), "distinct of a stream needs deletes, which a stream of rows has not"),
        (lambda r: r.distinct("key", keep=True), "distinct of a stream needs deletes"),
        (lambda r: r.difference(r), "difference of a stream needs deletes"),
        (lambda r: r.join(r, on="key", how="left"), r"join\(how='left'\) of a stream needs deletes"),
        (lambda r: r.changes(), r"changes\(\) of a stream needs all rows at hand"),
        (lambda r: r.deletes(), r"deletes\(\) of a stream"),
        (lambda r: r.at("2026-05-01"), r"at\(\) of a stream"),
        (lambda r: r.union(r).aggregate(n=ff.Count()), "aggregate of a stream is there only right over sliding"),
    ],
)
def test_what_needs_deletes_is_refused(spark: SparkSession, ask: Any, sentence: str) -> None:
    rate = spark.readStream.format("rate").load().selectExpr("timestamp time", "'a' key", "value x")
    with pytest.raises(ff.QueryError, match=f"{sentence}.*foreachBatch"):
        ask(relation(rate.withWatermark("time", "1 minute")))


def test_joins_that_could_forget_nothing_are_refused(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load().selectExpr("timestamp time", "'a' key", "value x")
    with pytest.raises(ff.QueryError, match="the left has no watermark on the time of its rows"):
        relation(rate).join(relation(rate), on="key")
    marked = rate.withWatermark("time", "1 minute")
    ever = ff.events(marked, time="time").window(ff.landmark()).relation()
    with pytest.raises(ff.QueryError, match="rows of the right may be valid for ever"):
        relation(marked).join(ever, on="key")
    with pytest.raises(ff.QueryError, match="on a stream a row of the last n ends when later ones come"):
        ff.events(marked, time="time").window(ff.last_rows(2)).relation()
