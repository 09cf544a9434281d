"""Streams: seconds a micro-batch, beside what Spark has for the same windows.

``make bench-streams`` puts the table into the report. Each query reads files of one size, a file a micro-batch, and
writes to Spark's ``noop`` sink; the first micro-batches, which start workers and compile, are left out.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff
from framefold.runtime.streams.scope import counted
from framefold.spark.convert.names import under_plain_names
from framefold.spark.engine.tasks import Job
from framefold.spark.session.packaging import stage
from framefold.spark.session.session import local_session
from framefold.spark.streams.engine import PROVIDER, ROCKSDB
from framefold.spark.streams.packets import PACKETS, pack_partials

EVENTS_A_DAY, KEYS, DAY = 4_000_000, 100, 86_400_000_000
WARM = 3
"""Micro-batches that are left out."""
PARTITIONS = 2
ROUNDS = 2
"""How often each query runs, all in turns, after a round that is left out."""
Query = Callable[[DataFrame], DataFrame]


def framefold(size: str) -> Query:
    """Our own, in windows of a size every minute."""
    windows = ff.sliding(size, every="1 minute")
    outputs = {"total": ff.Sum("x"), "events": ff.Count()}
    return lambda events: ff.events(events, time="t", by="k").window(windows).aggregate(**outputs)


def accumulating(events: DataFrame) -> DataFrame:
    """The first stage of our own alone: partials of each micro-batch, without a state."""
    windows = ff.events(events, time="t", by="k").window(ff.sliding("1 hour", every="1 minute"))
    plan = counted(windows._query({"total": ff.Sum("x"), "events": ff.Count()}))
    return stage(
        under_plain_names(events, plan.columns), pack_partials, Job(plan, events.schema), (0, 1), schema=PACKETS
    )


def window(events: DataFrame) -> DataFrame:
    """Each event is copied into its sixty windows."""
    return events.groupBy("k", f.window("t", "1 hour", "1 minute")).agg(f.sum("x").alias("total"), f.count("*"))


def chained(events: DataFrame) -> DataFrame:
    """Minutes, then each minute copied into sixty windows."""
    minutes = events.groupBy("k", f.window("t", "1 minute")).agg(f.sum("x").alias("x"), f.count("*").alias("n"))
    timed = minutes.select("k", "x", "n", f.window_time("window").alias("t"))
    return timed.groupBy("k", f.window("t", "1 hour", "1 minute")).agg(f.sum("x").alias("total"), f.sum("n"))


def one_state(events: DataFrame) -> DataFrame:
    """A count for each of two groups: the same shuffle and hardly any state."""
    return events.groupBy((f.col("k") % 2).alias("k")).count()


CONTENDERS: Mapping[str, tuple[Query, str]] = {
    "framefold, 1 h every 1 min": (framefold("1 hour"), "append"),
    "framefold, 10 h every 1 min": (framefold("10 hours"), "append"),
    "framefold, accumulating alone": (accumulating, "append"),
    "Spark window(), 1 h every 1 min": (window, "append"),
    "Spark, a tumbling minute chained with window()": (chained, "append"),
    "Spark, one small state": (one_state, "update"),
}
SIZES: Mapping[int, tuple[int, int]] = {1_000: (40, KEYS), 300_000: (10, KEYS), 1_300_000: (7, KEYS)}
"""Events a micro-batch: how many micro-batches there are, and of how many keys."""


def files(folder: Path, events: int, count: int, keys: int) -> str:
    """The schema of files in a folder, each of events of its own stretch of time."""
    rng = np.random.default_rng(7)
    folder.mkdir(parents=True)
    span = int(DAY * events / EVENTS_A_DAY)
    for number in range(count):
        ticks = np.sort(rng.integers(number * span, (number + 1) * span, events))
        table = {"t": pa.array(ticks).cast(pa.timestamp("us", tz="UTC")), "k": rng.integers(0, keys, events)}
        pq.write_table(pa.table(table | {"x": rng.normal(50.0, 10.0, events)}), folder / f"{number:03}.parquet")
    return "t timestamp, k bigint, x double"


def milliseconds(spark: SparkSession, folder: Path, query: Query, mode: str, schema: str) -> list[float]:
    """What each micro-batch with events took."""
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    result = query(stream.withWatermark("t", "1 minute"))
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = result.writeStream.format("noop").outputMode(mode).option("checkpointLocation", checkpoint)
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
        taken = [each for each in running.recentProgress if each["numInputRows"]]
    return [float(each["durationMs"]["triggerExecution"]) for each in taken][WARM:]


def table() -> list[str]:
    """The measurement as lines of Markdown: medians, and how many times as long as ours of an hour."""
    spark = local_session("framefold benchmarks of streams", "local[2]", **{"spark.sql.shuffle.partitions": PARTITIONS})
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 1000)
    found: dict[str, list[Any]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as root:
        for events, (count, keys) in SIZES.items():
            folder = Path(root) / str(events)
            schema = files(folder, events, count, keys)
            taken: dict[str, list[float]] = {name: [] for name in CONTENDERS}
            for turn in range(ROUNDS + 1):  # in the first one the JVM compiles
                for name, (query, mode) in CONTENDERS.items():
                    found_now = milliseconds(spark, folder, query, mode, schema)
                    taken[name] += found_now if turn else []
            medians = {name: statistics.median(each) for name, each in taken.items()}
            ours = next(iter(medians.values()))
            for name, median in medians.items():
                found[name].append(f"{median:,.0f} ({median / ours:.2f})")
                print(f"{events:,} events, {name}: {found[name][-1]}", flush=True)
    spark.stop()
    return [
        "Milliseconds a micro-batch, median, and how many times as long as the first row; "
        f"{KEYS} keys, {PARTITIONS} partitions of state in RocksDB, sum and count.",
        "",
        f"| events a micro-batch | {' | '.join(f'{events:,}' for events in SIZES)} |",
        "| --- |" + " ---: |" * len(SIZES),
        *(f"| {name} | {' | '.join(each)} |" for name, each in found.items()),
    ]


if __name__ == "__main__":
    print("\n".join(table()))
