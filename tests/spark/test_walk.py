"""The modules that one small query over a DataFrame passes on the driver: few, and its stages in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import framefold as ff
from tests.house.test_walk import walk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_MODULES, MOST_OF_SPARK = 46, 13
STAGES = ["spark/engine/decision", "spark/engine/driver", "runtime/partials/merge", "runtime/results/finish"]


@pytest.mark.parametrize("accumulate", ["spark", "python"])
def test_a_small_query_passes_few_modules(spark: SparkSession, accumulate: str) -> None:
    df = spark.range(1_000).selectExpr("id as t", "id % 7 as k", "id as x")
    query = ff.events(df, time="t", by="k").window(ff.sliding(60, every=10)).options(accumulate=accumulate)
    outputs = {"total": ff.Sum("x"), "n": ff.Count()}
    query.aggregate(**outputs)  # what is imported and cached once
    passed = walk(query, **outputs)
    assert [module for module in passed if module in STAGES] == STAGES
    assert len([module for module in passed if module.startswith("spark/")]) <= MOST_OF_SPARK, passed
    assert len(passed) <= MOST_MODULES, passed
