"""Twenty million rows of one key in windows of its last thousand rows, on executors: no task ever holds the key.

``python -m benchmarks.big_key`` takes some minutes. It checks every row against numpy, and says how much memory the
Python workers took at most. Only Linux says that.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import framefold as ff
from framefold.spark.session.session import local_session

WINDOW = 1000


def write_events(path: Path, rows: int, seed: int = 7) -> None:
    """Events of one key in no order, many of one time, with their own numbers to tell these apart."""
    rng = np.random.default_rng(seed)
    table = pa.table({"t": rng.integers(0, rows // 2, rows), "id": np.arange(rows), "x": rng.integers(-999, 999, rows)})
    pq.write_table(table, path, row_group_size=1 << 20)


def wrong_rows(events: Path, results: Path) -> tuple[int, int]:
    """How many results there are, and how many of them are not what numpy makes of the events."""
    columns = [pq.read_table(events, columns=[name])[name].to_numpy() for name in ("t", "id", "x")]
    order = np.lexsort(columns[1::-1])
    times, x = columns[0][order], columns[2][order]
    sums = np.concatenate([[0], np.cumsum(x)])
    row = wrong = 0
    for batch in ds.dataset(sorted(results.glob("*.parquet"))).to_batches():
        at = np.arange(row, row + len(batch))
        low = np.maximum(at - WINDOW + 1, 0)
        right = (batch["at"].to_numpy() == times[at]) & (batch["first"].to_numpy() == x[low])
        wrong += int((~right | (batch["total"].to_numpy() != sums[at + 1] - sums[low])).sum())
        row += len(batch)
    return row, wrong + len(x) - row


def workers() -> Iterator[int]:
    """The memory that each Python worker of this Spark holds now, in bytes."""
    parents, held = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
            parents[int(process.name)] = int(fields["PPid"])
            if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                held[int(process.name)] = int(fields["VmRSS"].split()[0]) << 10
        except (OSError, KeyError):  # it has ended
            continue
    for worker, memory in held.items():
        while worker not in (os.getpid(), 0):
            worker = parents.get(worker, 0)
        if worker:
            yield memory


def watch(stop: threading.Event, most: list[int]) -> None:
    """Note the most that one worker held, until told to stop."""
    while not stop.wait(0.1):
        most[0] = max(most[0], *workers(), 0)


def main() -> None:
    """Write events, run the query, check the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--tasks", type=int, default=32, help="how many tasks a shuffle goes to")
    parser.add_argument("--combine", default="executors", choices=["executors", "auto"])
    asked = parser.parse_args()
    settings = {
        "spark.sql.shuffle.partitions": str(asked.tasks),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }
    spark = local_session("framefold big key", "local[2]", **settings)
    with tempfile.TemporaryDirectory() as folder:
        events, results = Path(folder, "events.parquet"), Path(folder, "results")
        write_events(events, asked.rows)
        stop, most = threading.Event(), [0]
        watching = threading.Thread(target=watch, args=(stop, most))
        watching.start()
        started = time.perf_counter()
        query = ff.events(spark.read.parquet(str(events)), time="t", ties="id").window(ff.last_rows(WINDOW))
        result = query.options(combine=asked.combine).aggregate(total=ff.Sum("x"), first=ff.First("x"))
        result.write.parquet(str(results))
        taken = time.perf_counter() - started
        stop.set()
        watching.join()
        found, wrong = wrong_rows(events, results)
        spark.stop()
    print(f"{found:,} results of {asked.rows:,} rows of one key in {taken:.0f} s, {wrong} wrong")
    print(f"the largest Python worker held {most[0] / 2**20:.0f} MiB")
    if wrong:
        sys.exit("the results are wrong")


if __name__ == "__main__":
    main()
