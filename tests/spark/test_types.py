"""Types on the way from Spark to Arrow and back."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

import framefold as ff
from framefold.spark.convert.types import arrow_schema, input_schema, output_schema, to_arrow, to_spark

from ..support.spark_results import conf

ROUND_TRIP = [
    *(t.BooleanType(), t.ByteType(), t.ShortType(), t.IntegerType(), t.LongType(), t.FloatType(), t.DoubleType()),
    *(t.DecimalType(38, 18), t.StringType(), t.BinaryType(), t.DateType(), t.TimestampType(), t.TimestampNTZType()),
    *(t.DayTimeIntervalType(), t.ArrayType(t.StringType()), t.MapType(t.StringType(), t.DoubleType())),
    t.StructType([t.StructField("a", t.LongType()), t.StructField("b", t.ArrayType(t.DateType()))]),
]


@pytest.mark.parametrize("spark", ROUND_TRIP, ids=lambda kind: kind.simpleString())
def test_a_type_comes_back_as_it_was(spark: t.DataType) -> None:
    arrow = to_arrow(spark)
    assert arrow is not None
    assert to_spark(arrow) == spark


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [
        (pa.uint8(), t.ShortType()),
        (pa.uint64(), t.DecimalType(20, 0)),
        (pa.float16(), t.FloatType()),
        (pa.large_string(), t.StringType()),
        (pa.string_view(), t.StringType()),
        (pa.dictionary(pa.int32(), pa.string()), t.StringType()),
        (pa.timestamp("ns", tz="Asia/Kathmandu"), t.TimestampType()),
        (pa.date64(), t.DateType()),
        (pa.large_list(pa.int64()), t.ArrayType(t.LongType())),
        (pa.decimal256(50, 2), None),
        (pa.struct([pa.field("a", pa.month_day_nano_interval())]), None),
    ],
)
def test_what_an_operation_may_return(arrow: pa.DataType, spark: t.DataType | None) -> None:
    assert to_spark(arrow) == spark


def test_an_output_spark_has_no_type_for_is_named() -> None:
    with pytest.raises(ff.QueryError, match="output 'x' has the Arrow type decimal256"):
        output_schema(pa.schema([("x", pa.decimal256(50, 2))]), [])


def test_keys_keep_their_spark_types() -> None:
    schema = output_schema(pa.schema([("k", pa.string()), ("n", pa.int64())]), [t.StringType()])
    assert schema.simpleString() == "struct<k:string,n:bigint>"
    assert arrow_schema(schema) == pa.schema([("k", pa.string()), ("n", pa.int64())])


@pytest.mark.parametrize(
    ("columns", "used", "sentence"),
    [
        (["parse_json('1') as odd"], "odd", "'odd' has the type variant, which framefold cannot use"),
        (["'a' collate unicode_ci as name"], "name", "'name' has the type string collate UNICODE_CI"),
        (["1 as x", "2 as x"], "x", "'x' is ambiguous: 2 columns"),
        (["1 as ID"], "Id", "'Id' is ambiguous: 2 columns"),
    ],
)
def test_columns_that_cannot_be_used(spark: SparkSession, columns: list[str], used: str, sentence: str) -> None:
    df = spark.range(1).selectExpr("id", "1 as other", *columns)
    assert {"id", "other"} <= set(input_schema(df, ["other"]).names)
    with pytest.raises(ff.ColumnError, match=sentence):
        input_schema(df, ["other", used])


def test_names_are_found_as_spark_finds_them(spark: SparkSession) -> None:
    df = spark.range(1).withColumn("Speed", f.lit(1.0))
    assert input_schema(df, ["ID", "speed"]).field("speed").type == pa.float64()
    assert "sped" not in input_schema(df, ["sped"]).names
    with conf(spark, {"spark.sql.caseSensitive": "true"}):
        assert "speed" not in input_schema(df, ["speed"]).names


@pytest.mark.parametrize("kind", ["decimal(5,2)", "decimal(10,2)", "decimal(18,18)", "decimal(28,2)"])
def test_sums_of_decimals_by_spark_of_any_precision(spark: SparkSession, kind: str) -> None:
    """Money is decimal(10,2) in most databases."""
    amounts = spark.range(40).selectExpr(
        "id as t", "id % 3 as k", f"cast(if(id % 7 = 0, null, id / 100) as {kind}) as d"
    )
    query = ff.events(amounts, time="t", by="k").window(ff.tumbling(10)).options(accumulate="spark")
    found = query.aggregate(s=ff.Sum("d"), m=ff.Average("d")).collect()
    expected = amounts.groupBy("k", f.expr("div(t, 10)").alias("w")).agg(f.sum("d").alias("s"), f.avg("d").alias("m"))
    assert [(row.k, row.s, row.m) for row in found] == [
        (row.k, row.s, row.m) for row in expected.orderBy("k", "w").collect()
    ]
