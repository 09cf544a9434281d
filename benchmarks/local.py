"""The local engine on Parquet against two stages written by hand in DuckDB and in Polars.

Two stages: one row a key and minute first, then windows over those few rows. Each contender reads the file with all
cores in this process, every round runs all of them in turns, and results are compared first.
``python -m benchmarks.local --rows 8000000`` prints a table as Markdown.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from .contestants import TITLES
from .events import write_events
from .jobs import Job
from .report import table
from .turns import Spent, check, in_turns, ratio

OURS = "framefold_local.local"
CONTENDERS = (OURS, "polars.two_stages", "polars.every", "duckdb.two_stages", "duckdb.every")


def lines(counts: dict[str, int], found: dict[str, Spent]) -> list[str]:
    """The measurement as lines of Markdown."""
    head = ["contender", "windows", "seconds", "CPU seconds", "ours takes, of its time"]
    rows = []
    for contender, spent in found.items():
        seconds, processor = statistics.median(spent.seconds), statistics.median(spent.processor)
        of = ratio(found[OURS], spent)
        rows.append([TITLES[contender], f"{counts[contender]:,}", f"{seconds:.3f}", f"{processor:.3f}", str(of)])
    return table(head, rows)


def main() -> None:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(str(Path(folder, "events.parquet")))
        write_events(Path(job.path), asked.rows, asked.keys)
        counts = check(CONTENDERS, job, Path(folder))
        in_turns(CONTENDERS, job, 1)  # warms up
        print("\n".join(lines(counts, in_turns(CONTENDERS, job, asked.rounds))))


if __name__ == "__main__":
    main()
