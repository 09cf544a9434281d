"""Values of windows on Spark: who combines goes by their bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import framefold as ff

from ..support.spark_parts import WEIGHT_BYTES, weight_of

pytestmark = pytest.mark.spark


def test_few_partials_of_many_values_are_not_few(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """40 partials with 50 values each are as much as hundreds of partials: more than the driver is to have."""
    rng = np.random.default_rng(1)
    events = pa.table({"t": rng.integers(0, 4000, 2000), "x": rng.permutation(2000)})
    window = ff.sliding(1000, every=100)
    query = ff.events(spark.createDataFrame(events), time="t").window(window)
    query = query.options(max_driver_partials=200, accumulate="python")
    with caplog.at_level("WARNING", "framefold"):
        middle = query.aggregate(middle=ff.Median("x")).toArrow()
        assert "max_driver_partials=200" in caplog.text
        caplog.clear()
        query.aggregate(middle=ff.Average("x")).toArrow()
        assert not caplog.text, "of means they are 40"
    right = ff.events(events, time="t").window(window).aggregate(middle=ff.Median("x"))
    assert middle.to_pylist() == right.to_pylist()


def test_weight() -> None:
    items = pa.array([list(range(320)), [1]], pa.large_list(pa.int64()))
    table = pa.table({"k": ["a", "b"], "items": items})
    assert weight_of(table.select(["k"])) == 2
    assert weight_of(table) == 2 + items.nbytes // WEIGHT_BYTES
