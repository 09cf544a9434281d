"""What queries on Spark tell the logger ``framefold``: who does what, how much there is, and each fallback."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..support.spark_parts import described

TENS = ff.tumbling(10)


def run(events: Any, caplog: pytest.LogCaptureFixture, window: Any = TENS, **options: Any) -> list[str]:
    """What a query tells: the level and the message of each record."""
    with caplog.at_level(logging.INFO, "framefold"):
        query = ff.events(events, time="t", by="k").window(window).options(**options)
        assert query.aggregate(n=ff.Count()).count() > 1
    return [f"{record.levelname} {record.message}" for record in caplog.records]


def test_the_way_over_a_dataframe(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    told = run(spark.range(100).selectExpr("id as t", "id % 2 as k"), caplog)
    assert told[0].startswith("INFO Spark reads the DataFrame: ")
    assert told[1].startswith("INFO on Spark: n = Count(): int64; slides by ")
    assert "by Spark itself, grouped by key and frame; only partials come to Python: all outputs are SQL" in told[1]
    assert told[2].startswith("INFO the driver has 20 partials, ")
    assert told[3:] == ["INFO the driver gives 20 windows"]


def test_executors_in_place_of_the_driver(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, limit: Callable[..., None]
) -> None:
    events = spark.range(100).selectExpr("id as t", "id % 2 as k")
    told = run(events, caplog, max_driver_partials=19)
    assert told[2:] == ["WARNING executors merge and slide, not the driver: max_driver_partials=19 is not enough"]
    caplog.clear()
    told = run(events, caplog, combine="executors")
    assert [each for each in told if not each.startswith("INFO")] == [], "it was asked for"
    caplog.clear()
    limit(auto_result_bytes=1)
    (told,) = [each for each in run(events, caplog) if not each.startswith("INFO")]
    assert told.startswith("WARNING executors slide what the driver has merged: results take about 0 MiB, more than 0")


def test_spark_in_place_of_tasks_that_read(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    path = str(tmp_path / "events.parquet")
    pq.write_table(pa.table({"t": range(40), "k": [1, 2] * 20}), path)
    files = ff.parquet(path, spark=spark)
    told = run(files, caplog)
    assert told[0].startswith("INFO the events are read on executors, with pyarrow, not through the JVM: ")
    assert told[-1] == "INFO the driver gives 8 windows"
    caplog.clear()
    assert (
        "WARNING Spark reads the files, not tasks: the windows are counted in rows, and so need all events in their "
        "order"
    ) in run(files, caplog, ff.last_rows(2))
    caplog.clear()
    told = run(files, caplog, read="spark")
    assert "INFO Spark reads the files, not tasks: read='spark'" in told
    assert all(each.startswith("INFO") for each in told)


def descriptions(spark: SparkSession) -> dict[int, str]:
    """What Spark's pages say of queries, by their numbers."""
    done = spark._jsparkSession.sharedState().statusStore().executionsList()  # type: ignore[attr-defined]
    return {each.executionId(): each.description() for each in map(done.apply, range(done.size()))}


@pytest.mark.slow
@pytest.mark.classic("it looks into the JVM of the session")
@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_jobs_and_their_stages_say_what_they_are_for(spark: SparkSession, combine: str) -> None:
    context = spark.sparkContext
    spark.range(1).collect()
    before = descriptions(spark).keys()
    events = spark.range(100).selectExpr("id as t", "id % 2 as k", "double(id) as x")
    query = ff.events(events, time="t", by="k").window(ff.last_rows(3)).options(combine=combine, accumulate="python")
    result = query.aggregate(m=ff.Median("x"), n=ff.Count())
    words = "framefold: m, n by k over the last 3 rows"
    assert {said for at, said in descriptions(spark).items() if at not in before} == {words}, "those that it has run"
    assert context.getLocalProperty("spark.job.description") is None
    if combine == "executors":
        assert "framefold_slide(" in result._jdf.queryExecution().toString()  # type: ignore[operator]
    context.setJobDescription("my own")
    try:
        query.aggregate(n=ff.Count())
        assert {said for at, said in descriptions(spark).items() if at not in before} == {words, "my own"}
        assert context.getLocalProperty("spark.job.description") == "my own"
    finally:
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


def test_through_connect_it_is_a_tag() -> None:
    tags: list[str] = []
    session: Any = SimpleNamespace(addTag=tags.append, removeTag=tags.remove)
    with described(session, "framefold: m, n over 60 every 10"):
        assert tags == ["framefold: m; n over 60 every 10"], "without a comma, which Spark refuses in tags"
    assert tags == []
