"""Late events of streams beside Spark's own ``window()`` on the same micro-batches: the same rows."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.stream_source import MINUTE, Source, late_events

pytestmark = pytest.mark.usefixtures("rocksdb")

ROWS = 40


def in_disorder(number: int) -> pa.Table:
    """Events of eighty minutes, which go on by twenty a micro-batch: many are late. Most keys are rare."""
    rng = np.random.default_rng(number)
    times = rng.integers((20 * number + 60) * MINUTE, (20 * number + 140) * MINUTE, ROWS)
    keys = rng.choice(["often", *(f"rare {each}" for each in range(20))], ROWS, p=[0.8, *[0.01] * 20])
    return pa.table({"time": pa.array(times).cast(pa.timestamp("us", tz="UTC")), "key": keys, "x": np.ones(ROWS)})


def of_windows(found: DataFrame) -> Counter[Any]:
    return Counter(tuple(row) for row in found.selectExpr("key", "window.start", "window.end", "n").collect())


@pytest.mark.slow
@pytest.mark.parametrize("step", ["20 minutes", "5 minutes"])
def test_late_events_are_those_of_spark(spark: SparkSession, tmp_path: Path, step: str) -> None:
    """Stopped and started again, so that micro-batches without data are between those that have some.

    Where windows do not overlap each event is in its window or counted as late.
    """
    source = Source(spark, tmp_path)
    theirs = source.plain.withWatermark("time", "10 minutes").groupBy("key", f.window("time", "20 minutes", step))
    windows, ours = ff.sliding("20 minutes", every=step), {f"of-{shards}": shards for shards in (1, 7)}
    queries = {name: source.query(windows, shards=shards).aggregate(n=ff.Count()) for name, shards in ours.items()}
    queries["theirs"] = theirs.agg(f.count("*").alias("n"))
    late: Counter[str] = Counter()
    tables = [in_disorder(number) for number in range(9)]
    for first, last in pairwise((0, 4, 6, 9)):
        running = source.add(*tables[first:last]).run(**queries)
        late.update({name: late_events(running[name]) for name in ours})
    found = {name: of_windows(spark.read.parquet(str(tmp_path / name))) for name in queries}
    assert found["of-1"] == found["of-7"] == found["theirs"]
    assert late["of-1"] == late["of-7"] > 20
    if step == "20 minutes":  # the last micro-batch's events whose window has not closed are in none yet
        ticks = np.concatenate([table["time"].cast("int64").to_numpy() for table in tables])
        still_open = int((ticks // (20 * MINUTE) * 20 * MINUTE + 20 * MINUTE > ticks.max() - 10 * MINUTE).sum())
        given = sum(n * times for (*_, n), times in found["of-1"].items())
        assert given + late["of-1"] + still_open == len(tables) * ROWS
