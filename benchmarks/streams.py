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
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as text
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from framefold.spark.session.session import local_session
from framefold.spark.session.settings import of_streams

from .child import ROOT
from .environments import Unavailable, python_of
from .stream_queries import (
    ALONE,
    CHAINED,
    CONTENDERS,
    FLINK,
    LATEST,
    LONGER,
    ONE_STATE,
    ONE_STATE_TWO,
    ONE_VALUE,
    ONE_VALUE_TWO,
    OURS,
    OURS_TWO,
    PARTITIONS,
    WINDOW,
)

EVENTS_A_DAY, KEYS, MINUTE = 4_000_000, 100, 60_000_000
WARM = 2
"""Turns, and micro-batches of each run, that are left out."""
WITHOUT_EVENTS = "spark.sql.streaming.noDataMicroBatches.enabled"
"""Micro-batches without events: the value now would have one at each trigger, by its clock, and never end."""
SLOW = (WINDOW, CHAINED)
Turns = Mapping[str, Sequence[float]]
"""The median micro-batch of each contender, in milliseconds, turn by turn."""


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
        How often each of them runs, in turns, after those that are left out.
    slow
        How many micro-batches what takes very long runs, once and after the others; 0 where it is one of them.
    flink
        How many events PyFlink is given, at least: so many that a second is something.
    partitions
        Of the state, where a contender has none of its own.
    """

    events: int
    keys: int
    minutes: float
    count: int
    names: Sequence[str]
    rounds: int = 5
    slow: int = 0
    flink: int = 0
    partitions: int = 1


def day(events: int, count: int, **of: int) -> Size:
    """Micro-batches of all contenders, of the events that a day has 4 million of."""
    return Size(events, KEYS, 1440 * events / EVENTS_A_DAY, count, list(CONTENDERS), **of)


SIZES = [
    day(1_000, 12),
    day(300_000, 7, slow=5, flink=3_000_000),
    day(1_300_000, 6, slow=4, flink=3_900_000),
    Size(50_000, 100_000, 5, 6, [OURS, CHAINED], 1, slow=4, flink=500_000, partitions=2),
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


def milliseconds(spark: SparkSession, files: str, name: str, schema: str, partitions: int | None) -> float:
    """The median micro-batch with events of a contender's run; with the session's partitions where none are given."""
    query, mode, own = CONTENDERS[name]
    if (number := own or partitions) is not None:
        spark.conf.set(PARTITIONS, number)
    spark.conf.set(WITHOUT_EVENTS, name != LATEST)
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(files)
    result = query(stream.withWatermark("t", "1 minute"))
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = result.writeStream.format("noop").outputMode(mode).option("checkpointLocation", checkpoint)
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
        taken = [each for each in running.recentProgress if each["numInputRows"]]
    return statistics.median(float(each["durationMs"]["triggerExecution"]) for each in taken[WARM:])


def spark_medians(spark: SparkSession, folder: Path, size: Size) -> dict[str, list[float]]:
    """What each contender takes, turn by turn."""
    schema = files(folder, size)
    slow = [name for name in size.names if name in SLOW and size.slow]
    taken: dict[str, list[float]] = {name: [] for name in size.names}
    for turn in range(-WARM, size.rounds):
        for name in size.names:
            if name not in slow:
                found = milliseconds(spark, str(folder), name, schema, size.partitions)
                taken[name] += [found] if turn >= 0 else []  # in the first ones the JVM compiles
    some = ",".join(f"{number:03}" for number in range(size.slow))
    for name in slow:
        taken[name].append(milliseconds(spark, f"{folder}/{{{some}}}.parquet", name, schema, size.partitions))
    return taken


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


def measure(sizes: Sequence[Size]) -> tuple[dict[str, Turns], list[str]]:
    """What each contender takes at each size, and what could not be had."""
    started = time.monotonic()
    spark = local_session("framefold benchmarks of streams", "local[2]")
    # Of all contenders, but that each run has its own number of partitions.
    for name, value in of_streams(2).items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 1000)
    found: dict[str, Turns] = {}
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as root:
        for size in sizes:
            taken = spark_medians(spark, Path(root) / titled(size), size)
            if size.flink:
                try:
                    taken[FLINK] = [flink_median(Path(root) / f"flink-{size.events}", size)]  # it takes a comma as %2C
                except Unavailable as error:
                    notes.append(f"- {titled(size)}: {FLINK} could not be had: {error}")
            found[titled(size)] = taken
            print(f"{time.monotonic() - started:.0f} s  {titled(size)} {taken}", flush=True)
    spark.stop()
    return found, notes


def titled(size: Size) -> str:
    """What a size is called."""
    if size.keys != KEYS:
        return f"{size.events:,} of {size.keys:,} keys"
    return f"{size.events:,} of a minute" if size.minutes == 1 else f"{size.events:,}"


def table(sizes: Sequence[Size] = SIZES) -> list[str]:
    """The measurement as lines of Markdown: medians, how many times as long as ours of an hour, and what was asked."""
    found, notes = measure(sizes)
    names = [name for name in (*CONTENDERS, FLINK) if any(name in each for each in found.values())]

    def cell(taken: Turns, name: str) -> str:
        return f"{statistics.median(taken[name]):,.0f} ({ratios(taken, name, OURS)[0]:.2f})" if name in taken else ""

    return [
        "Milliseconds a micro-batch, median, and how many times as long as the first row in the same turn; sum and "
        f"count, of {KEYS} keys unless more is said. State is in RocksDB with changelogs: in one partition, as "
        "docs/streams.md advises for few keys; in two for 100,000 keys, where a row says so, and for window() and what "
        "is chained with it, which take up to twice as long in one.",
        "",
        f"| events a micro-batch | {' | '.join(found)} |",
        "| --- |" + " ---: |" * len(found),
        *(f"| {name} | {' | '.join(cell(each, name) for each in found.values())} |" for name in names),
        "",
        *asked(found),
        "",
        *floors(found),
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
    Asked("1,000", OURS_TWO, ONE_STATE_TWO, most=1.3),
    Asked("300,000", WINDOW, OURS_TWO, least=5),
    Asked("1,300,000", WINDOW, OURS_TWO, least=10),
    Asked("300,000", OURS_TWO, ALONE, most=1.5),
    Asked("1,300,000", OURS_TWO, ALONE, most=1.5),
]
"""What a stream is to take."""


def ratios(taken: Turns, name: str, base: str) -> tuple[float, str]:
    """How many times as long one contender takes as another in the same turn: the median, and from what to what."""
    pairs = [mine / theirs for mine, theirs in zip(reversed(taken[name]), reversed(taken[base]), strict=False)]
    spread = f" ({min(pairs):.2f} to {max(pairs):.2f}, {len(pairs)} turns)" if len(pairs) > 1 else ""
    return statistics.median(pairs), f"{statistics.median(pairs):.2f}{spread}"


def asked(found: Mapping[str, Turns]) -> list[str]:
    """What was asked for, and what was seen."""
    lines = [
        "| events a micro-batch | time of | over that of | asked | seen | holds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in WANTED:
        if each.size in found:
            seen, words = ratios(found[each.size], each.name, each.base)
            limit = f"at least {each.least:g}" if each.least else f"at most {each.most:g}"
            holds = "yes" if each.least <= seen <= each.most else "no"
            lines.append(f"| {each.size} | {each.name} | {each.base} | {limit} | {words} | {holds} |")
    return lines


def floors(found: Mapping[str, Turns]) -> list[str]:
    """What any state in Python takes over accumulating alone, which has neither a state nor a shuffle."""
    lines = []
    for name in (ONE_VALUE, ONE_VALUE_TWO):
        seen = [f"{ratios(taken, name, ALONE)[1]} at {size}" for size, taken in found.items() if ALONE in taken]
        lines.append(f"{name}, a single number without any windows, over accumulating alone: {'; '.join(seen)}.")
    return [*lines, "What is beyond that is ours: reading, merging, sliding and writing partials, and results."]


RATES = [
    Size(events, KEYS, minutes or 1440 * events / EVENTS_A_DAY, 5, [OURS, OURS_TWO, ONE_VALUE, ONE_VALUE_TWO, ALONE], 3)
    for events, minutes in ((1_300_000, 0), (4_000_000, 0), (4_000_000, 1), (8_000_000, 1))
]
"""Micro-batches, one after the other, of as many events as there are cores and time for.

A stream that takes in millions of events a second has them within seconds of their time; one that catches up with
a backlog of thin days has a day's in a micro-batch, and 1,440 windows of each key to give.
"""


def rates() -> list[str]:
    """How many events a second micro-batches have, as lines of Markdown."""
    found, _ = measure(RATES)
    return [
        f"Millions of events a second in micro-batches one after the other, median of the turns; sum and count, {KEYS} "
        f"keys, 2 cores. A day has {EVENTS_A_DAY:,} events, and {1440 * KEYS:,} windows end in it; in a minute {KEYS}.",
        "",
        f"| events a micro-batch | {' | '.join(found)} |",
        "| --- |" + " ---: |" * len(found),
        *(
            f"| {name} | {' | '.join(rate(size, found[titled(size)][name]) for size in RATES)} |"
            for name in RATES[0].names
        ),
    ]


def rate(size: Size, taken: Sequence[float]) -> str:
    """Millions of events a second."""
    return f"{size.events / statistics.median(taken) / 1000:.2f}"


if __name__ == "__main__":
    chosen = [size for size in SIZES if not sys.argv[1:] or titled(size) in sys.argv[1:]]
    print("\n".join(table(chosen)))
