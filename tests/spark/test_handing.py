"""Settings of a session while a query of ours runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.classic.dataframe import DataFrame

import framefold as ff
from framefold.spark.handing import GROUPS, held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

(NAME,) = GROUPS


def test_settings_last_as_long_as_the_last_query_that_needs_them(spark: SparkSession) -> None:
    with held(spark, GROUPS):
        with held(spark, GROUPS):
            assert spark.conf.get(NAME) == GROUPS[NAME]
        assert spark.conf.get(NAME) == GROUPS[NAME]
    assert spark.conf.get(NAME, None) is None
    with pytest.raises(ZeroDivisionError), held(spark, GROUPS):
        raise ZeroDivisionError
    assert spark.conf.get(NAME, None) is None


def test_what_a_user_has_set_stays(spark: SparkSession) -> None:
    spark.conf.set(NAME, "17")
    try:
        with held(spark, GROUPS):
            assert spark.conf.get(NAME) == "17"
        assert spark.conf.get(NAME) == "17"
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
    assert seen == [GROUPS[NAME]]
    assert spark.conf.get(NAME, None) is None
