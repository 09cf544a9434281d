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
from pathlib import Path

from .contestants import TITLES
from .events import write_events
from .jobs import MINUTE, Job
from .turns import check, in_turns, ratio

OURS, STAGES, WINDOW = "framefold_spark.parquet", "spark.two_stages", "spark.window"
SIZES = (60, 100)
"""Minutes of a window."""
WARM_UPS = 3
HEADER = ["| against | windows | framefold | the other | times faster |", "| --- | --- | --- | --- | --- |"]


def row(other: str, job: Job, pairs: int) -> str:
    """So many pairs as a row of the table."""
    found = in_turns((OURS, other), job, pairs)
    ours, theirs = (statistics.median(found[contender].seconds) for contender in (OURS, other))
    faster = ratio(found[other], found[OURS])
    return f"| {TITLES[other]} | {job.size // MINUTE} min | {ours:.2f} s | {theirs:.2f} s | {faster} |"


def main() -> None:
    """Write events, check, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--window", type=int, default=1, help="how many pairs with Spark's window()")
    asked = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    others = {STAGES: asked.pairs, WINDOW: asked.window}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.parquet")
        write_events(path, asked.rows, asked.keys)
        jobs = [Job(str(path), size=size * MINUTE) for size in SIZES]
        for job in jobs:
            check((OURS, *(other for other, pairs in others.items() if pairs)), job, Path(folder))
        for _ in range(WARM_UPS):
            for job in jobs:
                in_turns((OURS, STAGES), job, 1)
        print("\n".join(HEADER), flush=True)
        for other, pairs in others.items():
            for job in jobs if pairs else ():
                print(row(other, job, pairs), flush=True)


if __name__ == "__main__":
    main()
