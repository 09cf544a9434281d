"""Spark columns as inputs of aggregates: against Spark's own aggregates of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.range(0, 300, 1, 3).selectExpr(
        "timestamp_seconds(id * 37) as ts",
        "id % 3 as k",
        "if(id % 7 = 0, null, id) as a",
        "cast(id % 11 as double) as b",
        "concat('n', id % 5) as `na.me`",
    )


PAIRS: dict[str, Any] = {
    "product": lambda: (ff.Sum(f.col("a") * f.col("b")), f.sum(f.col("a") * f.col("b"))),
    "ratio": lambda: (ff.Sum(f.col("a") * 2) / ff.Count(), f.sum(f.col("a") * 2) / f.count("*")),
    "some": lambda: (ff.Filtered(ff.Count(), f.col("b") > 4), f.count_if(f.col("b") > 4)),
    "upper": lambda: (ff.Max(f.upper("`na.me`")), f.max(f.upper("`na.me`"))),
    "own": lambda: (ff.Mapped(ff.Max("made"), lambda x: x * 2, f.col("b") + 1), f.max((f.col("b") + 1) * 2)),
}
"""Outputs, and Spark's own."""


@pytest.mark.parametrize("names", [list(PAIRS), ["product"]], ids=["data frame", "files"])
def test_against_spark(names: list[str], events: DataFrame, tmp_path: Path) -> None:
    data: Any = events
    if len(names) == 1:
        events.write.parquet(str(tmp_path / "events"))
        data = ff.parquet(tmp_path / "events", spark=events.sparkSession)
    query = ff.events(data, time="ts", by="k").window(ff.sliding("1 hour", every="20 minutes"))
    found = query.aggregate(**{name: PAIRS[name]()[0] for name in names})
    theirs = events.groupBy("k", f.window("ts", "1 hour", "20 minutes"))
    expected = theirs.agg(*(PAIRS[name]()[1].alias(name) for name in names)).orderBy("k", "window")
    assert [tuple(row) for row in found.collect()] == [tuple(row) for row in expected.collect()]


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        (lambda: f.col("nowhere") * 2, ["nowhere", "does not fit the DataFrame", "nowhere"]),
        (lambda: f.avg("a"), ["avg(a)", "does not fit the DataFrame"]),
        (lambda: pc.field("a") * 2, ["is a pyarrow expression", "functions.col('x') * 2"]),
    ],
)
def test_messages(column: Any, parts: list[str], events: DataFrame) -> None:
    with pytest.raises(ff.QueryError) as caught:
        ff.events(events, time="ts").window(ff.tumbling("1 hour")).aggregate(x=ff.Sum(column()))
    for part in ["the input", *parts]:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
