"""Late events of streams beside Spark's own ``window()`` on the same micro-batches: the same rows."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

from pyspark.sql import functions as f

import framefold as ff

from ..support.stream_source import MINUTE, Source, late_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
@pytest.mark.parametrize(
    ("windows", "runs", "numbers_of_shards"),
    [
        (("20 minutes", "20 minutes"), (3, 2), (7,)),
        pytest.param(("20 minutes", "20 minutes"), (4, 2, 3), (1, 7), marks=pytest.mark.slow),
        pytest.param(("20 minutes", "5 minutes"), (4, 2, 3), (1, 7), marks=pytest.mark.slow),
    ],
    ids=["a few of tumbling windows", "tumbling", "sliding"],
)
def test_late_events_are_those_of_spark(
    spark: SparkSession,
    tmp_path: Path,
    windows: tuple[str, str],
    runs: tuple[int, ...],
    numbers_of_shards: tuple[int, ...],
) -> None:
    """Stopped and started again, so that micro-batches without data are between those that have some.

    Where windows do not overlap each event is in its window or counted as late.
    """
    ours = [f"of {shards}" for shards in numbers_of_shards]
    source = Source(spark, tmp_path)
    theirs = source.plain.withWatermark("time", "10 minutes").groupBy("key", f.window("time", *windows))
    queries = {
        "theirs": theirs.agg(f.count("*").alias("n")),
        **{
            f"of {shards}": source.query(ff.sliding(windows[0], every=windows[1]), shards=shards).aggregate(
                n=ff.Count()
            )
            for shards in numbers_of_shards
        },
    }
    late: Counter[str] = Counter()
    tables = [in_disorder(number) for number in range(sum(runs))]
    coming = iter(tables)
    for batches in runs:
        source.add(*islice(coming, batches))
        running = {name: source.start(query, name) for name, query in queries.items()}
        for name, query in running.items():
            assert query.awaitTermination(300)
            late[name] += 0 if name == "theirs" else late_events(query)
    found = {name: of_windows(spark.read.parquet(str(tmp_path / name))) for name in queries}
    assert all(found[name] == found["theirs"] for name in ours)
    assert len({late[name] for name in ours}) == 1
    assert late[ours[0]] > 20
    if windows[0] == windows[1]:
        # The last micro-batch's events whose window has not closed are in none yet.
        watermark = max(table["time"].cast("int64").to_numpy().max() for table in tables) - 10 * MINUTE
        ticks = np.concatenate([table["time"].cast("int64").to_numpy() for table in tables])
        still_open = int((ticks // (20 * MINUTE) * 20 * MINUTE + 20 * MINUTE > watermark).sum())
        given = sum(n * times for (*_, n), times in found[ours[0]].items())
        assert given + late[ours[0]] + still_open == len(tables) * ROWS
