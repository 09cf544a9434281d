"""Several inputs and several kinds of windows on Spark, against the local engine."""

from __future__ import annotations

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import framefold as ff

ORDERS = pa.table({"at": [1, 2, 9, 25, 12], "shop": ["a", "b", "a", "c", None], "sum": [10, 20, 30, 40, 50]})
VISITS = pa.table({"seen": [0, 3, 4, 11], "place": ["a", "a", "b", None], "people": [1.5, 2.0, None, 4.0]})


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_as_on_the_local_engine(spark: SparkSession, combine: str) -> None:
    def ask(orders: object, visits: object) -> object:
        both = ff.together(
            orders=ff.events(orders, time="at", by="shop"), visits=ff.events(visits, time="seen", by="place")
        )
        query = both.options(combine=combine).window(ff.sliding(10, every=5), ff.tumbling(20))
        people = ff.Average("visits.people").over(ff.tumbling(15, closed="right"))
        return query.aggregate(all=ff.Count(), sold=ff.Sum("orders.sum"), people=people)

    found = ask(spark.createDataFrame(ORDERS), spark.createDataFrame(VISITS))
    assert found.toArrow().to_pylist() == ask(ORDERS, VISITS).to_pylist()  # type: ignore[attr-defined]


def test_types_that_do_not_fit(spark: SparkSession) -> None:
    orders, visits = spark.createDataFrame(ORDERS), spark.createDataFrame(VISITS)
    with pytest.raises(ff.QueryError, match="'people' of the input 'visits' is double, and 'at' of others is bigint"):
        ff.together(orders=ff.events(orders, time="at"), visits=ff.events(visits, time="people"))
    with pytest.raises(ff.QueryError, match="orders are Arrow data and visits on Spark"):
        ff.together(orders=ff.events(ORDERS, time="at"), visits=ff.events(visits, time="seen"))
