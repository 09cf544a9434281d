"""Results of streams in company: several in one query, before Spark's own windows, of several sources."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.spark_results import conf
from ..support.stream_source import MINUTE, Source, batches, every_row, late_events, table

pytestmark = pytest.mark.usefixtures("rocksdb")

COUNT: dict[str, Any] = {"n": ff.Count()}
HALVES = ff.tumbling("30 minutes")


def windows_of(found: pa.Table) -> Counter[Any]:
    return Counter((row["window"]["start"], row["window"]["end"], row["n"]) for row in found.to_pylist())


@pytest.mark.slow
def test_one_result_twice_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    """Spark shuffles for both once, and finds no watermark behind what it uses again, unless it is told not to."""
    source = Source(spark, tmp_path).add(*batches()[:2])
    result = source.query(HALVES).aggregate(**COUNT)
    source.run(alone=result)
    with conf(spark, {"spark.sql.exchange.reuse": "false"}):
        source.run(out=result.union(result))
    alone = every_row(source.found("alone"))
    assert every_row(source.found()) == alone + alone
    assert alone.total() > 3


@pytest.mark.slow
def test_into_windows_of_sparks(spark: SparkSession, tmp_path: Path) -> None:
    """As Spark's own windows chained with themselves, in the struct of windows or two columns, and into ours again."""
    source = Source(spark, tmp_path).add(*(table(30 * number, 30 * number + 38, seed=number) for number in range(4)))
    stream = source.plain.withWatermark("time", "10 minutes")
    theirs = stream.groupBy("key", f.window("time", "5 minutes")).agg(f.count("*").alias("n"))
    ours, flat = source.query(ff.tumbling("5 minutes")), source.query(ff.tumbling("5 minutes")).options(window="flat")

    def summed(first: DataFrame, time: Any) -> DataFrame:
        return first.groupBy(f.window(time, "30 minutes")).agg(f.sum("n").alias("n"))

    again = ff.events(ours.aggregate(**COUNT).withColumn("t", f.window_time("window")), time="t").window(HALVES)
    sessions = source.query(ff.session("20 seconds")).aggregate(**COUNT)
    results = {
        "theirs": summed(theirs, f.window_time("window")),
        "ours": summed(ours.aggregate(**COUNT), f.window_time("window")),
        "of-windows": summed(ours.aggregate(**COUNT), "window"),
        "flat": summed(flat.aggregate(**COUNT), "window_end"),
        "again": again.aggregate(n=ff.Sum("n")),
        "sessions": summed(sessions, f.window_time("window")),
    }
    source.run(**results)
    found = {name: windows_of(source.found(name)) for name in results}
    assert found["theirs"].total() >= 3
    assert found["ours"] == found["of-windows"] == found["again"] == found["theirs"]
    assert found["flat"].total() >= 3
    assert found["sessions"].total() >= 3


@pytest.mark.slow
def test_lookbacks_into_windows_of_sparks(spark: SparkSession, tmp_path: Path) -> None:
    """The time at which windows end has the watermark, if they close then."""
    tables = [table(0, 300), table(290, 700, seed=1), table(4000, 4001)]
    source = Source(spark, tmp_path).add(*tables)
    windows = ff.lookback("1 hour", "2 hours", every="30 minutes")
    result = source.query(windows).aggregate(**COUNT)
    days = result.groupBy("key", f.window("at", "1 day")).agg(f.count("*").alias("rows"), f.sum("n_2h").alias("n"))
    source.run(out=result, days=days)
    totals: dict[Any, list[int]] = {}
    for row in source.found().to_pylist():
        totals.setdefault((row["key"], row["at"].date()), []).append(row["n_2h"])
    found = {
        (row["key"], row["window"]["start"].date()): (row["rows"], row["n"]) for row in source.found("days").to_pylist()
    }
    assert found == {day: (len(counts), sum(counts)) for day, counts in totals.items()}
    assert len(found) == 4
    for closed in ("left", "right"):
        schema = source.query(ff.lookback("1 hour", every="6 hours", closed=closed)).aggregate(**COUNT).schema
        assert ("spark.watermarkDelayMs" in schema["at"].metadata) == (closed == "left")


def test_where_a_window_can_be_over_before_its_result_it_is_no_time_for_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark would take such results for late: then it says that there is no watermark."""
    source = Source(spark, tmp_path)
    for windows, options in (
        (ff.tumbling("5 minutes", closed="right"), {}),
        (ff.last_rows(3), {}),
        (ff.around(time=("-10 minutes", "-5 minutes")), {}),
        (ff.session("1 minute", merge_touching=True), {}),
        (ff.tumbling("5 minutes"), {"late": "update", "allowed_lateness": "1 hour"}),
    ):
        schema = source.query(windows, **options).aggregate(**COUNT).schema
        assert "spark.watermarkDelayMs" not in schema["window"].metadata, windows
    assert source.query(ff.session("1 minute")).aggregate(**COUNT).schema["window"].metadata["spark.watermarkDelayMs"]


@pytest.mark.slow
def test_times_before_1970_are_late_as_sparks_are(spark: SparkSession, tmp_path: Path) -> None:
    """From the first micro-batch on, but for those in a window that goes on into 1970; in a history they are not."""
    early, late = table(-120, -1, rows=50, seed=1), table(-40, 30, rows=50, seed=2)
    source = Source(spark, tmp_path).add(pa.concat_tables([early, table(0, 20, seed=3)]), late, table(200, 201))
    window = ("60 minutes", "60 minutes", "30 minutes")
    theirs = source.plain.withWatermark("time", "10 minutes").groupBy("key", f.window("time", *window))
    ours = source.query(ff.tumbling("60 minutes", offset="30 minutes"))
    in_order = source.query(ff.last_rows(1))
    everything = spark.createDataFrame(pa.concat_tables([early, late]))
    after = source.query(HALVES, history=everything, until="1970-01-01T00:10:00+00:00")
    queries = {
        "theirs": theirs.agg(f.count("*").alias("n")),
        "ours": ours.aggregate(**COUNT),
        "rows": in_order.aggregate(**COUNT),
        "after": after.aggregate(**COUNT),
    }
    running = source.run(**queries)
    found = {name: source.found(name) for name in queries}
    columns = ["key", "window", "n"]
    assert every_row(found["ours"].select(columns)) == every_row(found["theirs"].select(columns))
    ticks = early["time"].cast("int64").to_pylist() + late["time"].cast("int64").to_pylist()
    assert late_events(running["ours"]) == sum(tick < -30 * MINUTE for tick in ticks) > 20
    assert late_events(running["rows"]) >= sum(tick < 0 for tick in ticks)
    assert min(row["at"].timestamp() for row in found["rows"].to_pylist()) >= 0
    first = [row["n"] for row in found["after"].to_pylist() if row["window"]["start"].timestamp() == 0]
    in_history = sum(0 <= tick < 10 * MINUTE for tick in late["time"].cast("int64").to_pylist())
    assert sum(first) > in_history


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["min", "max"])
@pytest.mark.parametrize("how", ["together", "union"])
def test_idle_sources_follow_the_policy(spark: SparkSession, tmp_path: Path, policy: str, how: str) -> None:
    """Of two sources one has events of eight minutes and then none: by its watermark nothing has closed yet."""
    busy = Source(spark, tmp_path / "busy").add(table(0, 38), table(30, 68, seed=1), table(300, 301))
    idle = Source(spark, tmp_path / "idle").add(table(0, 8, seed=2))
    streams = [each.plain.withWatermark("time", "10 minutes") for each in (busy, idle)]
    window = ff.tumbling("10 minutes")
    if how == "union":
        query: Any = ff.events(streams[0].union(streams[1]), time="time", by="key").window(window)
        result = query.aggregate(n=ff.Count())
    else:
        both = {name: ff.events(each, time="time", by="key") for name, each in zip("ab", streams, strict=True)}
        result = ff.together(**both).window(window).aggregate(n=ff.Count())
    with conf(spark, {"spark.sql.streaming.multipleWatermarkPolicy": policy}):
        busy.run(out=result)
    assert sum(busy.found()["n"].to_pylist()) == (0 if policy == "min" else 900)
