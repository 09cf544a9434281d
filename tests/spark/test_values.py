"""Values of windows on Spark: who combines goes by their bytes, and a key is cut into blocks of windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import framefold as ff

from ..support.spark_parts import WEIGHT_BYTES, weight_of

pytestmark = pytest.mark.spark

OUTPUTS: dict[str, Any] = {
    "middle": ff.Median("x"),
    "parts": ff.Quantile("x", [0.1, 0.9]),
    "different": ff.CountDistinct("who"),
    "top": ff.TopN("x", 2, "who"),
    "mode": ff.Mode("who"),
    "each": ff.GroupedBy(ff.Max("x"), "who"),
}


def events_of(size: int) -> pa.Table:
    """Nearly all of one key."""
    rng = np.random.default_rng(1)
    keys = np.where(rng.random(size) < 0.95, 0, rng.integers(1, 4, size))
    who = pa.array([f"user {each}" for each in rng.integers(0, 30, size)])
    return pa.table({"t": rng.integers(0, 4000, size), "k": keys, "x": rng.permutation(size), "who": who})


def test_blocks_of_windows(spark: SparkSession) -> None:
    events = events_of(6000)
    right = ff.events(events, time="t", by="k").window(ff.sliding(60, every=4)).aggregate(**OUTPUTS)
    frame = spark.createDataFrame(events).repartition(3)
    query = ff.events(frame, time="t", by="k").window(ff.sliding(60, every=4)).options(combine="executors")
    assert "by key and block of 256 windows" in str(query.explain(**OUTPUTS))
    assert query.aggregate(**OUTPUTS).toArrow().to_pylist() == right.to_pylist()


def test_few_partials_of_many_values_are_not_few(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """40 partials with 50 values each are as much as hundreds of partials: more than the driver is to have."""
    events = events_of(2000).set_column(1, "k", pa.array(np.zeros(2000, np.int64)))
    frame = spark.createDataFrame(events.select(["t", "k", "x"]))
    window = ff.sliding(1000, every=100)
    query = ff.events(frame, time="t", by="k").window(window).options(max_driver_partials=200, accumulate="python")
    with caplog.at_level("WARNING", "framefold"):
        middle = query.aggregate(middle=ff.Median("x")).toArrow()
        assert "max_driver_partials=200" in caplog.text
        caplog.clear()
        query.aggregate(middle=ff.Average("x")).toArrow()
        assert not caplog.text, "of means they are 40"
    right = ff.events(events, time="t", by="k").window(window).aggregate(middle=ff.Median("x"))
    assert middle.to_pylist() == right.to_pylist()


def test_weight() -> None:
    items = pa.array([list(range(320)), [1]], pa.large_list(pa.int64()))
    table = pa.table({"k": ["a", "b"], "items": items})
    assert weight_of(table.select(["k"])) == 2
    assert weight_of(table) == 2 + items.nbytes // WEIGHT_BYTES
