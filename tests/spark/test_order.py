"""Events in time order: the SQL that says which block of time an event is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as f
from pyspark.sql import types as t

from framefold.spark.convert.types import ticks_sql
from framefold.spark.input.ordering import block_of, in_time_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(("origin", "width"), [(0, 1), (3, 7), (-3, 7), (1, 86_400_000_000), (GREATEST, GREATEST)])
def test_blocks_are_floors(spark: SparkSession, origin: int, width: int) -> None:
    ticks = [LEAST + 2, -8, -7, -1, 0, 1, 6, 7, 10, GREATEST]
    df = spark.createDataFrame([(tick,) for tick in ticks], "t bigint")
    found = [row[0] for row in df.select(block_of(f.col("t"), origin, width)).collect()]
    shift = origin // width  # blocks are numbered from the origin's remainder
    assert found == [(tick - origin) // width + shift for tick in ticks]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "UTC"])
def test_ticks_do_not_depend_on_the_zone(spark: SparkSession, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", str(zone))
    try:
        micros = [
            -62_135_596_800_000_000,
            -1,
            0,
            1,
            1_710_053_999_999_999,
            1_710_054_000_000_001,
            1_730_613_600_500_000,
        ]
        df = spark.createDataFrame([(each,) for each in micros], "m bigint")
        local = df.select(
            f.expr("timestamp_ntz '1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, m / 1000000)").alias("n"), "m"
        )
        assert isinstance(local.schema["n"].dataType, t.TimestampNTZType)
        rows = local.selectExpr(ticks_sql("n", t.TimestampNTZType()), "m").collect()
        assert [row[0] for row in rows] == [row[1] for row in rows]
        instants = df.selectExpr(ticks_sql("timestamp_micros(m)", t.TimestampType()), "m").collect()
        assert [row[0] for row in instants] == micros
        days = spark.sql("select date '1969-12-30' d").selectExpr(ticks_sql("d", t.DateType())).collect()
        assert days[0][0] == -2
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


def test_one_task_sees_a_block_in_order(spark: SparkSession) -> None:
    df = spark.range(0, 1_000, 1, 4).select((f.col("id") * 7 % 100).alias("t"), (f.col("id") % 3).alias("k"), "id")
    ordered = in_time_order(df, "t", ["k"], [], (0, 10))
    assert ordered.columns == ["t", "k", "id"]
    rows = (
        ordered.withColumn("task", f.spark_partition_id()).withColumn("at", f.monotonically_increasing_id()).collect()
    )
    tasks: dict[tuple[int, int], set[int]] = {}
    for row in rows:
        tasks.setdefault((row["k"], row["t"] // 10), set()).add(row["task"])
    assert all(len(each) == 1 for each in tasks.values())
    for task in {row["task"] for row in rows}:
        seen = [(row["t"], row["id"]) for row in sorted(rows, key=lambda row: row["at"]) if row["task"] == task]
        assert seen == sorted(seen)
