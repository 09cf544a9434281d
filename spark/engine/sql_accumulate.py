"""Partials that Spark builds itself: events are grouped and added up in the JVM, and do not cross into Python."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from ...runtime.accumulate.sql_request import TICKS, Request, quoted
from ..convert.names import type_in
from ..input.ordering import in_ticks

WORD = re.compile(r"\w+")


def named(texts: Mapping[str, str]) -> list[str]:
    """Expressions under their names."""
    return [f"{text} as {name}" for name, text in texts.items()]


def aggregated(events: DataFrame, request: Request) -> DataFrame:
    """One row for each key and frame, with what the operations' states are made of; ``request.partials`` reads it.

    Parameters
    ----------
    events
        With the query's columns.
    request
        What to compute.
    """
    plan = request.plan
    time = quoted(plan.time)
    if plan.null_time == "drop":
        events = events.where(f"{time} is not null")
    # As few projections as there can be: Spark analyses each by itself, which takes as long as some 100,000 events.
    # And all as text: a function called on a Column is several trips to the JVM.
    ticks = {TICKS: in_ticks(time, type_in(events, plan.time))}
    first, *later = request.steps or [{}]
    # What is last goes into one projection with the groups, which must not be made of it.
    last = later.pop() if later and not set(request.subgroup_by) & set(later[-1]) else {}
    plain = {f"c{place}": quoted(name) for place, name in enumerate(plan.columns)}
    rows = events.selectExpr(*named(ticks | plain | first))
    if request.inside is not None:
        rows = rows.where(f"{TICKS} is null or {request.inside}")
    for steps in later:
        rows = rows.selectExpr("*", *named(steps))
    keys = {f"k{place}": f"c{plan.columns.index(name)}" for place, name in enumerate(plan.by)}
    words = {word for text in request.aggregates.values() for word in WORD.findall(text)}
    used = [name for steps in (ticks, plain, first, *later) for name in steps if name in words]
    rows = rows.selectExpr(*named(keys | request.groups | last), *used)
    names = [*keys, *request.groups]
    return rows.groupBy(*names).agg(*map(f.expr, named(request.aggregates)))
