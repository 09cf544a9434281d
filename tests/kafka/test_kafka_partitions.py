"""A topic of two partitions: each event is in all its windows that are open, or counted as late; as Spark has it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import framefold as ff

from ..support.stream_source import into_files
from .broker import kafka, receive, send

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

MINUTE = 60_000_000
DELAY, SIZE, STEP = 10 * MINUTE, 20 * MINUTE, 5 * MINUTE
ROWS, AT_ONCE = 400, 100
SCHEMA = "time timestamp, key string"
SPAN = 600 * MINUTE


def topics() -> dict[str, pa.Table]:
    """Events in the order of time: of partitions side by side, and of one behind the other."""
    rng = np.random.default_rng(3)
    even, places = np.sort(rng.random(ROWS)), np.arange(ROWS) % 2
    behind = np.where(places == 1, even**4, even)
    keys = rng.choice(list("abc"), ROWS)

    def of(shares: Any, partition: Any) -> pa.Table:
        times = pa.array((shares * SPAN).astype(np.int64)).cast(pa.timestamp("us", tz="UTC"))
        return pa.table({"time": times, "key": keys, "partition": pa.array(partition, pa.int32())})

    return {"even": of(even, places), "behind": of(behind, places)}


def windows_of(time: int) -> list[int]:
    """The ends of the windows that a time is in."""
    first = time // STEP * STEP + STEP
    return list(range(first, first + SIZE, STEP))


def right(read: list[list[tuple[int, str]]]) -> tuple[dict[tuple[str, int], int], int]:
    """How many events windows have in them that have closed, and how many events are late, of some micro-batches.

    An event is late by the watermark of the micro-batch before its own: what its own closes has it.
    """
    held: Counter[tuple[str, int]] = Counter()
    late, seen = 0, [0, 0]  # the watermark of the micro-batch before, and of this one
    for events in read:
        for time, key in events:
            taking = [end for end in windows_of(time) if end > seen[-2]]
            late += not taking
            held.update((key, end) for end in taking)
        latest = max((time for time, _ in events), default=0)
        seen.append(max(seen[-1], (latest - DELAY) // 1000 * 1000))
    return {place: n for place, n in held.items() if place[1] <= seen[-1]}, late


def found(windows: Any) -> dict[tuple[str, int], int]:
    rows = windows.select("key", f.unix_micros("window.end").alias("end"), "n").collect()
    result = {(row.key, row.end): row.n for row in rows}
    assert len(result) == len(rows), "a window is given twice"
    return result


def read_by(progress: Any, topic: str, at: dict[tuple[int, int], Any]) -> list[Any]:
    """The events of a micro-batch, by their partitions and offsets."""
    source = progress["sources"][0]
    begin, end = ((json.loads(source[name] or "null") or {}).get(topic, {}) for name in ("startOffset", "endOffset"))
    return [at[int(place), offset] for place in end for offset in range(begin.get(place, 0), end[place])]


def test_two_partitions(tmp_path: Path) -> None:
    with kafka(tmp_path, **ff.spark_conf(streams=True, partitions=2)) as (session, options):
        running = {}
        for topic, table in topics().items():
            # One task after another sends them, in their order.
            rows = session.createDataFrame(table).coalesce(1).sortWithinPartitions("time")
            send(rows, topic, options, "time", "key")
            events = receive(session, topic, options, SCHEMA, maxOffsetsPerTrigger=AT_ONCE)
            stream = events.withWatermark("time", "10 minutes")
            ours = ff.events(stream, time="time", by="key").window(ff.sliding("20 minutes", every="5 minutes"))
            theirs = stream.groupBy("key", f.window("time", "20 minutes", "5 minutes"))
            queries = {"ours": ours.aggregate(n=ff.Count()), "theirs": theirs.agg(f.count("*").alias("n"))}
            for name, query in queries.items():
                place = tmp_path / f"{topic} {name}"
                running[topic, name] = into_files(query, place, tmp_path / f"{topic} {name} checkpoint")
        for query in running.values():
            assert query.awaitTermination(500)
        for topic in topics():
            query = running[topic, "ours"]
            records = session.read.format("kafka").options(**options, subscribe=topic).load()
            event = f.from_json(f.col("value").cast("string"), SCHEMA).alias("event")
            places = records.select("partition", "offset", event)
            places = places.select("partition", "offset", f.unix_micros("event.time").alias("time"), "event.key")
            at = {(row.partition, row.offset): (row.time, row.key) for row in places.collect()}
            assert len(at) == ROWS
            read = [read_by(progress, topic, at) for progress in query.recentProgress]
            assert sum(map(len, read)) == ROWS, "each event is read once"
            assert max(map(len, read)) <= AT_ONCE + 1
            windows, late = right(read)
            metrics = [ff.stream_metrics(progress) for progress in query.recentProgress]
            given = [found(session.read.parquet(str(tmp_path / f"{topic} {name}"))) for name in ("ours", "theirs")]
            print(f"{topic}: {len(windows)} windows, {late} late events of {ROWS}")
            assert given == [windows, windows], topic
            assert sum(each["late_events"] for each in metrics) == late, topic
            if topic == "behind":
                assert late > 20
            if topic == "even":  # partitions go on as one: the windows of the batch
                assert late == 0
                assert windows == right([[each for events in read for each in events]])[0]
