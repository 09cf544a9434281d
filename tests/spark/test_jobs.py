"""How many jobs of Spark a query takes."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import numpy as np
from pyspark.sql import SparkSession

import framefold as ff
from framefold.spark.engine import events_source


@pytest.mark.classic("it asks the tracker of the session's jobs")
def test_few_partials_of_tasks_come_to_the_driver_in_one_job(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = spark.range(0, 2_000, 1, 4).selectExpr("id % 500 as t", "id * 7919 % 1009 as x")
    t, x = np.arange(2_000) % 500, np.arange(2_000) * 7919 % 1009
    query = ff.events(df, time="t").window(ff.tumbling(10))
    expected = [float(np.median(x[t // 10 == at])) for at in range(50)]
    context = spark.sparkContext
    for most, jobs in ((events_source.AT_ONCE, 1), (200, 2), (0, 2)):  # all, those of some tasks, of none
        monkeypatch.setattr(events_source, "AT_ONCE", most)
        context.setJobGroup(f"jobs with {most}", "")
        try:
            found = query.aggregate(m=ff.Median("x"))
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
            context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
        assert [row["m"] for row in found.collect()] == expected
        started = context.statusTracker().getJobIdsForGroup(f"jobs with {most}")
        assert len(started) == jobs, most
