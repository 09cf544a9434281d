"""The window that ends now, on a stream in update mode: across a restart, and by the clock alone."""

from __future__ import annotations

import datetime as dt
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..support.stream_source import Source, late_events

pytestmark = pytest.mark.usefixtures("rocksdb")


def of_times(*events: tuple[str, dt.datetime, float]) -> pa.Table:
    keys, times, values = map(list, zip(*events, strict=True))
    return pa.table({"time": pa.array(times, pa.timestamp("us", "UTC")), "key": keys, "x": values})


def take(into: list[Any], batch: DataFrame, _: int) -> None:
    """Add the rows of a micro-batch, without windows and times."""
    rows = [tuple(value for value in row if not isinstance(value, dt.datetime | tuple)) for row in batch.collect()]
    into.extend([sorted(rows)] if rows else [])


@pytest.mark.slow
def test_the_clock_alone_takes_events_in_and_out(spark: SparkSession, tmp_path: Path) -> None:
    """Of an event of a later time: its key is given when a window has it, once more without it, and never again."""
    at = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(seconds=25)
    long_ago = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    source = Source(spark, tmp_path).add(of_times(("later", at, 3.0), ("long ago", long_ago, 1.0)))
    cases: list[tuple[Any, list[Any]]] = [
        (ff.sliding("6 seconds", every="2 seconds"), [("later", 1, 3.0), ("later", 0, None)]),
        (
            ff.lookback("5 seconds", "10 seconds", every="5 seconds"),
            [("later", 1, 1, 3.0, 3.0), ("later", 0, 1, None, 3.0), ("later", 0, 0, None, None)],
        ),
    ]
    given: list[list[Any]] = [[] for _ in cases]
    running = []
    try:
        for number, (windows, _) in enumerate(cases):
            result = ff.events(source.plain, time="time", by="key").window(windows).latest(n=ff.Count(), s=ff.Sum("x"))
            writer = result.writeStream.outputMode("update").foreachBatch(partial(take, given[number]))
            writer = writer.option("checkpointLocation", str(tmp_path / f"{number}"))
            running.append(writer.trigger(processingTime="1 second").start())
        until = time.monotonic() + 120
        while any(len(each) < len(rows) for each, (_, rows) in zip(given, cases, strict=True)):
            time.sleep(0.5)
            assert time.monotonic() < until
            assert all(query.exception() is None for query in running)
        time.sleep(6)
        assert given == [[[row] for row in rows] for _, rows in cases]
        assert late_events(running[0]) == 1
    finally:
        for query in running:
            query.stop()
