"""How many modules of framefold's Spark side one small query passes on the driver."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("accumulate", ["spark", "python"])
def test_a_small_query_passes_few_modules(spark: SparkSession, accumulate: str) -> None:
    df = spark.range(1_000).selectExpr("id as t", "id % 7 as k", "id as x")
    query = ff.events(df, time="t", by="k").window(ff.sliding(60, every=10)).options(accumulate=accumulate)
    outputs = {"total": ff.Sum("x"), "n": ff.Count()}
    query.aggregate(**outputs)  # what is imported and cached once
    passed: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("framefold.spark.") and module not in passed:
            passed.append(module)

    sys.setprofile(note)
    try:
        query.aggregate(**outputs)
    finally:
        sys.setprofile(None)
    assert len(passed) <= 11, passed
    stages = ["engine.engine", "engine.decision", "engine.driver", "session.conf_overrides"]
    assert [module for module in passed if module.endswith(tuple(stages))] == [
        f"framefold.spark.{each}" for each in stages
    ]
