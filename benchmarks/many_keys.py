"""A million keys in 1,440 windows each, on executors: 1.44 billion results, in a Spark of 2 GiB.

``python -m benchmarks.many_keys`` takes many minutes; ``--keys`` asks for fewer. Each key has its events in one minute
of the day, and windows are a day long, one every minute: so every key has 1,440 windows, and in each of them all of its
events. With ``--hot`` one key has most of the events of all. Rows come as they came in, keys in no order: a batch of
them has nearly as many partials as events.

The results of all keys are counted, and added up by Spark; the windows of some keys are checked one by one. It also
says how much memory the Python workers took at most. Only Linux says that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

import framefold as ff
from framefold.spark.session.session import local_session

from .big_key import watch

Ints = NDArray[np.int64]

START, MINUTE, WINDOWS = 1_767_225_600_000_000, 60_000_000, 1_440
ROW_GROUP = 1 << 20
SAMPLE = 1_009
"""Every so-many-th key is checked window by window."""


def minute_of(keys: Ints) -> Ints:
    """The minute of the day in which the events of each key are."""
    return keys * 7_919 % WINDOWS


def write_events(path: Path, rows: int, keys: int, hot: float, seed: int = 7) -> None:
    """Events with a time ``t``, a key ``k`` and a whole number ``x``; each key has at least one."""
    rng = np.random.default_rng(seed)
    writer = None
    for start in range(0, rows, ROW_GROUP):
        count = min(ROW_GROUP, rows - start)
        at = np.arange(start, start + count)
        key = np.where(at < keys, at * 611_953 % keys, rng.integers(0, keys, count))
        key[(at >= keys) & (rng.random(count) < hot)] = 0
        time = START + minute_of(key) * MINUTE + rng.integers(0, MINUTE, count)
        part = pa.table(
            {"t": pa.array(time).cast(pa.timestamp("us", "UTC")), "k": key, "x": rng.integers(0, 1000, count) * 1.0}
        )
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def expected(path: Path, keys: int) -> tuple[NDArray[np.float64], Ints]:
    """The sum and the count of each key, by numpy."""
    total, count = np.zeros(keys), np.zeros(keys, np.int64)
    for batch in pq.ParquetFile(path).iter_batches(ROW_GROUP, columns=["k", "x"]):
        key = batch["k"].to_numpy()
        total += np.bincount(key, batch["x"].to_numpy(), keys)
        count += np.bincount(key, minlength=keys)
    return total, count


def wrong(sample: pa.Table, total: NDArray[np.float64], count: Ints) -> int:
    """How many windows of some keys are not those that there must be."""
    key = sample["k"].to_numpy()
    start = pc.struct_field(sample["window"], "start").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    keys = np.arange(0, len(total), SAMPLE)
    first = START + (minute_of(keys) - WINDOWS + 1) * MINUTE
    starts = first[:, None] + np.arange(WINDOWS) * MINUTE
    if len(key) != starts.size or not (key == np.repeat(keys, WINDOWS)).all():
        return max(len(key), starts.size)
    right = (start == starts.ravel()) & (sample["total"].to_numpy() == total[key])
    return int((~(right & (sample["events"].to_numpy() == count[key]))).sum())


def query(source: object) -> DataFrame:
    """The job."""
    windows = ff.events(source, time="t", by="k").window(ff.sliding("1 day", every="1 minute"))
    result: DataFrame = windows.options(combine="executors").aggregate(total=ff.Sum("x"), events=ff.Count())
    return result


def main() -> None:
    """Write events, run the query, check the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, help="twenty a key unless given")
    parser.add_argument("--hot", type=float, default=0.0, help="the share of the events that one key has")
    parser.add_argument("--tasks", type=int, default=16, help="how many tasks a shuffle goes to")
    parser.add_argument("--memory", default="2g", help="of Spark's heap")
    parser.add_argument("--dataframe", action="store_true", help="events of a DataFrame, and not of files")
    parser.add_argument("--check", action="store_true", help="run it a second time, and check the results")
    asked = parser.parse_args()
    settings = {
        "spark.driver.memory": asked.memory,
        "spark.sql.shuffle.partitions": str(asked.tasks),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }
    rows = asked.events or 20 * asked.keys
    spark = local_session("framefold many keys", "local[2]", **settings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.parquet")
        write_events(path, rows, asked.keys, asked.hot)
        source = spark.read.parquet(str(path)) if asked.dataframe else ff.parquet(path, spark=spark)
        stop, most = threading.Event(), [0]
        watching = threading.Thread(target=watch, args=(stop, most))
        watching.start()
        started = time.perf_counter()
        query(source).write.format("noop").mode("overwrite").save()
        taken = time.perf_counter() - started
        stop.set()
        watching.join()
        results = asked.keys * WINDOWS
        print(f"{rows:,} events, {asked.keys:,} keys, {results:,} results in {taken:.0f} s", flush=True)
        print(f"the largest Python worker held {most[0] / 2**20:.0f} MiB", flush=True)
        if asked.check:
            total, count = expected(path, asked.keys)
            answer = query(source)
            sums = answer.agg(f.count("*"), f.sum("total"), f.sum("events")).collect()[0]
            sample = answer.where(f"k % {SAMPLE} = 0").toArrow()
            bad = wrong(sample, total, count)
            print(f"{sums[0]:,} results; {bad} of {len(sample):,} that were looked at are wrong", flush=True)
            if bad or tuple(sums) != (results, total.sum() * WINDOWS, count.sum() * WINDOWS):
                sys.exit(f"the results are wrong: {sums}")
        spark.stop()


if __name__ == "__main__":
    main()
