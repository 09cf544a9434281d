"""A stream from Kafka whose state goes on in another query: each partition from its offset on."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import framefold as ff

from ..support.stream_source import into_files
from .broker import kafka, receive, send

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SCHEMA = "time timestamp, key string"
MINUTE = 60_000_000


def events(first: int, last: int) -> pa.Table:
    """One every ten seconds between two minutes, in one of two partitions."""
    seconds = range(60 * first, 60 * last, 10)
    times = pa.array([each * 1_000_000 for each in seconds]).cast(pa.timestamp("us", tz="UTC"))
    numbers = [each // 10 for each in seconds]
    return pa.table(
        {
            "time": times,
            "key": ["abc"[number % 3] for number in numbers],
            "partition": pa.array([number // 3 % 2 for number in numbers], pa.int32()),
        }
    )


def test_offsets_go_on(tmp_path: Path) -> None:
    tables = [events(0, 60), events(55, 150)]
    with kafka(tmp_path, **ff.spark_conf(streams=True, partitions=2)) as (session, options):
        stream = receive(session, "moved", options, SCHEMA).withWatermark("time", "10 minutes")
        windowed = ff.events(stream, time="time", by="key").window(ff.sliding("20 minutes", every="10 minutes"))
        old, new = (windowed.stream(shards=shards) for shards in (2, 3))
        for number, (query, table) in enumerate(zip((old, new), tables, strict=True)):
            send(session.createDataFrame(table), "moved", options, "time", "key")
            running = into_files(query.aggregate(n=ff.Count()), tmp_path / "out", tmp_path / f"checkpoint-{number}")
            assert running.awaitTermination(500)
            if query is old:
                old.export_state(tmp_path / "checkpoint-0", tmp_path / "state", n=ff.Count())
                new.import_state(tmp_path / "state", tmp_path / "checkpoint-1", n=ff.Count())
        out = session.read.parquet(str(tmp_path / "out"))
        given = out.select("key", (f.unix_micros("window.end") / MINUTE).cast("long").alias("end"), "n").collect()
    sent = pa.concat_tables(tables)
    right = duckdb.sql(
        "select key, ends, count(*) from sent, range(10, 180, 10) of(ends) "
        "where epoch_us(time) // 60000000 between ends - 20 and ends - 1 group by all having ends <= 139"
    ).fetchall()
    assert sorted(map(tuple, given)) == sorted(right)
    assert len(sent) == 900 + 30
