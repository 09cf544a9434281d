"""Polars: ``group_by_dynamic``, two stages by hand, and ``rolling`` over the events."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from polars.lazyframe.group_by import LazyGroupBy

from ..jobs import Job
from .stages import PARTS


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


def steps(job: Job) -> pl.LazyFrame:
    """One row a key and step, sorted: the first of two stages."""
    parts = {}
    for _, operation, column in job.outputs:
        x = pl.col(column) if column else pl.len()
        for part in [*PARTS[operation], *["count"] * job.nulls]:
            of = {"sum": x.sum, "square": (x * x).sum, "min": x.min, "max": x.max, "count": x.count}[part]
            parts[f"{column}_{part}"] = of() if column else pl.len().cast(pl.Int64)
    keys = list(job.keys)
    ticks = pl.col("t") if job.time == "integer" else pl.col("t").dt.timestamp("us")
    step = (ticks // job.every).alias("step")
    return scan(job).group_by(*keys, step).agg(**parts).sort(*keys, "step")


def merged(job: Job) -> list[pl.Expr]:
    """The outputs as aggregates over the rows of the first stage."""
    made = []
    for name, operation, column in job.outputs:
        total, count = pl.col(f"{column}_sum").sum(), pl.col(f"{column}_count").sum()
        squares = pl.col(f"{column}_square").sum()
        of = {
            "sum": pl.when(count > 0).then(total) if job.nulls else total,  # of nothing it is 0 in Polars
            "count": count,
            "min": pl.col(f"{column}_min").min(),
            "max": pl.col(f"{column}_max").max(),
            "avg": total / count,
            "var": pl.when(count > 1).then((squares - total * total / count) / (count - 1)),
        }
        made.append(of[operation].alias(name))
    return made


def ranges(job: Job) -> pl.LazyFrame:
    """A rolling range of steps, up to each: windows that end in a step without an event are missing."""
    windows = steps(job).rolling("step", period=f"{job.size // job.every}i", group_by=job.keys)
    start = (pl.col("step") * job.every - (job.size - job.every)).alias("start")
    return windows.agg(merged(job)).select(*job.keys, start, *job.names)


def two_stages(job: Job) -> pl.DataFrame:
    """The ranges, all in memory."""
    return ranges(job).collect()


def streaming(job: Job) -> pl.DataFrame:
    """The ranges, by the engine that needs not all in memory."""
    return ranges(job).collect(engine="streaming")


def every(job: Job) -> pl.DataFrame:
    """``group_by_dynamic`` over the steps: no window is missing."""
    width = job.size // job.every
    grid = steps(job).group_by_dynamic(
        "step", every="1i", period=f"{width}i", offset=f"{1 - width}i", group_by=job.keys
    )
    found = grid.agg(merged(job)).select(*job.keys, (pl.col("step") * job.every).alias("start"), *job.names)
    return most(found, job).collect()


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
    "streaming": streaming,
    "every": every,
    "rolling": rolling,
    "python": own,
}
