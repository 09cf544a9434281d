"""framefold on Spark: a DataFrame in, combined where it chooses, on the driver or on executors; or files by tasks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import framefold as ff

from ..jobs import Job
from .framefold_queries import OneByOne, Vectorised, run
from .sessions import consume, events, partition, save, session, versions
from .spark import hottest

__all__ = ["WAYS", "consume", "save", "versions"]


def dataframe(combine: str = "auto", own: type = Vectorised) -> Callable[[Job], Any]:
    """On a DataFrame of the file."""

    def way(job: Job) -> Any:
        found = run(events(job), job, own, combine=combine, read="spark")
        return hottest(found, job, "window") if job.kind == "hottest" else found

    return way


made = functools.cache(events)
"""The DataFrame of a job's events, made once."""


def scanned(job: Job) -> Any:
    """On a DataFrame that is there already, whose files tasks read."""
    return run(made(job), job)


def files(combine: str = "auto") -> Callable[[Job], Any]:
    """``ff.parquet(path, spark=)``: tasks read the files themselves."""

    def way(job: Job) -> Any:
        partition(job)
        found = run(ff.parquet(job.path, spark=session()), job, combine=combine)
        return hottest(found, job, "window") if job.kind == "hottest" else found

    return way


WAYS = {
    "dataframe": dataframe(),
    "dataframe_scanned": scanned,
    "dataframe_driver": dataframe("driver"),
    "dataframe_executors": dataframe("executors"),
    "parquet": files(),
    "parquet_driver": files("driver"),
    "parquet_executors": files("executors"),
    "python": dataframe(own=OneByOne),
}
