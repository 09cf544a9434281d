"""Spark alone: ``window()``, two stages in SQL, window functions over the events, a pandas aggregate UDF."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from ..jobs import Job
from .sessions import MICROSECONDS, consume, events, save, session, versions
from .stages import copied, over, plain, two_stages

__all__ = ["WAYS", "consume", "save", "versions"]


def hottest(counts: DataFrame, job: Job, place: str) -> DataFrame:
    """Of each window the rows whose first output is greatest."""
    name = job.names[0]
    most = f.max(name).over(Window.partitionBy(place))
    return counts.withColumn("most", most).where(f.col(name) == f.col("most")).drop("most")


def window(job: Job) -> DataFrame:
    """``window()``: each event is copied into every window it is in."""
    found = (
        events(job)
        .groupBy(*job.keys, f.window("t", f"{job.size} microseconds", f"{job.every} microseconds").alias("window"))
        .agg(*(f.expr(text) for text in plain(job).split(", ")))
    )
    return hottest(found, job, "window") if job.kind == "hottest" else found


def by_hand(job: Job) -> DataFrame:
    """Two stages by hand."""
    events(job).createOrReplaceTempView("events")
    return session().sql(two_stages(job, "events", MICROSECONDS[job.time].format("t"), "div"))


def by_copies(job: Job) -> DataFrame:
    """Two stages, the partials of the first copied into their windows."""
    events(job).createOrReplaceTempView("events")
    found = session().sql(copied(job, "events", "unix_micros(t)", "div", "explode(sequence({0}, {1}))"))
    return hottest(found, job, "start") if job.kind == "hottest" else found


def over_events(job: Job) -> DataFrame:
    """A window function over the events themselves."""
    events(job).createOrReplaceTempView("events")
    bounds = {
        "around": f"RANGE BETWEEN INTERVAL {job.size // 1_000_000} SECONDS PRECEDING AND CURRENT ROW",
        "rows": f"ROWS BETWEEN {job.size - 1} PRECEDING AND CURRENT ROW",
    }[job.kind]
    return session().sql(
        f"SELECT {', '.join(job.keys)}, t AS at, {over(job)} FROM events "
        f"WINDOW w AS (PARTITION BY {', '.join(job.keys)} ORDER BY {job.order} {bounds})"
    )


def segments(switch: str) -> object:
    """The same with Spark's segment trees on or off; they are off unless asked for."""

    def run(job: Job) -> DataFrame:
        session().conf.set("spark.sql.window.segmentTree.enabled", switch)
        return over_events(job)

    return run


def pandas_udf(job: Job) -> DataFrame:
    """``window()`` and a pandas aggregate UDF: each window gets all of its events, in Python."""

    def geometric_mean(x: pd.Series) -> float:
        return float(np.exp(np.log(x).mean()))

    mean = f.pandas_udf(geometric_mean, "double")  # type: ignore[call-overload]
    windows = f.window("t", f"{job.size} microseconds", f"{job.every} microseconds").alias("window")
    return events(job).groupBy(*job.keys, windows).agg(mean("x").alias("mean"))


WAYS = {
    "window": window,
    "two_stages": by_hand,
    "copied": by_copies,
    "range": segments("false"),
    "segment_tree": segments("true"),
    "pandas_udf": pandas_udf,
}
