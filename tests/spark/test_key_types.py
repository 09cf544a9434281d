"""Keys from two places on Spark, of types that differ from those of the events; keys that Spark does not group by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.spark_parts import checked

FAR = 1 << 40
EVENTS = pa.table({"t": [1, 2, 3], "k": ["a", "b", "b"], "i": pa.array([1, 2, 2], pa.int32())})
LABELS = {
    "k": (pa.array(["b", "c"], pa.large_string()), ["b", "c"], "string"),
    "i": (pa.array([2, FAR]), [2, FAR], "bigint"),
}
WAYS: list[dict[str, Any]] = [{"combine": "driver"}, {"combine": "executors"}, {"max_driver_partials": 0}]


def labels(by: str) -> pa.Table:
    return pa.table({by: LABELS[by][0], "s": [0, 0], "e": [9, 9]})


@pytest.mark.parametrize("by", LABELS)
def test_labels_and_keys_to_fill(spark: SparkSession, tmp_path: Path, by: str) -> None:
    _, values, kind = LABELS[by]
    pq.write_table(EVENTS, tmp_path / "a.parquet")
    df = spark.createDataFrame(EVENTS)
    window = ff.windows_from(labels(by), start="s", end="e", by=by)
    of_spark = ff.windows_from(spark.createDataFrame(labels(by)), start="s", end="e", by=by)
    filled = ff.tumbling(9, empty="emit", fill_from=0, fill_to=9, fill_keys=labels(by))
    for data, ways in [*((df, way) for way in WAYS), (ff.parquet(str(tmp_path), spark=spark), {})]:
        events = ff.events(data, time="t", by=by).options(**ways)
        found = events.window(window).aggregate(n=ff.Count())
        assert dict(found.dtypes)[by] == kind, ways
        assert [(row[by], row["n"]) for row in found.collect()] == [(values[0], 2), (values[1], 0)], ways
        if not ways:
            assert events.window(of_spark).aggregate(n=ff.Count()).count() == 2
            rows = events.window(filled).aggregate(n=ff.Count()).collect()
            assert [row["n"] for row in rows] == [1, 2, 0], ways
            assert rows[-1][by] == values[1]


def test_the_history_of_a_stream(spark: SparkSession) -> None:
    """What is narrower than the stream's is taken; its states have the stream's types, so that nothing wider is."""
    df = spark.createDataFrame(EVENTS).withColumn("x", f.col("i").cast("bigint"))
    query = ff.events(df, time="t", by="x").window(ff.tumbling(9))
    plan = query._query({"n": ff.Count()})[1]
    narrow = df.withColumn("x", f.col("x").cast("smallint"))
    assert checked(plan, narrow) is narrow
    for kind, found in (("string", "string"), ("double", "double")):
        with pytest.raises(ff.QueryError, match=f"'x' of history is {found}; expected int64, as in the stream"):
            checked(plan, df.withColumn("x", f.col("x").cast(kind)))


ORDERS = pa.table(
    {"at": [1, 2, 9, 25, 12], "shop": pa.array([1, 2, 1, 3, None], pa.int32()), "sum": [10, 20, 30, 40, 50]}
)
VISITS = pa.table({"seen": [0, 3, 4, 11], "place": [1, FAR, 2, None], "people": [1.5, 2.0, None, 4.0]})


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_inputs_as_on_the_local_engine(spark: SparkSession, combine: str) -> None:
    def ask(orders: object, visits: object, **choice: str) -> object:
        both = ff.together(
            orders=ff.events(orders, time="at", by="shop"), visits=ff.events(visits, time="seen", by="place")
        )
        query = both.options(combine=combine, **choice).window(ff.sliding(10, every=5), ff.tumbling(20))
        people = ff.Average("visits.people").over(ff.tumbling(15, closed="right"))
        return query.aggregate(all=ff.Count(), sold=ff.Sum("orders.sum"), people=people)

    for accumulate in ("spark", "python"):
        found = ask(spark.createDataFrame(ORDERS), spark.createDataFrame(VISITS), accumulate=accumulate)
        assert found.toArrow().to_pylist() == ask(ORDERS, VISITS).to_pylist()  # type: ignore[attr-defined]


def test_inputs_whose_types_do_not_fit(spark: SparkSession) -> None:
    orders, visits = spark.createDataFrame(ORDERS), spark.createDataFrame(VISITS)
    with pytest.raises(ff.QueryError, match="'people' of the input 'visits' is double, and 'at' of others is bigint"):
        ff.together(orders=ff.events(orders, time="at"), visits=ff.events(visits, time="people"))
    with pytest.raises(ff.QueryError, match="orders are Arrow data and visits on Spark"):
        ff.together(orders=ff.events(ORDERS, time="at"), visits=ff.events(visits, time="seen"))


def test_keys_that_spark_does_not_group_by(spark: SparkSession) -> None:
    for sql in ("map(1, 2)", "array(1)"):
        df = spark.sql(f"select timestamp'2026-01-01' t, named_struct('a', {sql}) s")
        with pytest.raises(
            ff.ColumnError, match=r"by= names 's', which is struct<.*expected numbers, .* or structs of"
        ):
            ff.events(df, time="t", by="s").window(ff.tumbling("1 day")).aggregate(n=ff.Count())
