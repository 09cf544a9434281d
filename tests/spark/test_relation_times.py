"""Relations on Spark over every kind of times and windows, beside the local engine, which has its definition."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..support.spark_parts import explained
from ..support.spark_results import conf, rows

START = dt.datetime(2026, 3, 28, 12)
HOURS = [0, 1, 1, 5, 13, 14, 30, 30, 55, 80]
KINDS: dict[str, tuple[str, Any, Any]] = {
    "timestamp": (
        "timestamp", pa.timestamp("us", tz="UTC"), lambda hour: START.replace(tzinfo=dt.UTC) + dt.timedelta(hours=hour),
    ),
    "without a zone": ("timestamp_ntz", pa.timestamp("us"), lambda hour: START + dt.timedelta(hours=hour)),
    "date": ("date", pa.date32(), lambda hour: START.date() + dt.timedelta(days=hour)),
    "int": ("int", pa.int32(), lambda hour: hour - 20),
}  # fmt: skip


def windows_of(kind: str) -> list[Any]:
    if kind == "int":
        return [ff.sliding(7, every=3, offset=2), ff.cumulating(6, every=2, closed="right"), ff.landmark(every=5)]
    found: list[Any] = [ff.landmark(), ff.last_rows(3), ff.sliding("2 days", every="1 day", closed="right")]
    if kind != "date":
        found += [ff.sliding("7 hours", every="2 hours", offset="1 hour"), ff.cumulating("1 day", every="6 hours")]
        found += [ff.last_rows(4, every=2), ff.landmark(every="5 hours")]
    if kind == "timestamp":
        found.append(ff.sliding("2 days", every="1 day", timezone="Europe/Berlin"))
    return [*found, ff.sliding("2 months", every="1 month")]


def table_of(kind: str) -> pa.Table:
    _, arrow, at = KINDS[kind]
    times = pa.array([at(hour) for hour in HOURS], arrow)
    return pa.table({"t": times, "k": list("aabbaabaab"), "x": [1, 2, None, 4, 5, 6, 7, 8, 9, 10]})


def asked(table: Any, windows: Any) -> list[Any]:
    relation = ff.events(table, time="t", by="k").window(windows).relation()
    found = [relation.rows(), relation.distinct("k", keep=True).rows(), relation.changes()]
    return [*found, relation.join(relation, on="k", prefix="p_", how="asof").rows()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_local_engine(spark: SparkSession, kind: str) -> None:
    from pyspark.sql import functions as f

    table = table_of(kind)
    events = spark.createDataFrame(table).withColumn("t", f.col("t").cast(KINDS[kind][0])).coalesce(1)
    with conf(spark, {"spark.sql.session.timeZone": "UTC"}):
        for place, windows in enumerate(windows_of(kind)):
            for number, (local, df) in enumerate(zip(asked(table, windows), asked(events, windows), strict=True)):
                assert list(local.column_names) == df.columns
                if (number + place) % 2 == 0:  # every other view of every kind of windows
                    found = df.toArrow().cast(local.schema)
                    assert Counter(map(repr, rows(found))) == Counter(map(repr, rows(local))), (windows, number)


def test_views_and_errors(spark: SparkSession) -> None:
    """States and instants go by the session's zone where they have none; a null time fails as it is read."""
    from pyspark.sql import functions as f

    with conf(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        scd2 = spark.sql("""
            select * from values ('a', 1, timestamp'2026-05-01', null),
                ('b', 2, timestamp'2026-05-02', timestamp'2026-05-04'),
                ('c', 3, timestamp'2026-05-03', timestamp'2026-05-03') as rows(k, x, since, until)
        """)
        rates = ff.relation(scd2, valid_from="since", valid_to="until")
        assert [row.k for row in rates.at("2026-05-01").collect()] == ["a"]
        assert [row.k for row in rates.at("2026-05-03").orderBy("k").collect()] == ["a", "b"]
        states = (
            rates.states("1 day", since="2026-05-01", until="2026-05-04").groupBy("at").count().orderBy("at").collect()
        )
        assert [row["count"] for row in states] == [1, 2, 2, 1]
        assert [row.x for row in rates.where("x > 1").select(x="x * 10").rows().collect()] == [20]
        assert [row.x for row in rates.where(scd2.x > 1).rows().collect()] == [2]  # a column of the DataFrame itself
        assert rates.rows().count() == 2
        null = spark.sql("select cast(null as timestamp) as t, 1 as x")
        with pytest.raises(Exception, match="the time 't' is null in some events"):
            ff.events(null, time="t").window(ff.landmark()).relation().rows().collect()
        assert ff.events(null, time="t", null_time="drop").window(ff.landmark()).relation().rows().count() == 0
        wrong = spark.sql("select 3 as a, 2 as b")
        with pytest.raises(Exception, match="a row ends before it starts; expected 'b' after 'a'"):
            ff.relation(wrong, valid_from="a", valid_to="b").rows().collect()
        long = spark.sql("select 0L as a, shiftleft(1L, 60) as b")
        with pytest.raises(Exception, match=r"at more than 100,000,000 steps.* expected a longer step in states\(\)"):
            ff.relation(long, valid_from="a", valid_to="b").states(1).collect()
        of_lists, local = rates.select(k="x", x=f.array("x")), pa.table({"a": [1], "b": [2]})
        types = "columns of one name are of types that do not go together"
        for ask, sentence in (
            (lambda: rates.where("y > 1"), "the condition of where.* 'y > 1' names the unknown column 'y'"),
            (lambda: rates.select("k").where("x > 1"), "the condition of where.* 'x > 1' names the unknown column 'x'"),
            (lambda: rates.select(y="q + 1"), "the column y of select.* names the unknown column 'q'"),
            (lambda: rates.select(y=f.col("q") + 1), "a column of select.* does not fit the DataFrame"),
            (lambda: rates.where(f.col("q") > 1), "the condition .*q, 1.* of where.* does not fit the DataFrame"),
            (lambda: rates.where("array(x) is null"), "has ARRAY.*or a Spark column, such as functions.expr makes"),
            (lambda: rates.select(y=3), "expected SQL, or a Spark column"),
            (lambda: rates.union(of_lists), types),
            (lambda: rates.join(ff.relation(local, valid_from="a", valid_to="b")), "expected one engine"),
        ):
            with pytest.raises(ff.QueryError, match=sentence):
                ask()


def test_a_filter_goes_below_windows_on_spark(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    from pyspark.sql import functions as f

    events = spark.createDataFrame(table_of("int")).coalesce(1)
    for windows, by, condition, told in (
        (ff.last_rows(2), None, events.x > 4, "stays above the windows"),
        (ff.sliding(7, every=3), None, f.col("x") > 4, "went below the windows: they go by time alone"),
        (ff.last_rows(2), "k", "k = 'a'", "went below the windows: it is on their partition columns"),
        (ff.last_rows(2), "k", "x > 4", "stays above the windows: rows that it leaves out push others out"),
    ):
        relation = ff.events(events, time="t", by=by).window(windows).relation()
        filtered = relation.where(condition)
        assert told in str(filtered.explain())
        assert "ERROR" not in capfd.readouterr().err  # PySpark logs what cannot be analysed, as it is only asked here
        expected = Counter(map(tuple, relation.rows().where(condition).collect()))
        assert Counter(map(tuple, filtered.rows().collect())) == expected


def test_groups_at_some_instants_are_of_the_rows_valid_then(spark: SparkSession) -> None:
    """By definition, also of steps without an end; others are left out below the tasks, and no row is read twice."""
    made = spark.range(60).selectExpr(
        "id % 3 as k", "id as x", "id as f", "if(id % 7 = 0, null, id + 1 + id % 11) as u"
    )
    of = [(at % 3, at, at, 10**9 if at % 7 == 0 else at + 1 + at % 11) for at in range(60)]
    groups = ff.relation(made, valid_from="f", valid_to="u").aggregate(by="k", n=ff.Count(), s=ff.Sum("x"))
    some = groups.where("n > 2").select("k", "s", m="n + 1")

    def right(instant: int) -> Counter[Any]:
        valid = {key: [x for k, x, first, until in of if k == key and first <= instant < until] for key in range(3)}
        return Counter((instant, key, sum(x), len(x) + 1) for key, x in valid.items() if len(x) > 2)

    cases: list[tuple[dict[str, Any], range]] = [
        ({"every": 9, "since": 5, "until": 50}, range(5, 51, 9)), ({"every": 6, "until": 99}, range(0, 100, 6)),
        ({"every": 20, "since": 3}, range(3, 69, 20)),
    ]  # fmt: skip
    for steps, instants in cases:
        found = some.states(**steps).select("at", "k", "s", "m")
        assert Counter(map(tuple, found.collect())) == sum(map(right, instants), Counter()), steps
        plan = explained(found) or ""
        assert ("NestedLoopJoin" in plan) == ("until" not in steps), steps
        assert (plan.rindex("pmod") > plan.rindex("MapInArrow")) == ("until" in steps), steps  # steps are of the filter
    assert Counter((30, *row) for row in some.at(30).select("k", "s", "m").collect()) == right(30)
