"""A long stream: ten days of event time, and what state, sockets and memory come to on the way.

``python -m benchmarks.soak`` makes events as it goes, in micro-batches of equal event time; it stops at the end of
the days, or when its time is up, and puts what it has seen into the page of streams, as a picture and in figures.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "streams.md"
PICTURE = PAGE.parent / "pictures" / "soak.png"
BEGIN, END = "<!-- make soak -->\n", "<!-- made -->\n"
"""Around what the page of streams says of it."""
FIGURES = {
    "values": ("values in the state", ",.0f"),
    "state": ("state in memory, as RocksDB says, MB", ",.1f"),
    "checkpoint": ("state on disk, with its ten last versions, MB", ",.1f"),
    "sockets": ("open sockets, all processes", ",.0f"),
    "jvm": ("memory of the JVM, with a heap of 1 GB, MB", ",.0f"),
    "python": ("memory of Python, driver and workers, MB", ",.0f"),
    "seconds": ("seconds a micro-batch", ",.2f"),
}
KEYS = 1000
DAY = 86_400_000
"""In milliseconds."""


def result(spark: Any, events: int, span: int) -> Any:
    """An hour's windows every five minutes; a micro-batch has so many events, of so many milliseconds of event time."""
    from pyspark.sql import functions as f

    import framefold as ff

    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", events)
    source = source.option("startTimestamp", 0).option("advanceMillisPerBatch", span)
    value = f.col("value")
    stream = source.load().select(
        f.timestamp_millis(f.unix_millis("timestamp") + (value * 7919) % span).alias("time"),
        (f.hash(value) % KEYS).alias("key"),
        (value % 1009).cast("double").alias("x"),
    )
    windows = ff.events(stream, time="time", by="key").window(ff.sliding("1 hour", every="5 minutes"))
    return windows.stream(watermark="10 minutes").aggregate(n=ff.Count(), s=ff.Sum("x"), high=ff.Max("x"))


def processes() -> list[int]:
    """Of this one's descendants, and itself."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[1])
    found = [os.getpid()]
    for each in found:
        found += [process for process, parent in parents.items() if parent == each]
    return found


def sockets(process: int) -> int:
    """How many a process has open."""
    count = 0
    with suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                count += os.readlink(f"/proc/{process}/fd/{name}").startswith("socket:")
    return count


def memory(process: int) -> tuple[str, int]:
    """What runs, and the bytes of it in memory."""
    with suppress(OSError):
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return Path(f"/proc/{process}/comm").read_text().strip(), pages * os.sysconf("SC_PAGESIZE")
    return "", 0


def size(folder: Path) -> int:
    """The bytes of all files below a folder."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found += os.stat(os.path.join(place, name)).st_size
    return found


def sample(progress: Any, checkpoint: Path) -> dict[str, float]:
    """What there is after a micro-batch."""
    state = progress["stateOperators"][0]
    running = processes()
    used = [memory(process) for process in running]
    return {
        "batch": progress["batchId"],
        "events": progress["numInputRows"],
        "seconds": progress["batchDuration"] / 1000,
        "values": state["numRowsTotal"],
        "state": state["memoryUsedBytes"] / 1e6,
        "checkpoint": size(checkpoint / "state") / 1e6,
        "sockets": sum(map(sockets, running)),
        "jvm": sum(bytes for name, bytes in used if name == "java") / 1e6,
        "python": sum(bytes for name, bytes in used if name != "java") / 1e6,
    }


def soak(days: float, batches: int, events: int, seconds: float) -> list[dict[str, float]]:
    """Run the stream; a sample for each micro-batch that had events."""
    import framefold as ff
    from framefold.spark.session.session import local_session

    settings = ff.spark_conf(streams=True, partitions=2) | {
        "spark.sql.streaming.stateStore.maintenanceInterval": "15s",
        "spark.sql.streaming.minBatchesToRetain": "10",  # of 100, so that one sees whether the disk fills up
        "spark.driver.memory": "1g",
    }
    spark = local_session("soak", "local[2]", **settings)
    samples: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        writer = (
            result(spark, events, round(days * DAY / batches))
            .writeStream.format("noop")
            .option("checkpointLocation", folder)
        )
        query = writer.start()
        end = time.monotonic() + seconds
        try:
            while len(samples) < batches and time.monotonic() < end and query.isActive:
                done = query.lastProgress
                seen = samples[-1]["batch"] if samples else -1
                if done and done["numInputRows"] and done["stateOperators"] and done["batchId"] > seen:
                    samples.append(sample(done, Path(folder)) | {"days": (len(samples) + 1) * days / batches})
                time.sleep(0.1)
            if query.exception() is not None:
                raise query.exception()
        finally:
            query.stop()
    return samples


def draw(samples: list[dict[str, float]], path: Path) -> None:
    """Four plots over event time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    days = [sample["days"] for sample in samples]
    figure, places = pyplot.subplots(2, 2, figsize=(10, 6), sharex=True)
    for place, title, lines in zip(
        places.flat,
        ["state, MB", "open sockets, all processes", "memory, MB", "seconds a micro-batch"],
        [
            {
                "checkpoint": "on disk, with the ten last versions",
                "state": "in memory, as RocksDB says",
            },
            {"sockets": ""},
            {"jvm": "JVM, with a heap of 1 GB", "python": "Python: driver and workers"},
            {"seconds": ""},
        ],
        strict=True,
    ):
        for name, label in lines.items():
            place.plot(days, [sample[name] for sample in samples], label=label, linewidth=1)
        place.set_title(title)
        place.set_ylim(bottom=0)
        if len(lines) > 1:
            place.legend(fontsize=8)
    for place in places[1]:
        place.set_xlabel("days of event time")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def figures(samples: list[dict[str, float]], seconds: float) -> list[str]:
    """What was run, and what there was early and late in it, as lines of Markdown."""
    tenth = max(1, len(samples) // 10)
    early, late = samples[tenth : 2 * tenth] or samples, samples[-tenth:]

    def mean(some: list[dict[str, float]], name: str) -> float:
        return sum(each[name] for each in some) / len(some)

    return [
        f"{sum(each['events'] for each in samples):,.0f} events of {KEYS:,} keys over {samples[-1]['days']:.1f} days "
        f"of event time, in {len(samples)} micro-batches, an hour's windows every five minutes, in local mode on "
        f"{os.cpu_count()} cores, in {seconds / 60:.1f} minutes (`make soak`). Means of its second and last tenth:",
        "",
        "| | second tenth | last tenth |",
        "| --- | ---: | ---: |",
        *(f"| {title} | {mean(early, name):{form}} | {mean(late, name):{form}} |"
          for name, (title, form) in FIGURES.items()),
    ]  # fmt: skip


def put(lines: list[str], page: Path) -> None:
    """Say it in the page, in place of what the last run has said."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    page.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=10)
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--events", type=int, default=100_000_000, help="of all days together")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--picture", type=Path, help="only a picture there, and nothing in the page of streams")
    parser.add_argument("--samples", type=Path, help="a file for what was measured, as JSON")
    said = parser.parse_args()
    started = time.monotonic()
    samples = soak(said.days, said.batches, round(said.events / said.batches), said.seconds)
    if said.samples:
        said.samples.write_text(json.dumps(samples))
    lines = figures(samples, time.monotonic() - started)
    draw(samples, said.picture or PICTURE)
    if said.picture is None:
        put(lines, PAGE)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
