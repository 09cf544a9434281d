"""Whether the time depends on the overlap: windows of 10 and of 100 minutes in turns, pair by pair.

``python -m benchmarks.overlap`` prints the line that the report has.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from framefold.spark.session import local_session

from .contenders import Job, framefold_dataframe
from .events import write_events


def ratios(path: Path, pairs: int) -> list[float]:
    """The time of framefold on a DataFrame at 100 min over that at 10 min, for each pair."""
    spark = local_session("framefold overlap", master="local[2]")
    ours = framefold_dataframe("auto")

    def seconds(size: int) -> float:
        started = time.perf_counter()
        ours(spark, Job(path, size)).write.format("noop").mode("overwrite").save()
        return time.perf_counter() - started

    for size in (10, 100, 10, 100):  # warm-up
        seconds(size)
    found = []
    for pair in range(pairs):
        times = {size: seconds(size) for size in ((10, 100) if pair % 2 else (100, 10))}
        found.append(times[100] / times[10])
    return found


def line(found: list[float]) -> str:
    """The measurement as a line of Markdown."""
    least, most = min(found), max(found)
    return (
        f"- In {len(found)} pairs run in turns, its time at 100 min is {statistics.median(found):.2f} times that at 10 "
        f"min in the median ({least:.2f} to {most:.2f}), with ten times the overlap."
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.parquet"
        write_events(events, 8_000_000, 100)
        print(line(ratios(events, 14)))
