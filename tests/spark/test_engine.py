"""The pipeline on Spark: who does what, and when; the results of every way are compared in ``test_cells``."""

from __future__ import annotations

import gc
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..support.inner import answers, place_of
from ..support.limits import limits
from ..support.spark_parts import COMPUTED, WEIGHT_BYTES, blobs_of, weight_of
from ..support.spark_results import listed
from ..support.toys import Total


def test_executors_are_lazy_and_read_events_once(spark: SparkSession, tmp_path: Path) -> None:
    def noted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Leave a file for each task that reads the events."""
        (tmp_path / uuid.uuid4().hex).touch()
        yield from batches

    df = spark.range(0, 1_000, 1, 5).selectExpr("id", "id % 7 as k").mapInArrow(noted, "id long, k long")
    events = ff.events(df, time="id", by="k").window(ff.sliding(100, every=10)).options(accumulate="python")
    too_many: dict[str, Any] = {"combine": "auto", "max_driver_partials": 0}
    in_sql: dict[str, Any] = {"accumulate": "spark"}
    for choice, reads in (
        ({"combine": "executors"}, 0), (too_many, 5), (in_sql | {"combine": "executors"}, 0), (in_sql | too_many, 0),
    ):  # fmt: skip
        for each in tmp_path.iterdir():
            each.unlink()
        result = events.options(**choice).aggregate(n=ff.Count())
        assert len(list(tmp_path.iterdir())) == reads
        assert sum(row["n"] for row in result.collect()) == 10_000
        assert len(list(tmp_path.iterdir())) == 5, choice


def test_few_rows_come_to_the_driver_as_they_are(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the input, of which events of one time are in many tasks."""
    taken = answers(monkeypatch, "events that are rows", lambda _, *given: len(given[1]))
    df = spark.range(0, 600, 1, 5).selectExpr("id % 4 as t", "id % 3 as k", "cast(id as double) as x")
    events = ff.events(df, time="t", by="k").window(ff.last_rows(4))
    own = Total("t")
    found = [
        listed(events.options(**choice).aggregate(s=ff.Sum("x"), last=ff.Last("x"), **more))
        for choice, more in [
            ({}, {}), ({"max_driver_partials": 600}, {}), ({"combine": "driver"}, {}),
            ({"max_driver_partials": 599}, {}), ({"combine": "executors"}, {}), ({"accumulate": "python"}, {}),
            ({}, {"own": own}),
        ]
    ]  # fmt: skip
    assert taken == [600] * 3
    *found, with_own = found
    assert all(each == found[0] for each in found)
    assert len(found[0]) == len(with_own) == 600
    text = str(events.explain(s=ff.Sum("x")))
    assert text.count("on the driver, which gets the events as they are if there are at most 5,000,000; else") == 2
    assert "as they are" not in str(events.explain(own=own))
    assert "as they are" not in str(events.options(accumulate="python").explain(s=ff.Sum("x")))


def test_auto_goes_by_the_count(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    taken: list[str] = []
    for way in ("to executors", "to a DataFrame", "blobs"):
        answers(monkeypatch, way, lambda *_, way=way: taken.append(way))
    df = spark.range(0, 2_000, 1, 4).selectExpr("id - 700 as t", "id % 3 as k")
    events = ff.events(df, time="t", by="k").window(ff.tumbling(100))
    results = [listed(events.options(max_driver_partials=most).aggregate(n=ff.Count())) for most in (10, 10_000)]
    limit(auto_result_bytes=0)
    results.append(listed(events.aggregate(n=ff.Count())))
    limit(sent_partials_bytes=0)
    results.append(listed(events.aggregate(n=ff.Count())))
    assert taken == ["to executors", "to a DataFrame", "blobs", "to executors"]
    limit(driver_result_bytes=0)
    with pytest.raises(ff.EngineError, match="take more than the 0 MiB that combine='driver' makes on the driver"):
        events.options(combine="driver").aggregate(n=ff.Count())
    assert results[0] == results[1] == results[2] == results[3]


@pytest.mark.slow
def test_tasks_merge_the_partials_of_many_others(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    taken = answers(monkeypatch, "choice of a way to combine", lambda found, *_: found.way)
    odd = "case id % 97 when 0 then null when 1 then double('nan') when 2 then -0.0d when 3 then 1e300"
    df = spark.range(0, 4_000, 1, 40).selectExpr(
        "id % 20 as t", "id div 20 % 2 as k", f"{odd} when 4 then -1e299 else id / 7 end as x"
    )
    events = ff.events(df, time="t", by="k").window(ff.sliding(5, every=1))
    outputs = {"x": ff.Sum("x"), "v": ff.Variance("x"), "most": ff.Max("x"), "d": ff.CountDistinct("x")}
    outputs |= {"first": ff.First("x"), "last": ff.Last("x")}  # of events at one time: by the order of the tasks
    expected = listed(events.options(combine="driver", accumulate="python").aggregate(**outputs))
    for most in (10, 2_000, 100_000):  # 40 partials are left of 1,600, and weigh more, as they have values
        choices = {"max_driver_partials": most, "accumulate": "python"}
        result = events.options(**choices).aggregate(**outputs)
        assert (result in COMPUTED, listed(result)) == (most > 10, expected), most
    assert taken == ["executors", "tasks", "driver"]
    limit(pending_bytes=100)
    assert listed(events.options(combine="driver", accumulate="python").aggregate(**outputs)) == expected
    last = ff.events(df, time="t", by="k").options(accumulate="python")
    text = str(last.window(ff.tumbling(5)).explain(n=ff.Count()))
    assert "merged those of several" in text
    assert "combine='auto' counts them" in text
    assert "merged those of several" not in str(last.window(ff.last_rows(2)).explain(n=ff.Count()))


def test_packets_hold_whole_keys() -> None:
    starts = np.array([0, 1, 2, 30, 31, 40, 41])
    table = pa.table({"row": pa.array(range(50))})
    cuts = []
    for each in blobs_of(table, starts, 10):
        cuts.append(pa.ipc.open_stream(each).read_all()["row"].to_pylist())
    assert [row for rows in cuts for row in rows] == list(range(50))
    assert [each[0] for each in cuts] == [0, 30, 40]


@pytest.mark.classic("it looks into the JVM of the session")
def test_auto_leaves_nothing_behind(spark: SparkSession) -> None:
    def cached() -> int:
        return len(list(spark.sparkContext._jsc.getPersistentRDDs()))  # type: ignore[union-attr]

    gc.collect()
    spark.catalog.clearCache()
    before = cached()
    events = ff.events(spark.range(50), time="id").window(ff.tumbling(5)).options(accumulate="python")
    numbered = events.events.window(ff.last_rows(4)).options(combine="driver")
    for query in (events, numbered):
        query.aggregate(n=ff.Count())
    assert cached() == before
    kept = events.options(combine="auto", max_driver_partials=0).aggregate(n=ff.Count())
    assert cached() == before + 1
    derived = kept.where("n > 0")
    del kept
    gc.collect()
    until = time.monotonic() + 20
    while cached() > before and time.monotonic() < until:
        time.sleep(0.1)
    assert cached() == before
    assert derived.count() == 10  # computed again


@pytest.mark.minima
@pytest.mark.parametrize("way", ["driver", "executors"])
def test_decimals_and_narrow_types_stay(spark: SparkSession, way: str) -> None:
    df = spark.sql("select 1 t, cast(1.25 as decimal(10, 2)) d, cast(3 as tinyint) b, X'01' bin, date '2020-02-29' day")
    events = ff.events(df, time="t", by=["d"]).window(ff.tumbling(2)).options(combine=way)
    result = events.aggregate(d2=ff.Sum("d"), b=ff.Max("b"), bin=ff.Min("bin"), day=ff.Last("day"))
    assert result.schema.simpleString() == (
        "struct<d:decimal(10,2),window:struct<start:bigint,end:bigint>,d2:decimal(20,2),b:tinyint,bin:binary,day:date>"
    )
    assert result.collect()[0]["d2"] == Decimal("1.25")


def test_few_partials_of_many_values_are_not_few(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """40 partials with 50 values each are as much as hundreds of partials: more than the driver is to have."""
    rng = np.random.default_rng(1)
    events = pa.table({"t": rng.integers(0, 4000, 2000), "x": rng.permutation(2000)})
    window = ff.sliding(1000, every=100)
    query = ff.events(spark.createDataFrame(events), time="t").window(window)
    query = query.options(max_driver_partials=200, accumulate="python")
    with caplog.at_level("WARNING", "framefold"):
        middle = query.aggregate(middle=ff.Median("x")).toArrow()
        assert "max_driver_partials=200" in caplog.text
        caplog.clear()
        query.aggregate(middle=ff.Average("x")).toArrow()
        assert not caplog.text, "of means they are 40"
    right = ff.events(events, time="t").window(window).aggregate(middle=ff.Median("x"))
    assert middle.to_pylist() == right.to_pylist()


def test_weight() -> None:
    items = pa.array([list(range(320)), [1]], pa.large_list(pa.int64()))
    table = pa.table({"k": ["a", "b"], "items": items})
    assert weight_of(table.select(["k"])) == 2
    assert weight_of(table) == 2 + items.nbytes // WEIGHT_BYTES


@pytest.mark.cell
@pytest.mark.classic("it asks the tracker of the session's jobs")
def test_few_partials_of_tasks_come_to_the_driver_in_one_job(spark: SparkSession) -> None:
    df = spark.range(0, 2_000, 1, 4).selectExpr("id % 500 as t", "id * 7919 % 1009 as x")
    t, x = np.arange(2_000) % 500, np.arange(2_000) * 7919 % 1009
    query = ff.events(df, time="t").window(ff.tumbling(10))
    expected = [float(np.median(x[t // 10 == at])) for at in range(50)]
    context = spark.sparkContext
    for most, jobs in ((1 << 19, 1), (200, 2), (0, 2)):  # all, those of some tasks, of none
        context.setJobGroup(f"jobs with {most}", "")
        try:
            with limits(partials_at_once=most):
                found = query.aggregate(m=ff.Median("x"))
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
            context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
        assert [row["m"] for row in found.collect()] == expected
        started = context.statusTracker().getJobIdsForGroup(f"jobs with {most}")
        assert len(started) == jobs, most


def test_a_stage_that_has_failed_says_the_cause_once() -> None:
    """A task that begins after another one has failed raises the error of that one's report."""
    try:
        try:
            raise ZeroDivisionError("thirteen")
        except ZeroDivisionError as error:
            raise ff.OperationError("accumulate of 'm' failed: ZeroDivisionError: thirteen") from error
    except ff.OperationError:
        again = getattr(*place_of("error of a report"))(traceback.format_exc())
    assert str(again) == "accumulate of 'm' failed: ZeroDivisionError: thirteen"
    assert [note.count("Traceback") for note in again.__notes__] == [1]
