"""Jobs as framefold queries, the same for both engines."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np

import framefold as ff

from ..jobs import Job

OPERATIONS: dict[str, type] = {
    "sum": ff.Sum, "count": ff.Count, "min": ff.Min, "max": ff.Max, "avg": ff.Average, "var": ff.Variance,
}  # fmt: skip


class Vectorised(ff.AggregateOperation):
    """A user's geometric mean: functions of whole columns of states."""

    state = {"log_sum": "float64", "count": "int64"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"log_sum": frames.sum(np.log(x)), "count": frames.count(x)}

    def combine(self, a: Any, b: Any) -> Any:
        return {"log_sum": a["log_sum"] + b["log_sum"], "count": a["count"] + b["count"]}

    def finish(self, a: Any) -> Any:
        return np.exp(a["log_sum"] / a["count"])


class OneByOne(ff.PythonOperation):
    """The same, one value at a time."""

    def create(self) -> Any:
        return (0.0, 0)

    def accumulate(self, state: Any, x: float) -> Any:
        return (state[0] + math.log(x), state[1] + 1)

    def combine(self, a: Any, b: Any) -> Any:
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, a: Any) -> float | None:
        return math.exp(a[0] / a[1]) if a[1] else None


def duration(microseconds: int) -> timedelta:
    """A duration as a user gives it."""
    return timedelta(microseconds=microseconds)


def windows(job: Job) -> Any:
    """Where."""
    if job.kind == "around":
        return ff.around(time=(-duration(job.size), timedelta(0)))
    if job.kind == "rows":
        return ff.last_rows(job.size)
    if job.kind == "landmark":
        return ff.landmark(since="2026-01-01T00:00Z", every=duration(job.every))
    if job.time == "integer":
        return ff.sliding(job.size, every=job.every)
    return ff.sliding(duration(job.size), every=duration(job.every))


def outputs(job: Job, own: type = Vectorised) -> dict[str, Any]:
    """Which."""
    if job.kind == "own":
        return {"mean": own("x")}
    return {name: OPERATIONS[operation](*[column] * bool(column)) for name, operation, column in job.outputs}


def run(source: Any, job: Job, own: type = Vectorised, **options: Any) -> Any:
    """The job on some source of events."""
    query = ff.events(source, time="t", by=list(job.keys), ties=job.ties or ()).window(windows(job))
    return query.options(**options).aggregate(**outputs(job, own)) if options else query.aggregate(**outputs(job, own))
