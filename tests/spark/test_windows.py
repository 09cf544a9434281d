"""Windows on Spark as Spark SQL itself has them; those of every kind are in ``test_cells``."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as f

import framefold as ff

from ..support.limits import limits
from ..support.sessions import settings
from ..support.spark_results import listed
from ..support.toys import Joined
from .test_cells import ANCHORS, events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAYS: list[dict[str, Any]] = [{"combine": "driver"}, {"combine": "executors"}, {"max_driver_partials": 0}]


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> Iterator[DataFrame]:
    """Events spread over several tasks, and over blocks of a few rows."""
    with (
        limits(row_block=5),
        settings(spark, spark__sql__adaptive__enabled="false", spark__sql__shuffle__partitions="3"),
    ):
        frame = spark.createDataFrame(events().select(["t", "a.b", "k", "tie", "x", "n"])).repartition(4).cache()
        yield frame
        frame.unpersist()


@pytest.fixture(scope="module")
def arrived(df: DataFrame) -> pa.Table:
    """The events in the order in which Spark has them."""
    return df.toArrow()


def outputs() -> dict[str, Any]:
    return {"n": ff.Count(), "low": ff.Min("x"), "x": ff.Sum("x"), "rows": Joined("n")}


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
@pytest.mark.parametrize("window", [ff.last_rows(3), ff.around(rows=(0, 1)), ff.landmark(every="1 hour")], ids=str)
def test_without_events(window: Any, way: dict[str, Any], df: DataFrame) -> None:
    result = ff.events(df.where("false"), time="t", by="k").window(window).options(**way).aggregate(n=ff.Count())
    assert result.collect() == []


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_keys_that_only_anchors_have(way: dict[str, Any], df: DataFrame) -> None:
    by_key = ff.windows_from(ANCHORS, start="from", end="to", by="a")
    found = ff.events(df.where("false"), time="t", by="k").window(by_key).options(**way).aggregate(n=ff.Count())
    assert [(row["k"], row["n"]) for row in found.collect()] == [(None, 0), *[("ann", 0)] * 3, ("only here", 0)]


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_events_without_a_time(way: dict[str, Any], df: DataFrame, arrived: pa.Table) -> None:
    holes = df.withColumn("t", f.when(f.col("n") % 4 != 0, f.col("t")))
    left = ff.events(arrived.filter(pa.array(arrived["n"].to_numpy() % 4 != 0)), time="t", by="k")
    events = ff.events(holes, time="t", by="k", null_time="drop").window(ff.last_rows(3)).options(**way)
    assert listed(events.aggregate(**outputs())) == listed(left.window(ff.last_rows(3)).aggregate(**outputs()))
    error: Any = ff.NullTimeError if way["combine"] == "driver" else Exception
    with pytest.raises(error, match="'t' is null in"):
        ff.events(holes, time="t", by="k").window(ff.last_rows(3)).options(**way).aggregate(n=ff.Count()).collect()


# --- Spark itself ---------------------------------------------------------------------------------------------------


def test_sessions_are_sparks(df: DataFrame) -> None:
    """Spark's own session_window merges events exactly a gap apart."""
    window = f.session_window("t", "12 minutes").alias("window")
    theirs = df.groupBy("k", window).agg(f.sum("x").alias("x"), f.count("*").alias("n")).orderBy("k", "window.start")
    expected, mine = (
        listed(theirs),
        ff.events(df, time="t", by="k").window(ff.session("12 minutes", merge_touching=True)),
    )
    for way in WAYS[:2]:
        assert listed(mine.options(**way).aggregate(x=ff.Sum("x"), n=ff.Count())) == expected


@pytest.mark.parametrize("unit", ["day", "week", "month"])
def test_calendar_units_are_sparks(unit: str, df: DataFrame, spark: SparkSession) -> None:
    """A day of 25 hours, the week and the month that it is in."""
    far = df.withColumn("t", f.col("t") + f.make_dt_interval(f.col("n") % 90))
    with settings(spark, spark__sql__session__timeZone="Europe/Berlin"):
        start = f.date_trunc(unit, "t").alias("start")
        theirs = far.groupBy("k", start).agg(f.sum("x").alias("x")).orderBy("k", "start")
        window = ff.tumbling(f"1 {unit}", timezone="Europe/Berlin")
        expected = listed(theirs)
        for way in WAYS[:2]:
            mine = ff.events(far, time="t", by="k").window(window).options(**way).aggregate(x=ff.Sum("x"))
            assert listed(mine.select("k", "window.start", "x")) == expected


@pytest.mark.parametrize(
    ("window", "rows"), [(ff.last_rows(7), (-6, 0)), (ff.around(rows=(-2, 9), min_fill="partial"), (-2, 9))], ids=str
)
def test_rows_are_those_of_sql(window: Any, rows: tuple[int, int], df: DataFrame) -> None:
    over = f"over (partition by `a.b`, k order by t, tie + 0.0d, n rows between {-rows[0]} preceding and "
    over += f"{rows[1]} following)" if rows[1] else "current row)"
    columns = [f"{function} {over} as {name}" for function, name in (("sum(x)", "x"), ("min(x)", "low"))]
    theirs = df.selectExpr("`a.b` + 0.0d as `a.b`", "k", "t as at", *columns, f"collect_list(n) {over} as list", "n")
    order = ["`a.b`", "k", "at", f.expr("list[0]"), f.expr("list[size(list) - 1]")]
    expected = listed(theirs.orderBy(*order).drop("n"))
    mine = ff.events(df, time="t", by=["a.b", "k"], ties=["tie", "n"]).window(window)
    for way in WAYS[:2]:
        result = mine.options(**way).aggregate(x=ff.Sum("x"), low=ff.Min("x"), list=ff.CollectList("n"))
        assert listed(result.orderBy(*order).drop("window")) == expected


# --- anchors --------------------------------------------------------------------------------------------------------


def test_anchors_may_be_a_dataframe(spark: SparkSession, arrived: pa.Table) -> None:
    with settings(spark, spark__sql__session__timeZone="Asia/Kathmandu"):
        frame = spark.createDataFrame(ANCHORS).withColumnRenamed("a", "a.k").withColumn("other", f.array())
        for by, own_by in ((["b", "a.k"], ["b", "a"]), (None, None)):
            by_frame = ff.windows_from(frame, start="from", end="to", by=by)
            by_table = ff.windows_from(ANCHORS, start="from", end="to", by=own_by)
            keyed = ff.events(arrived, time="t", by=["a.b", "k"])
            found, expected = (keyed.window(each).aggregate(n=ff.Count()) for each in (by_frame, by_table))
            assert listed(found) == listed(expected)
        with pytest.raises(ff.ColumnError, match=r"start names 'form'.*'from'"):
            ff.windows_from(frame, start="form", end="to")


# --- what is held, and for how long ---------------------------------------------------------------------------------


def cached(spark: SparkSession) -> set[int]:
    return set(spark.sparkContext._jsc.getPersistentRDDs())  # type: ignore[union-attr]


@pytest.mark.slow
def test_what_is_derived_outlives_the_result(df: DataFrame, arrived: pa.Table) -> None:
    """Row numbers stay right when what they were counted on is unpersisted."""
    events = ff.events(df, time="t", by="k").window(ff.last_rows(4))
    expected = ff.events(arrived, time="t", by="k").window(ff.last_rows(4)).aggregate(**outputs())
    for way in WAYS[1:]:
        derived = events.options(**way).aggregate(**outputs()).where("n > 0")
        gc.collect()
        time.sleep(0.5)  # what is released is released in a thread
        assert listed(derived) == listed(expected)
        assert listed(derived) == listed(expected)


@pytest.mark.classic("it looks into the JVM of the session")
def test_the_driver_leaves_nothing_behind(spark: SparkSession, df: DataFrame) -> None:
    before = cached(spark)
    for way in ({"combine": "driver"}, {"combine": "auto"}):
        ff.events(df, time="t", by="k").window(ff.last_rows(4)).options(**way).aggregate(n=ff.Count())
    assert cached(spark) <= before


class Noted(ff.AggregateOperation):
    """A sum that leaves a file for every number of states it was asked for at once."""

    state = {"x": "int64"}
    commutative = True

    def __init__(self, column: str, folder: str) -> None:
        super().__init__(column)
        self.folder = folder

    def note(self, rows: int) -> None:
        from pathlib import Path

        from pyspark import TaskContext

        if TaskContext.get() is not None:
            Path(self.folder, str(rows)).touch()

    def accumulate(self, frames: Any, x: Any) -> Any:
        self.note(len(x))
        return {"x": frames.sum(x)}

    def combine(self, a: Any, b: Any) -> Any:
        self.note(len(a["x"]))
        return {"x": a["x"] + b["x"]}

    def deduct(self, a: Any, b: Any) -> Any:
        return {"x": a["x"] - b["x"]}

    def finish(self, a: Any) -> Any:
        self.note(len(a["x"]))
        return a["x"]


@pytest.mark.slow
def test_no_task_holds_a_key(spark: SparkSession, tmp_path: Path, limit: Callable[..., None]) -> None:
    """300,000 rows of one key, half of them of one time: nowhere are there more than an eighth of them."""
    limit(row_block=1 << 12)
    rows, tasks = 300_000, 24
    frame = spark.range(0, rows, 1, 3).selectExpr(
        "if(id % 2 = 0, -1, (id * 7919) % 300000) as t", "id", "id % 1000 as x"
    )
    with settings(spark, spark__sql__adaptive__enabled="false", spark__sql__shuffle__partitions=str(tasks)):
        events = ff.events(frame, time="t", ties="id").options(combine="executors")
        result = events.window(ff.last_rows(1000)).aggregate(x=Noted("x", str(tmp_path))).toArrow()
        held = max(int(each.name) for each in tmp_path.iterdir())
        assert rows // tasks <= held < rows // 8
        # One task for a whole key, as windows without a bound need it: what was noted is what was held.
        events.window(ff.policy(ff.by_count(1000))).aggregate(x=Noted("x", str(tmp_path))).toArrow()
        assert max(int(each.name) for each in tmp_path.iterdir()) == rows
    ids = np.arange(rows)
    times = np.where(ids % 2 == 0, -1, ids * 7919 % rows)
    order = np.lexsort((ids, times))
    sums = np.concatenate([[0], np.cumsum((ids % 1000)[order])])
    lows = np.maximum(np.arange(rows) - 999, 0)
    assert result["at"].to_numpy().tolist() == times[order].tolist()
    assert result["x"].to_numpy().tolist() == (sums[1:] - sums[lows]).tolist()


# --- what explain says ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "by", "said"),
    [
        (ff.last_rows(1000), "k", "key and block of 999 rows, each with the 999 rows before it"),
        (ff.around(rows=(-2, 3)), None, "block of 5 rows, each with the 2 rows before it and 3 rows after it"),
        (ff.landmark(), "k", "a whole key in one task"),
        (ff.policy(ff.by_count(3)), None, "on one executor"),
    ],
    ids=str,
)
def test_explain(window: Any, by: str | None, said: str, df: DataFrame) -> None:
    text = str(ff.events(df, time="t", by=by, ties="tie").window(window).explain(n=ff.Count()))
    assert "sorts them all by " + ("k, " if by else "") + "t, tie, arrival" in text
    assert said in text


def test_explain_of_order_without_blocks(df: DataFrame) -> None:
    for by, said in (("k", "by key, a whole key in one task, that puts them"), (None, "to one task that puts them")):
        windows = ff.events(df, time="t", by=by).window(ff.landmark(every="1 hour"))
        assert said in str(windows.explain(rows=Joined("n")))
