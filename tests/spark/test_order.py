"""Events in time order: the SQL that says which block of time an event is in."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from framefold.spark.input.ordering import block_of

from ..support.spark_parts import ticks_sql
from ..support.spark_results import conf

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(("origin", "width"), [(0, 1), (3, 7), (-3, 7), (1, 86_400_000_000), (GREATEST, GREATEST)])
def test_blocks_are_floors(spark: SparkSession, origin: int, width: int) -> None:
    ticks = [LEAST + 2, -8, -7, -1, 0, 1, 6, 7, 10, GREATEST]
    df = spark.createDataFrame([(tick,) for tick in ticks], "t bigint")
    found = [row[0] for row in df.select(block_of(f.col("t"), origin, width)).collect()]
    shift = origin // width  # blocks are numbered from the origin's remainder
    assert found == [(tick - origin) // width + shift for tick in ticks]


@pytest.mark.parametrize("legacy", ["false", "true"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "UTC"])
def test_ticks_do_not_depend_on_the_zone(spark: SparkSession, zone: str, legacy: str) -> None:
    settings = {"spark.sql.session.timeZone": zone, "spark.sql.legacy.interval.enabled": legacy}
    with conf(spark, settings):
        micros = [
            *(-62_135_596_800_000_000, -1, 0, 1, 1_730_613_600_500_000, 253_402_300_799_999_999),
            -12_219_721_076_999_996,  # in the ten days that the Julian calendar has twice
            *(1_710_053_999_999_999, 1_710_054_000_000_001),  # 2024-03-10 07:00, when New York leaves out an hour
            1_710_037_800_000_000,  # 02:30 of that day
        ]
        times = [datetime(1970, 1, 1) + timedelta(microseconds=each) for each in micros]
        local = spark.createDataFrame(list(zip(times, micros, strict=True)), "the_time timestamp_ntz, m bigint")
        rows = local.selectExpr(ticks_sql(local, "the_time"), "m").collect()
        assert [row[0] for row in rows] == micros
        df = spark.createDataFrame([(each,) for each in micros], "m bigint").selectExpr("timestamp_micros(m) n", "m")
        assert [row[0] for row in df.selectExpr(ticks_sql(df, "n"), "m").collect()] == micros
        days = spark.sql("select date '1969-12-30' d")
        assert days.selectExpr(ticks_sql(days, "d")).collect()[0][0] == -2
