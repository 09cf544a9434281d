"""Settings of a session while a query of ours runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark.sql.classic", reason="only classic sessions have settings that queries change")

import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.classic.dataframe import DataFrame

import framefold as ff
from framefold.spark.session.conf_overrides import (
    BATCH_ROWS,
    FASTER_GROUPING,
    conf_overrides,
)

from ..support.spark_parts import THRESHOLD, to_dataframe

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
    spark.conf.set(NAME, "true")
    try:
        with conf_overrides(spark, FASTER_GROUPING):
            assert spark.conf.get(NAME) == "true"
        assert spark.conf.get(NAME) == "true"
    finally:
        spark.conf.unset(NAME)


def test_a_query_leaves_no_setting_behind(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    real = DataFrame.toArrow

    def noted(self: DataFrame) -> object:
        seen.append(spark.conf.get(NAME, None))
        return real(self)

    monkeypatch.setattr(DataFrame, "toArrow", noted)
    ff.events(spark.range(9), time="id").window(ff.tumbling(3)).aggregate(n=ff.Count())
    assert seen == [FASTER_GROUPING[NAME]]
    assert spark.conf.get(NAME, None) is None


def test_tasks_do_not_open_a_file_for_each_of_spark_s_200_tasks(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    real = DataFrame.toArrow

    def noted(self: DataFrame) -> object:
        seen.append(spark.conf.get(TASKS))
        return real(self)

    monkeypatch.setattr(DataFrame, "toArrow", noted)
    before = spark.conf.get(TASKS)
    assert before is not None
    query = ff.events(spark.range(9), time="id").window(ff.tumbling(3))
    assert query.aggregate(n=ff.Count()).count() == 3
    spark.conf.unset(TASKS)
    try:
        assert query.aggregate(n=ff.Count()).count() == 3
        assert spark.conf.get(TASKS, None) is None
    finally:
        spark.conf.set(TASKS, before)
    assert seen == [before, FASTER_GROUPING[TASKS]]


def test_what_is_more_than_a_few_rows_is_not_made_of_java_objects(spark: SparkSession) -> None:
    rows = pa.table({"n": pa.array(range(20_000))})
    schema = t.StructType([t.StructField("n", t.LongType())])
    found = to_dataframe(spark, rows, schema)
    assert found.rdd.getNumPartitions() == 1
    assert found.toArrow().equals(rows)
    few = to_dataframe(spark, rows.slice(0, 100), schema)
    assert few.toArrow().equals(rows.slice(0, 100))


def test_no_default_comes_back_as_a_setting(spark: SparkSession) -> None:
    names = (THRESHOLD, BATCH_ROWS)
    before = {name: spark.conf.get(name, None) for name in names}
    schema = t.StructType([t.StructField("n", t.LongType())])
    try:
        for name in names:
            spark.conf.unset(name)
        to_dataframe(spark, pa.table({"n": pa.array(range(20_000))}), schema)
        assert [spark.conf.get(name, None) for name in names] == [None, None]
    finally:
        for name, value in before.items():
            if value is not None:
                spark.conf.set(name, value)
