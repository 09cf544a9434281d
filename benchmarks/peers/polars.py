"""Polars: ``group_by_dynamic``, two stages by hand, and ``rolling`` over the events."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from polars.lazyframe.group_by import LazyGroupBy

from ..jobs import Job


def scan(job: Job) -> pl.LazyFrame:
    """The files, lazily."""
    return pl.scan_parquet(job.path)


def expressions(job: Job) -> list[pl.Expr]:
    """The outputs as aggregates over events."""
    made = []
    for name, operation, column in job.outputs:
        x = pl.col(column) if column else pl.len()
        of = {"sum": x.sum, "min": x.min, "max": x.max, "avg": x.mean, "var": x.var, "count": x.count}[operation]
        made.append((of() if column else pl.len().cast(pl.Int64)).alias(name))
    return made


def windows(job: Job) -> LazyGroupBy:
    """``group_by_dynamic``; its windows begin with a key's first event unless an offset says earlier."""
    every, period, offset = f"{job.every}us", f"{job.size}us", f"{job.every - job.size}us"
    return scan(job).sort("t").group_by_dynamic("t", every=every, period=period, offset=offset, group_by=job.keys)


def dynamic(job: Job) -> pl.DataFrame:
    """``group_by_dynamic``, as its documentation has it."""
    grid = windows(job)
    found = grid.agg(expressions(job)).with_columns(start=pl.col("t").dt.timestamp("us")).drop("t")
    return most(found, job).collect()


def most(found: pl.LazyFrame, job: Job) -> pl.LazyFrame:
    """Of each window the rows whose first output is greatest."""
    name = job.names[0]
    return found.filter(pl.col(name) == pl.col(name).max().over("start")) if job.kind == "hottest" else found


def two_stages(job: Job) -> pl.DataFrame:
    """One row a key and step, then a range of steps."""
    if not {operation for _, operation, _ in job.outputs} <= {"sum", "count", "min", "max"}:
        raise NotImplementedError("sum, count, min and max only")
    keys = list(job.keys)
    steps = (
        scan(job)
        .group_by(*keys, (pl.col("t").dt.timestamp("us") // job.every).alias("step"))
        .agg(expressions(job))
        .sort(*keys, "step")
    )
    rolled = []
    for name, operation, _ in job.outputs:
        x = pl.col(name)
        roll = {"sum": x.rolling_sum_by, "count": x.rolling_sum_by, "min": x.rolling_min_by, "max": x.rolling_max_by}
        rolled.append(roll[operation]("step", f"{job.size // job.every}i").over(keys))
    start = (pl.col("step") * job.every - (job.size - job.every)).alias("start")
    return steps.select(*keys, start, *rolled).collect()


def rolling(job: Job) -> pl.DataFrame:
    """``rolling``: for each event those before it."""
    period = f"{job.size}i" if job.kind == "rows" else f"{job.size}us"
    events, index = scan(job).sort(*job.keys, *job.order.split(", ")), "t"
    if job.kind == "rows":
        events, index = events.with_columns(row=pl.int_range(pl.len()).over(job.keys)), "row"
    closed = "right" if job.kind == "rows" else "both"
    taken = [pl.col("t").last().alias("last")] if job.kind == "rows" else []
    found = events.rolling(index, period=period, closed=closed, group_by=job.keys).agg(*expressions(job), *taken)
    at = pl.col("last" if job.kind == "rows" else "t").dt.timestamp("us").alias("at")
    return found.select(*job.keys, at, *job.names).collect()


def own(job: Job) -> pl.DataFrame:
    """``group_by_dynamic`` and a Python function that gets all events of each window."""
    import numpy as np

    def geometric_mean(x: pl.Series) -> float:
        return float(np.exp(np.log(x.to_numpy()).mean()))

    grid = windows(job)
    mean = pl.col("x").map_batches(geometric_mean, return_dtype=pl.Float64, returns_scalar=True).alias("mean")
    return grid.agg(mean).with_columns(start=pl.col("t").dt.timestamp("us")).collect()


def consume(result: pl.DataFrame) -> None:
    """Nothing is left to compute."""


def save(result: pl.DataFrame, job: Job, path: str) -> None:
    """Write the result."""
    result.select(*job.keys, job.place, *job.names).write_parquet(path)


def versions() -> dict[str, str]:
    """What runs here."""
    return {"Polars": pl.__version__}


WAYS: dict[str, Callable[[Job], pl.DataFrame]] = {
    "dynamic": dynamic,
    "two_stages": two_stages,
    "rolling": rolling,
    "python": own,
}
