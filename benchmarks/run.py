"""Measure framefold side by side with what a user could write instead, and write ``benchmarks/report.md``.

``python -m benchmarks.run`` takes some minutes; ``--quick`` checks on few events that the results are equal, and
writes no report.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import framefold as ff
from framefold.spark.session import local_session

from . import accumulate, overlap
from .contenders import (
    Job,
    differing_rows,
    framefold_dataframe,
    framefold_local,
    spark_two_stages,
    spark_window,
)
from .events import write_events

SIZES = (10, 60, 100)
FRAMEFOLD = "framefold, DataFrame"
WINDOW = "Spark window()"
SPARK = {
    WINDOW: spark_window,
    FRAMEFOLD: framefold_dataframe("auto"),
    "framefold, DataFrame, combined on executors": framefold_dataframe("executors"),
    "Spark, two stages by hand": spark_two_stages,
}


def seconds(run: Callable[[], object]) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def consume(result: DataFrame) -> None:
    """Compute every row of a result and throw it away."""
    result.write.format("noop").mode("overwrite").save()


def check(spark: SparkSession, job: Job) -> None:
    """Exit with an error unless all that have the same windows have the same results."""
    theirs = spark_window(spark, job).toArrow()
    for name, ours in {
        FRAMEFOLD: framefold_dataframe("auto")(spark, job).toArrow(),
        "framefold, executors": framefold_dataframe("executors")(spark, job).toArrow(),
        "framefold, local engine": framefold_local(job),
    }.items():
        wrong = differing_rows(ours, theirs)
        print(f"{name}: {len(ours)} windows of {job.size} min, {wrong} differ from {WINDOW}", flush=True)
        if wrong:
            sys.exit(f"{name} is wrong")


def measure(spark: SparkSession, path: Path, repeats: int) -> dict[str, dict[int, list[float]]]:
    """Seconds of each contender for each size of window, measured in turns; ``window()`` not in every turn."""
    found: dict[str, dict[int, list[float]]] = {name: {size: [] for size in SIZES} for name in [*SPARK, "local engine"]}
    for repeat in range(repeats + 1):  # the first round warms up and does not count
        for size in SIZES:
            job = Job(path, size)
            for name, contender in SPARK.items():
                if name == WINDOW and repeat not in {10: (0, 1), 60: (1, 2, 3), 100: (1,)}[size]:
                    continue  # half a minute and more each time
                taken = seconds(lambda contender=contender, job=job: consume(contender(spark, job)))  # type: ignore[misc]
                if repeat:
                    found[name][size].append(taken)
                print(f"{size:4d} min  {name:45s} {taken:8.2f} s{'' if repeat else '  (warm-up)'}", flush=True)
            taken = seconds(lambda job=job: framefold_local(job))  # type: ignore[misc]
            if repeat:
                found["local engine"][size].append(taken)
            print(f"{size:4d} min  {'local engine':45s} {taken:8.2f} s", flush=True)
    return found


def report(found: dict[str, dict[int, list[float]]], paired: list[float], rows: int, keys: int) -> str:
    """The report of a measurement."""
    medians = {name: {size: statistics.median(runs[size]) for size in SIZES} for name, runs in found.items()}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    import pyspark

    lines = [
        "# Benchmark report",
        "",
        f"Sum and count by key of {rows:,} events of {keys} keys over a day, from Parquet, in windows every minute.",
        "All contenders ran in turns in one session of one machine; seconds are medians, and only ratios mean much.",
        "Results were compared first: every window equal, float sums to 1e-9.",
        f"Runs: {len(found[FRAMEFOLD][60])} of each; of {WINDOW} {len(found[WINDOW][60])} at 60 min, one otherwise.",
        "",
        f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"PySpark {pyspark.__version__}, "
        f"pyarrow {pa.__version__}, framefold {ff.__version__} at {commit.stdout.strip() or 'no commit'}.",
        "",
        "| seconds | " + " | ".join(f"{size} min" for size in SIZES) + " |",
        "| --- |" + " ---: |" * len(SIZES),
    ]
    for name, of in sorted(medians.items(), key=lambda item: item[1][60]):
        lines.append(f"| {name} | " + " | ".join(f"{of[size]:.2f}" for size in SIZES) + " |")
    ours, window = medians[FRAMEFOLD], medians[WINDOW]
    two = medians["Spark, two stages by hand"]
    lines += [
        "",
        f"- {FRAMEFOLD} is {window[60] / ours[60]:.1f} times as fast as {WINDOW} at 60 min, "
        f"{window[100] / ours[100]:.1f} times at 100 min.",
        f"- Against two stages by hand it takes {ours[60] / two[60]:.2f} times as long (two stages leave out the "
        "windows that end after a key's last event).",
        f"- Its time at 100 min is {ours[100] / ours[10]:.2f} times that at 10 min in the medians above.",
        overlap.line(paired),
        "",
        "Accumulating 8,000,000 rows of 100 keys and 1,440 frames, on one core, each operation by itself:",
        "",
        *accumulate.table(accumulate.nanoseconds()),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Check, measure, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few events, no report: only whether results are equal")
    asked = parser.parse_args()
    rows = 50_000 if asked.quick else asked.rows
    spark = local_session("framefold benchmarks", master="local[2]")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        write_events(path, rows, asked.keys)
        for size in SIZES[:1] if asked.quick else SIZES[:2]:
            check(spark, Job(path, size))
        if not asked.quick:
            text = report(measure(spark, path, asked.repeats), overlap.ratios(path, 14), rows, asked.keys)
            (Path(__file__).parent / "report.md").write_text(text)
            print(text)
    spark.stop()


if __name__ == "__main__":
    main()
