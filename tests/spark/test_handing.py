"""Settings of a session while a query of ours runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark.sql.classic", reason="only classic sessions have settings that queries change")

import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.classic.dataframe import DataFrame

import framefold as ff
from framefold.spark.session.conf_overrides import BATCH_ROWS, FASTER_GROUPING, conf_overrides

from ..support.spark_parts import THRESHOLD, to_dataframe
from ..support.spark_results import conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "spark.sql.codegen.aggregate.map.twolevel.enabled"
TASKS = "spark.sql.shuffle.partitions"


def test_settings_last_as_long_as_the_last_query_that_needs_them(spark: SparkSession) -> None:
    with conf_overrides(spark, FASTER_GROUPING):
        with conf_overrides(spark, FASTER_GROUPING):
            assert spark.conf.get(NAME) == FASTER_GROUPING[NAME]
        assert spark.conf.get(NAME) == FASTER_GROUPING[NAME]
    assert spark.conf.get(NAME, None) is None
    with pytest.raises(ZeroDivisionError), conf_overrides(spark, FASTER_GROUPING):
        raise ZeroDivisionError
    assert spark.conf.get(NAME, None) is None


def test_what_a_user_has_set_stays(spark: SparkSession) -> None:
    with conf(spark, {NAME: "true"}):
        with conf_overrides(spark, FASTER_GROUPING):
            assert spark.conf.get(NAME) == "true"
        assert spark.conf.get(NAME) == "true"


def test_a_query_leaves_no_setting_behind(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Spark's default of 200 tasks each of them would open a file: a query has fewer, or what a user has set."""
    seen: list[tuple[str | None, ...]] = []
    real = DataFrame.toArrow

    def noted(self: DataFrame) -> object:
        seen.append((spark.conf.get(NAME, None), spark.conf.get(TASKS)))
        return real(self)

    monkeypatch.setattr(DataFrame, "toArrow", noted)
    query = ff.events(spark.range(9), time="id").window(ff.tumbling(3))
    before = spark.conf.get(TASKS)
    assert query.aggregate(n=ff.Count()).count() == 3
    with conf(spark, {TASKS: "1"}):
        spark.conf.unset(TASKS)
        assert query.aggregate(n=ff.Count()).count() == 3
        assert spark.conf.get(TASKS, None) is None
    assert spark.conf.get(NAME, None) is None
    assert seen == [(FASTER_GROUPING[NAME], before), (FASTER_GROUPING[NAME], FASTER_GROUPING[TASKS])]


def test_no_default_comes_back_as_a_setting(spark: SparkSession) -> None:
    names = (THRESHOLD, BATCH_ROWS)
    with conf(spark, {name: spark.conf.get(name) or "" for name in names}):
        for name in names:
            spark.conf.unset(name)
        rows = pa.table({"n": pa.array(range(20_000))})
        found = to_dataframe(spark, rows, t.StructType([t.StructField("n", t.LongType())]))
        assert [spark.conf.get(name, None) for name in names] == [None, None]
    assert found.rdd.getNumPartitions() == 1  # more than a few rows are not made of Java objects
    assert found.toArrow().equals(rows)
