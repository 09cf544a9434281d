"""What windows give where events are few or none, on Spark as on the local engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import framefold as ff

from ..support.spark_results import listed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = 60_000_000
CHOICES: dict[str, dict[str, Any]] = {
    "driver": {"combine": "driver"},
    "executors": {"combine": "executors"},
    "tasks": {"combine": "executors", "accumulate": "python"},
}


def events(rows: int = 60) -> pa.Table:
    rng = np.random.default_rng(6)
    times = pa.array(rng.integers(0, 200 * MINUTE, rows)).cast(pa.timestamp("us", tz="UTC"))
    x = pa.array(rng.integers(0, 100, rows), mask=rng.random(rows) < 0.3)
    return pa.table({"t": times, "k": rng.choice(["a", "b"], rows), "x": x})


def time(minute: int) -> Any:
    return pa.scalar(minute * MINUTE, pa.timestamp("us", tz="UTC")).as_py()


@pytest.mark.parametrize("choice", CHOICES)
def test_windows_are_filled(spark: SparkSession, choice: str) -> None:
    keys = pa.table({"zone": ["one", "two"], "k": ["b", "c"]})
    df = spark.createDataFrame(events())
    choices: dict[str, Any] = {"empty": "emit", "fill_from": time(-30), "fill_to": time(260)}
    outputs = {"n": ff.Count(), "x": ff.Sum("x")}
    for mine, theirs in ((None, None), (keys, spark.createDataFrame(keys))):
        own, given = (ff.sliding("20 minutes", "10 minutes", **choices, fill_keys=each) for each in (mine, theirs))
        local = ff.events(events(), time="t", by="k").window(own).aggregate(**outputs)
        query = ff.events(df, time="t", by="k").window(given).options(**CHOICES[choice])
        assert sorted(listed(query.aggregate(**outputs))) == sorted(listed(local))
        assert len(local) == 30 * (2 if mine is None else 3)
    nothing = ff.events(df.where("false"), time="t").window(ff.tumbling("1 hour", **choices)).options(**CHOICES[choice])
    assert [row.n for row in nothing.aggregate(n=ff.Count()).collect()] == [0] * 6


@pytest.mark.parametrize("choice", CHOICES)
def test_keys_whose_events_are_all_in_gaps_are_filled(spark: SparkSession, choice: str) -> None:
    """Windows of ten minutes every hour: each key has those from 0 to 180 minutes, wherever its events are."""
    minutes, keys = [5, 30, 100, 130, 59, 240], ["a", "b", "b", "a", "c", "d"]
    times = pa.array([each * MINUTE for each in minutes]).cast(pa.timestamp("us", tz="UTC"))
    table = pa.table({"t": times, "k": keys, "x": [1] * 6})
    fill: dict[str, Any] = {"empty": "emit", "fill_from": time(0), "fill_to": time(180)}
    windows = ff.sliding("10 minutes", every="1 hour", gaps="allow", **fill)
    query = ff.events(spark.createDataFrame(table), time="t", by="k").window(windows).options(**CHOICES[choice])
    found = [(row.k, row.n) for row in query.aggregate(n=ff.Count(), x=ff.Sum("x")).orderBy("k", "window").collect()]
    assert found == [("a", 1), ("a", 0), ("a", 0), *((key, 0) for key in "bbbcccdddd"), ("d", 1)]


def test_a_stream_is_not_filled(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    windows = ff.tumbling("1 hour", empty="emit", fill_from=time(0))
    query = ff.events(stream, time="timestamp").window(windows).stream(forget="1 day")
    with pytest.raises(ff.QueryError, match=r"a stream cannot answer this query: windows are filled \(fill_from=, "):
        query.aggregate(n=ff.Count())
