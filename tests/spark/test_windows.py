"""Windows of every kind on Spark: as the local engine has them, and as Spark SQL itself does."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAYS: list[dict[str, Any]] = [{"combine": "driver"}, {"combine": "executors"}, {"max_driver_partials": 0}]
# Hours before the clocks of Berlin go back, on October 31, 2021.
NIGHT = datetime(2021, 10, 30, 22, tzinfo=UTC)
NAN = float("nan")


@pytest.fixture(scope="module")
def many_tasks(spark: SparkSession) -> Iterator[None]:
    """However few the events are, they are spread over several tasks, and over blocks of a few rows."""
    with (
        limits(row_block=5),
        settings(spark, spark__sql__adaptive__enabled="false", spark__sql__shuffle__partitions="3"),
    ):
        yield


@pytest.fixture(scope="module")
def events(many_tasks: None) -> pa.Table:
    """160 events in the order of chance, many of one time, of keys that are null, NaN and both zeros."""
    chance = random.Random(11)
    rows = 160
    seconds = [chance.randint(0, 400) * 60 for _ in range(rows)]
    return pa.table(
        {
            "t": pa.array([NIGHT + timedelta(seconds=each) for each in seconds], pa.timestamp("us", "UTC")),
            "end": pa.array([NIGHT + timedelta(seconds=s + chance.randint(1, 9000)) for s in seconds]),
            "a.b": pa.array([chance.choice([None, -0.0, 0.0, NAN, 1.5]) for _ in range(rows)], pa.float64()),
            "k": pa.array([chance.choice([None, "x"]) for _ in range(rows)]),
            "tie": pa.array([chance.choice([None, -1.0, -0.0, 0.0, NAN]) for _ in range(rows)], pa.float64()),
            "x": pa.array([chance.randint(-99, 99) for _ in range(rows)], pa.int64()),
            "n": pa.array(range(rows), pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def df(spark: SparkSession, events: pa.Table) -> Iterator[DataFrame]:
    frame = spark.createDataFrame(events).repartition(4).cache()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def arrived(df: DataFrame, events: pa.Table) -> pa.Table:
    """The events in the order in which Spark has them."""
    return df.toArrow().cast(events.schema)


class InOrder(ff.PythonOperation):
    """The rows in their order, whatever their times are."""

    result = "string"
    commutative = False

    def create(self) -> str:
        return ""

    def accumulate(self, state: str, value: int) -> str:
        return f"{state} {value}"

    def combine(self, a: str, b: str) -> str:
        return a + b


def outputs() -> dict[str, Any]:
    return {"n": ff.Count(), "low": ff.Min("x"), "x": ff.Sum("x"), "rows": InOrder("n")}


def listed(result: Any) -> list[str]:
    return [repr(row) for row in (result if isinstance(result, pa.Table) else result.toArrow()).to_pylist()]


ANCHORS = pa.table(
    {
        "a": pa.array([NAN, None, 0.0, 7.0, NAN], pa.float64()),
        "k": ["x", None, "x", "only here", "x"],
        "from": pa.array([NIGHT + timedelta(hours=h) for h in (1, 0, 3, 2, 2)], pa.timestamp("us", "UTC")),
        "to": pa.array([NIGHT + timedelta(hours=h) for h in (4, 9, 3, 5, 3)], pa.timestamp("us", "UTC")),
    }
)
ONE_KEY: dict[str, Any] = {}
KEYS = {"by": ["a.b", "k"]}
INTERVALS = {"until": "end"}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sliding": (ff.sliding("1 hour", "25 minutes"), KEYS | {"ties": "tie"}),
    "closed right, all windows": (ff.tumbling("50 minutes", closed="right", empty="emit", stamp="end"), KEYS),
    "days of a zone": (ff.sliding("2 days", "1 day", timezone="Europe/Berlin"), KEYS),
    "months": (ff.tumbling("1 month"), ONE_KEY),
    "cumulating": (ff.cumulating("3 hours", "30 minutes"), KEYS),
    "landmark a step": (ff.landmark(since=NIGHT + timedelta(hours=1), every="1 hour"), ONE_KEY),
    "landmark an event": (ff.landmark(until=NIGHT + timedelta(hours=5)), KEYS | {"ties": "tie"}),
    "session": (ff.session("12 minutes"), KEYS),
    "session, one key": (ff.session("3 minutes", merge_touching=True), ONE_KEY),
    "last rows": (ff.last_rows(4), KEYS | {"ties": ["tie"]}),
    "last rows, one key": (ff.last_rows(12, 5, min_fill="full"), ONE_KEY),
    "last rows with gaps": (ff.last_rows(2, 5, gaps="allow"), KEYS),
    "last times": (ff.last_rows(3, ties="distinct_time"), KEYS),
    "last whole times": (ff.last_rows(3, ties="strict"), ONE_KEY),
    "around rows": (ff.around(rows=(-3, 2)), KEYS | {"ties": "tie"}),
    "around rows, one key": (ff.around(rows=(1, 6), min_fill="partial"), ONE_KEY),
    "around time": (ff.around(time=("-10 minutes", "5 minutes")), KEYS),
    "policy by delta": (ff.policy(ff.by_delta("x", 30), ff.by_count(2)), KEYS | {"ties": "tie"}),
    "policy by time": (ff.policy(ff.by_time("1 hour"), ff.by_delta("t", "20 minutes")), ONE_KEY),
    "given": (ff.windows_from(ANCHORS, start="from", end="to", by=["a", "k"]), KEYS),
    "given, one key": (ff.windows_from(ANCHORS, start="from", end="to", closed="both"), ONE_KEY),
    "sliding over intervals": (ff.sliding("1 hour", "25 minutes"), KEYS | INTERVALS),
    "snapshot": (ff.snapshot(), INTERVALS),
    "several": ([ff.last_rows(3), ff.sliding("1 hour", "20 minutes"), ff.around(rows=(-1, 1))], KEYS),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_local_engine(name: str, df: DataFrame, arrived: pa.Table) -> None:
    windows, choices = CASES[name]

    def query(data: Any) -> Any:
        return ff.events(data, time="t", **choices).window(*(windows if isinstance(windows, list) else [windows]))

    expected = listed(query(arrived).aggregate(**outputs()))
    assert len(expected) > 2 or name in ("months", "given")
    for way in WAYS[: 3 if name == "last rows" else 2]:
        assert listed(query(df).options(**way).aggregate(**outputs())) == expected, way


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
@pytest.mark.parametrize("window", [ff.last_rows(3), ff.around(rows=(0, 1)), ff.landmark(every="1 hour")], ids=str)
def test_without_events(window: Any, way: dict[str, Any], df: DataFrame) -> None:
    result = ff.events(df.where("false"), time="t", by="k").window(window).options(**way).aggregate(n=ff.Count())
    assert result.collect() == []


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_keys_that_only_anchors_have(way: dict[str, Any], df: DataFrame) -> None:
    by_key = ff.windows_from(ANCHORS, start="from", end="to", by="k")
    found = ff.events(df.where("false"), time="t", by="k").window(by_key).options(**way).aggregate(n=ff.Count())
    assert [(row["k"], row["n"]) for row in found.collect()] == [(None, 0), ("only here", 0), *[("x", 0)] * 3]


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


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_sessions_are_sparks(way: dict[str, Any], df: DataFrame) -> None:
    """Spark's own session_window merges events exactly a gap apart."""
    mine = ff.events(df, time="t", by="k").window(ff.session("12 minutes", merge_touching=True)).options(**way)
    result = mine.aggregate(x=ff.Sum("x"), n=ff.Count())
    window = f.session_window("t", "12 minutes").alias("window")
    theirs = df.groupBy("k", window).agg(f.sum("x").alias("x"), f.count("*").alias("n")).orderBy("k", "window.start")
    assert listed(result) == listed(theirs)


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
@pytest.mark.parametrize("unit", ["day", "week", "month"])
def test_calendar_units_are_sparks(unit: str, way: dict[str, Any], df: DataFrame, spark: SparkSession) -> None:
    """A day of 25 hours, the week and the month that it is in."""
    far = df.withColumn("t", f.col("t") + f.make_dt_interval(f.col("n") % 90))
    with settings(spark, spark__sql__session__timeZone="Europe/Berlin"):
        start = f.date_trunc(unit, "t").alias("start")
        theirs = far.groupBy("k", start).agg(f.sum("x").alias("x")).orderBy("k", "start")
        window = ff.tumbling(f"1 {unit}", timezone="Europe/Berlin")
        mine = ff.events(far, time="t", by="k").window(window).options(**way).aggregate(x=ff.Sum("x"))
        assert listed(mine.select("k", "window.start", "x")) == listed(theirs)


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
@pytest.mark.parametrize(
    ("window", "rows"), [(ff.last_rows(7), (-6, 0)), (ff.around(rows=(-2, 9), min_fill="partial"), (-2, 9))], ids=str
)
def test_rows_are_those_of_sql(window: Any, rows: tuple[int, int], way: dict[str, Any], df: DataFrame) -> None:
    mine = ff.events(df, time="t", by=["a.b", "k"], ties=["tie", "n"]).window(window).options(**way)
    result = mine.aggregate(x=ff.Sum("x"), low=ff.Min("x"), list=ff.CollectList("n"))
    over = f"over (partition by `a.b`, k order by t, tie + 0.0d, n rows between {-rows[0]} preceding and "
    over += f"{rows[1]} following)" if rows[1] else "current row)"
    columns = [f"{function} {over} as {name}" for function, name in (("sum(x)", "x"), ("min(x)", "low"))]
    theirs = df.selectExpr("`a.b` + 0.0d as `a.b`", "k", "t as at", *columns, f"collect_list(n) {over} as list", "n")
    theirs = theirs.orderBy("`a.b`", "k", "at", f.expr("list[0]"), "n")
    found = result.orderBy("`a.b`", "k", "at", f.expr("list[0]"), f.expr("list[size(list) - 1]"))
    assert listed(found.drop("window")) == listed(theirs.drop("n"))


# --- anchors --------------------------------------------------------------------------------------------------------


def test_anchors_may_be_a_dataframe(spark: SparkSession, arrived: pa.Table) -> None:
    with settings(spark, spark__sql__session__timeZone="Asia/Kathmandu"):
        frame = spark.createDataFrame(ANCHORS).withColumnRenamed("k", "a.k").withColumn("other", f.array())
        for by in (["a", "a.k"], None):
            given = ff.windows_from(frame, start="from", end="to", by=by)
            own = ff.windows_from(ANCHORS, start="from", end="to", by=["a", "k"] if by else None)
            events = ff.events(arrived, time="t", by=["a.b", "k"])
            assert listed(events.window(given).aggregate(n=ff.Count())) == listed(
                events.window(own).aggregate(n=ff.Count())
            )
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
        assert said in str(windows.explain(rows=InOrder("n")))
