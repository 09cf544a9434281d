"""Windows on Spark: labels in a DataFrame, what is held and for how long; results are compared in ``test_cells``."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.limits import limits
from ..support.spark_results import conf, listed
from ..support.toys import Joined
from .test_cells import ANCHORS, events


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> Iterator[DataFrame]:
    """Events spread over several tasks, and over blocks of a few rows."""
    with (
        limits(row_block=5),
        conf(spark, {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "3"}),
    ):
        frame = spark.createDataFrame(events().select(["t", "a.b", "k", "tie", "x", "n"])).repartition(4).cache()
        yield frame
        frame.unpersist()


@pytest.fixture(scope="module")
def arrived(df: DataFrame) -> pa.Table:
    """The events in the order in which Spark has them."""
    return df.toArrow()


# --- anchors --------------------------------------------------------------------------------------------------------


def test_anchors_may_be_a_dataframe(spark: SparkSession, arrived: pa.Table) -> None:
    with conf(spark, {"spark.sql.session.timeZone": "Asia/Kathmandu"}):
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


@pytest.mark.slow
def test_what_is_derived_outlives_the_result(df: DataFrame, arrived: pa.Table) -> None:
    """Row numbers stay right when what they were counted on is unpersisted."""
    events = ff.events(df, time="t", by="k").window(ff.last_rows(4))
    outputs = {"n": ff.Count(), "x": ff.Sum("x"), "rows": Joined("n")}
    expected = ff.events(arrived, time="t", by="k").window(ff.last_rows(4)).aggregate(**outputs)
    for way in ({"combine": "executors"}, {"max_driver_partials": 0}):
        derived = events.options(**way).aggregate(**outputs).where("n > 0")
        gc.collect()
        time.sleep(0.5)  # what is released is released in a thread
        assert listed(derived) == listed(expected)
        assert listed(derived) == listed(expected)


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
    with conf(spark, {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(tasks)}):
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


def test_explain(df: DataFrame) -> None:
    whole = "a whole key in one task"
    for windows, by, output, said in (
        (ff.last_rows(1000), "k", ff.Count(), "key and block of 999 rows, each with the 999 rows before it"),
        (ff.around(rows=(-2, 3)), None, ff.Count(), "block of 5 rows, each with the 2 rows before it and 3 rows after"),
        (ff.landmark(), "k", ff.Count(), whole),
        (ff.policy(ff.by_count(3)), None, ff.Count(), "on one executor"),
        (ff.landmark(every="1 hour"), "k", Joined("n"), f"by key, {whole}, that puts them"),
        (ff.landmark(every="1 hour"), None, Joined("n"), "to one task that puts them"),
    ):
        text = str(ff.events(df, time="t", by=by, ties="tie").window(windows).explain(n=output))
        assert said in text
        assert ("sorts them all by " + ("k, " if by else "") + "t, tie, arrival" in text) == isinstance(
            output, ff.Count
        )
