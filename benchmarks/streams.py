"""Streams: seconds a micro-batch, beside what Spark has for the same windows.

``make bench-streams`` puts the tables into the report. Each query reads files of one size, a file a micro-batch, and
writes to Spark's ``noop`` sink, all in turns; the first micro-batches, which start workers and compile, are left out.
PyFlink has no micro-batches, and is asked what so many events more take: see ``benchmarks/peers/flink_stream.py``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as text
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

from .child import ROOT
from .environments import Unavailable, python_of

EVENTS_A_DAY, KEYS, MINUTE = 4_000_000, 100, 60_000_000
WARM = 3
"""Micro-batches of each run that are left out."""
PARTITIONS = 2
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
"""On for all contenders: a micro-batch writes its changes of the state, and Spark a snapshot now and then."""
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


OURS, LONGER, ALONE = "framefold, 1 h every 1 min", "framefold, 10 h every 1 min", "framefold, accumulating alone"
WINDOW, CHAINED = "Spark window(), 1 h every 1 min", "Spark, a tumbling minute chained with window()"
ONE_STATE, FLINK = "Spark, one small state", "PyFlink HOP(), 1 h every 1 min"
CONTENDERS: Mapping[str, tuple[Query, str]] = {
    OURS: (framefold("1 hour"), "append"),
    LONGER: (framefold("10 hours"), "append"),
    ALONE: (accumulating, "append"),
    WINDOW: (window, "append"),
    CHAINED: (chained, "append"),
    ONE_STATE: (one_state, "update"),
}


@dataclass(frozen=True)
class Size:
    """Micro-batches of one size.

    Parameters
    ----------
    events, keys
        In each micro-batch.
    minutes
        How much event time a micro-batch has.
    count
        How many micro-batches a run has.
    names
        The contenders.
    rounds
        How often each of them runs, after a round that is left out.
    flink
        How many events PyFlink is given, at least: so many that a second is something.
    """

    events: int
    keys: int
    minutes: float
    count: int
    names: Sequence[str]
    rounds: int = 2
    flink: int = 0


def day(events: int, count: int, *, flink: int = 0) -> Size:
    """Micro-batches of all contenders, of the events that a day has 4 million of."""
    return Size(events, KEYS, 1440 * events / EVENTS_A_DAY, count, list(CONTENDERS), flink=flink)


SIZES = [
    day(1_000, 20),
    day(300_000, 8, flink=3_000_000),
    day(1_300_000, 6, flink=3_900_000),
    Size(50_000, 100_000, 5, 5, [OURS, CHAINED], 1, flink=500_000),
]


def table_of(size: Size, number: int, rng: np.random.Generator) -> pa.Table:
    """The events of a micro-batch."""
    span = int(size.minutes * MINUTE)
    ticks = np.sort(rng.integers(number * span, (number + 1) * span, size.events))
    columns = {"t": pa.array(ticks).cast(pa.timestamp("us", tz="UTC")), "k": rng.integers(0, size.keys, size.events)}
    return pa.table(columns | {"x": rng.normal(50.0, 10.0, size.events)})


def files(folder: Path, size: Size) -> str:
    """The schema of the files in a folder, one for each micro-batch."""
    rng = np.random.default_rng(7)
    folder.mkdir(parents=True)
    for number in range(size.count):
        pq.write_table(table_of(size, number, rng), folder / f"{number:03}.parquet")
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


def spark_medians(spark: SparkSession, folder: Path, size: Size) -> dict[str, float]:
    """The median micro-batch of each contender."""
    schema = files(folder, size)
    taken: dict[str, list[float]] = {name: [] for name in size.names}
    for turn in range(size.rounds + 1):  # in the first one the JVM compiles
        for name in size.names:
            found = milliseconds(spark, folder, *CONTENDERS[name], schema)
            taken[name] += found if turn else []
    return {name: statistics.median(each) for name, each in taken.items()}


def flink_median(folder: Path, size: Size) -> float:
    """The milliseconds that PyFlink takes for the events of a micro-batch, of what many of them take.

    Raises
    ------
    Unavailable
        If PyFlink cannot be installed, or fails.
    """
    python, rng = python_of("peer-flink"), np.random.default_rng(7)
    batches = -(-size.flink // size.events)
    for name, numbers in (("few", range(1)), ("many", range(1 + batches))):
        (folder / name).mkdir(parents=True)
        for number in numbers:
            table = table_of(size, number, rng)
            times = table.column("t").cast(pa.timestamp("ms"), safe=False).cast(pa.string())  # Flink's watermarks are
            text.write_csv(table.set_column(0, "t", times), folder / name / f"{number:03}.csv",
                           text.WriteOptions(include_header=False, quoting_style="none"))  # fmt: skip
    command = [str(python), "-m", "benchmarks.peers.flink_stream", str(folder / "few"), str(folder / "many")]
    asked = {**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC"}
    done = subprocess.run(command, cwd=ROOT, env=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "Exception: " in line]
        raise Unavailable(said[-1].strip() if said else f"it ended with {done.returncode}")
    return 1000 * statistics.median(map(float, done.stdout.split())) / batches


def measure(sizes: Sequence[Size]) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Milliseconds of each contender at each size, and what could not be had."""
    spark = local_session("framefold benchmarks of streams", "local[2]", **{"spark.sql.shuffle.partitions": PARTITIONS})
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set(CHANGELOG, "true")
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 1000)
    found: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as root:
        for size in sizes:
            medians = spark_medians(spark, Path(root) / titled(size), size)
            if size.flink:
                try:
                    medians[FLINK] = flink_median(Path(root) / "flink" / titled(size), size)
                except Unavailable as error:
                    notes.append(f"- {titled(size)}: {FLINK} could not be had: {error}")
            found[titled(size)] = medians
            print(titled(size), medians, flush=True)
    spark.stop()
    return found, notes


def titled(size: Size) -> str:
    """What a size is called."""
    return f"{size.events:,}" if size.keys == KEYS else f"{size.events:,} of {size.keys:,} keys"


def table(sizes: Sequence[Size] = SIZES) -> list[str]:
    """The measurement as lines of Markdown: medians, how many times as long as ours of an hour, and what was asked."""
    found, notes = measure(sizes)
    names = [name for name in (*CONTENDERS, FLINK) if any(name in each for each in found.values())]

    def cell(medians: Mapping[str, float], name: str) -> str:
        return f"{medians[name]:,.0f} ({medians[name] / medians[OURS]:.2f})" if name in medians else ""

    return [
        "Milliseconds a micro-batch, median, and how many times as long as the first row; sum and count, of "
        f"{KEYS} keys where nothing else is said, {PARTITIONS} partitions of state in RocksDB with changelogs.",
        "",
        f"| events a micro-batch | {' | '.join(found)} |",
        "| --- |" + " ---: |" * len(found),
        *(f"| {name} | {' | '.join(cell(each, name) for each in found.values())} |" for name in names),
        "",
        *asked(found),
        "",
        "PyFlink has no micro-batches: its row is what as many events more take in a running job, from CSV and without "
        "checkpoints.",
        *notes,
    ]


@dataclass(frozen=True)
class Asked:
    """What the time of one contender, at a size, has to be over that of another."""

    size: str
    name: str
    base: str
    least: float = 0.0
    most: float = float("inf")


WANTED = [
    Asked("1,000", OURS, ONE_STATE, most=1.3),
    Asked("300,000", WINDOW, OURS, least=5),
    Asked("1,300,000", WINDOW, OURS, least=10),
    Asked("300,000", LONGER, OURS, most=1.0),
    Asked("1,300,000", LONGER, OURS, most=1.0),
    Asked("300,000", OURS, ALONE, most=1.5),
    Asked("1,300,000", OURS, ALONE, most=1.5),
    Asked("50,000 of 100,000 keys", CHAINED, OURS, least=20),
]
"""What issue 24 asks for."""


def asked(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What was asked for, and what was seen."""
    lines = [
        "| events a micro-batch | time of | over that of | asked | seen | holds |",
        "| --- | --- | --- | --- | ---: | --- |",
    ]
    for each in WANTED:
        if each.size in found:
            seen = found[each.size][each.name] / found[each.size][each.base]
            words = f"at least {each.least:g}" if each.least else f"at most {each.most:g}"
            holds = "yes" if each.least <= seen <= each.most else "no"
            lines.append(f"| {each.size} | {each.name} | {each.base} | {words} | {seen:.2f} | {holds} |")
    return lines


if __name__ == "__main__":
    chosen = [size for size in SIZES if not sys.argv[1:] or titled(size) in sys.argv[1:]]
    print("\n".join(table(chosen)))
