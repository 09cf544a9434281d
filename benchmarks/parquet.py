"""The reference job from a Parquet file: tasks that read it themselves, against what a user could write in Spark.

``python -m benchmarks.parquet`` checks first that results are equal, then measures in pairs: framefold and the other,
one right after the other, in one warm session; every result is computed and thrown away. ``--window 0`` leaves out
Spark's ``window()``, which takes minutes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .compare import compare
from .contestants import TITLES
from .events import write_events
from .jobs import MINUTE, Job
from .peers import framefold_spark, spark
from .peers.sessions import consume, save

OURS = "parquet"
SIZES = (60, 100)
"""Minutes of a window."""


class Pairs(NamedTuple):
    """Seconds of framefold and of another, in pairs."""

    other: str
    size: int
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """How many times as long the other takes: the median of the pairs."""
        return statistics.median(b / a for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def row(self) -> str:
        """A row of the table."""
        a, b = statistics.median(self.ours), statistics.median(self.theirs)
        least, most = (pick(b / a for a, b in zip(self.ours, self.theirs, strict=True)) for pick in (min, max))
        return (
            f"| {TITLES[f'spark.{self.other}']} | {self.size} min | {a:.2f} s | {b:.2f} s | {self.ratio:.1f} "
            f"| {least:.1f} - {most:.1f} | {len(self.ours)} |"
        )


HEADER = ["| against | windows | framefold | the other | times faster | from - to | pairs |", "|" + " --- |" * 7]


def jobs(path: Path) -> list[Job]:
    """The reference job, with windows of each size."""
    return [Job(str(path), size=size * MINUTE) for size in SIZES]


def seconds(way: Callable[[Job], Any], job: Job) -> float:
    """How long it takes to compute every row."""
    started = time.perf_counter()
    consume(way(job))
    return time.perf_counter() - started


def differing(other: str, job: Job, folder: Path) -> int:
    """How many windows two results do not have in common, but for those that the other leaves out by its nature."""
    ours, theirs = folder / "ours", folder / "theirs"
    save(framefold_spark.WAYS[OURS](job), job, str(ours))
    save(spark.WAYS[other](job), job, str(theirs))
    found = compare(ours, theirs, job)
    return int(found.differing + found.added + (0 if other == "two_stages" else found.missing))


def measured(other: str, job: Job, count: int) -> Pairs:
    """So many pairs."""
    found = Pairs(other, job.size // MINUTE, [], [])
    for _ in range(count):
        found.ours.append(seconds(framefold_spark.WAYS[OURS], job))
        found.theirs.append(seconds(spark.WAYS[other], job))
    return found


def all_pairs(path: Path, two_stages: int, window: int) -> Iterator[Pairs]:
    """All that is measured, after three rounds that warm up the JVM and the Python workers."""
    for _ in range(3):
        for job in jobs(path):
            seconds(framefold_spark.WAYS[OURS], job)
            seconds(spark.WAYS["two_stages"], job)
    for other, count in (("two_stages", two_stages), ("window", window)):
        for job in jobs(path):
            if count:
                yield measured(other, job, count)


def main() -> None:
    """Write events, check, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--window", type=int, default=1, help="how many pairs with Spark's window()")
    asked = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.parquet")
        write_events(path, asked.rows, asked.keys)
        for job in jobs(path):
            for other in ("two_stages", *(["window"] if asked.window else [])):
                wrong = differing(other, job, Path(folder))
                print(f"{TITLES[f'spark.{other}']}, {job.size // MINUTE} min: {wrong} windows differ", flush=True)
                if wrong:
                    sys.exit("the results are not equal")
        print("\n".join(["", *HEADER]), flush=True)
        for pairs in all_pairs(path, asked.pairs, asked.window):
            print(pairs.row, flush=True)


if __name__ == "__main__":
    main()
