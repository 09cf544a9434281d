"""How long medians of 100 million events take, and how much memory: an hour every minute of 100 keys.

``python -m benchmarks.holistic_large`` prints the table as Markdown, and ``python -m benchmarks.run --cases
holistic-large`` writes it into the report. Each engine has a process of its own, which reads the events from Parquet.
Memory is the most that it and its children, the JVM and Python workers, held together: proportional set sizes, looked
at twice a second. Only Linux says these.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff

from .report import table

EVENTS, KEYS = 100_000_000, 100
"""An event of each key a second."""

PART = 5_000_000
"""The events of a file."""

QUERY = ff.sliding("1 hour", every="1 minute")


def write(folder: Path, events: int) -> None:
    """Files of events, in the order of time."""
    for start in range(0, events, PART):
        rows = np.arange(start, min(start + PART, events))
        values = np.random.default_rng(start).normal(size=len(rows))
        times = pa.array(rows // KEYS * 1_000_000, pa.timestamp("us", "UTC"))
        data = pa.table({"t": times, "k": (rows % KEYS).astype(np.int32), "x": values})
        pq.write_table(data, folder / f"{start // PART:03}.parquet")


def run(engine: str, folder: Path) -> str:
    """Windows, and the sum of their medians, of an engine in this process."""
    spark = None
    if engine == "Spark":
        from framefold.spark.session.session import local_session

        spark = local_session("holistic_large", **{"spark.driver.memory": "3g"})
    began = time.monotonic()
    query = ff.events(ff.parquet(str(folder), spark=spark), time="t", by="k").window(QUERY)
    found = query.aggregate(r=ff.Median("x"))
    if spark is None:
        count, total = len(found), float(np.sum(found["r"].to_numpy()))
    else:
        from pyspark.sql import functions as f

        count, total = found.agg(f.count("*"), f.sum("r")).first()
    took = time.monotonic() - began
    if spark is not None:
        spark.stop()
    return f"{took:.1f} {count} {total:.6f}"


def held(pid: int) -> int:
    """The bytes that a process and its children hold together."""
    total, waiting = 0, [pid]
    while waiting:
        each = Path("/proc", str(waiting.pop()))
        try:
            lines = (each / "smaps_rollup").read_text().splitlines()
            waiting += map(int, " ".join(path.read_text() for path in each.glob("task/*/children")).split())
        except OSError:  # it has ended
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def tables(events: int = EVENTS) -> dict[str, list[str]]:
    """That of the report."""
    lines, seen = [], []
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), events)
        for engine in ("local", "Spark"):
            command = [sys.executable, "-m", "benchmarks.holistic_large", "--one", engine, name]
            most = 0
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                while process.poll() is None:
                    most = max(most, held(process.pid))
                    time.sleep(0.5)
                assert process.stdout is not None
                found = process.stdout.read().split()
            if process.returncode:
                sys.exit(f"medians of {events:,} events on the engine {engine} ended with {process.returncode}")
            seconds, count, total = found
            seen.append((count, round(float(total), 3)))
            lines.append([engine, seconds, f"{most / 2**30:.1f}", f"{int(count):,}"])
            print(" ".join(lines[-1]), file=sys.stderr, flush=True)
    if len(set(seen)) > 1:
        sys.exit(f"engines differ: {seen}")
    head = ["engine", "seconds", "GiB at most, all processes", "windows"]
    title = f"Holistic, large: medians of an hour every minute, {events:,} events of {KEYS} keys from Parquet"
    return {title: table(head, lines, 1)}


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--one", nargs=2, help="an engine and the folder of the events, in this process")
    asked = parser.parse_args()
    if asked.one:
        print(run(asked.one[0], Path(asked.one[1])))
        return
    for title, lines in tables(asked.events).items():
        print("\n".join([f"## {title}", "", *lines, ""]))


if __name__ == "__main__":
    main()
