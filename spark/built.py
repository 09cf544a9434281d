"""Partials that Spark builds itself: events are grouped and added up in the JVM, and do not cross into Python."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from ..runtime.in_sql import TICKS, Request
from .order import in_ticks

WORD = re.compile(r"\w+")


def named(texts: Mapping[str, str]) -> list[str]:
    """Expressions under their names."""
    return [f"{text} as {name}" for name, text in texts.items()]


def aggregated(events: DataFrame, request: Request) -> DataFrame:
    """One row for each key and frame, with what the operations' states are made of; ``request.partials`` reads it.

    Parameters
    ----------
    events
        The query's columns as ``c0``, ``c1``, ....
    request
        What to compute.
    """
    query = request.query
    time = f"c{query.columns.index(query.time)}"
    if query.null_time == "drop":
        events = events.where(f.col(time).isNotNull())
    rows = events.withColumn(TICKS, in_ticks(f.col(time), events.schema[time].dataType))
    if request.inside is not None:
        rows = rows.where(f"{TICKS} is null or {request.inside}")
    # What is last goes into one projection with the groups, which must not be made of it.
    *before, last = [*request.steps, {}] if set(request.apart) & set(*request.steps[-1:]) else request.steps or [{}]
    for steps in before:
        rows = rows.selectExpr("*", *named(steps))
    keys = {f"k{place}": f"c{query.columns.index(name)}" for place, name in enumerate(query.by)}
    words = {word for text in request.aggregates.values() for word in WORD.findall(text)}
    used = [name for name in rows.columns if name in words]
    rows = rows.selectExpr(*named(keys | request.groups | last), *used)
    names = [*(f"k{place}" for place in range(len(keys))), *request.groups]
    return rows.groupBy(*names).agg(*map(f.expr, named(request.aggregates)))
