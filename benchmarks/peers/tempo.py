"""dbl-tempo: ``withRangeStats``, which always computes mean, count, min, max, sum, deviation and zscore."""

from __future__ import annotations

from importlib.metadata import version

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from tempo import TSDF

from ..jobs import SECOND, Job
from . import sessions
from .sessions import consume, events, save

__all__ = ["WAYS", "consume", "save", "versions"]


def range_stats(job: Job) -> DataFrame:
    """Statistics of the ``size`` before each event."""
    keys = list(job.keys)
    series = TSDF(events(job).select("t", *keys, "x"), ts_col="t", partition_cols=keys)
    found = series.withRangeStats(rangeBackWindowSecs=job.size // SECOND).df
    names = {"avg": "mean", "var": "stddev"}
    outputs = [f.col(f"{names.get(operation, operation)}_x").alias(name) for name, operation, _ in job.outputs]
    return found.select(*keys, f.col("t").alias("at"), *outputs)


def versions() -> dict[str, str]:
    """What runs here."""
    return {"dbl-tempo": version("dbl-tempo")} | {f"{name} (tempo)": of for name, of in sessions.versions().items()}


WAYS = {"range_stats": range_stats}
