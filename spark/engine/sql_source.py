"""Partials that Spark SQL makes: events are grouped in the JVM, which spares them the way to Python."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from ...runtime.accumulate.sql_accumulate import FRAME, TICKS, SqlAccumulate, TooManyRows
from ...runtime.partials.partials import Partials
from ...runtime.reporting import LOGGER, warn_of_nulls
from ...runtime.sources.files import one_line
from ..convert.names import under_plain_names
from ..convert.types import ticks_sql
from ..session.conf_overrides import FASTER_GROUPING, conf_overrides
from . import tasks
from .source import PartialRows, left_to_executors, limited


def named(texts: Mapping[str, str]) -> list[str]:
    """Expressions under their names."""
    return [f"{text} as {name}" for name, text in texts.items()]


def aggregated(events: DataFrame, sql: SqlAccumulate, *, drops: bool = True) -> DataFrame:
    """One row for each key and frame, with what the operations' states are made of; ``sql.partials`` reads it.

    Parameters
    ----------
    events
        With the query's columns.
    sql
        What to compute.
    drops
        Whether Spark drops events without a time, where the plan does; if not, they are groups without a frame.
    """
    plan = sql.plan
    rows, time = under_plain_names(events, plan.columns), f"c{plan.columns.index(plan.time)}"
    if drops and plan.null_time == "drop":
        rows = rows.where(f"{time} is not null")
    # As few projections as possible: Spark analyses each by itself. And the rest as text: a function called on a Column
    # takes several calls to the JVM.
    first, *later = sql.steps or [{}]
    # The last steps go into one projection with the groups, which must not depend on them.
    last = later.pop() if later and not set(sql.subgroup_by) & set(later[-1]) else {}
    rows = rows.selectExpr("*", *named({TICKS: ticks_sql(rows, time)} | first))
    if sql.inside is not None:
        rows = rows.where(f"{TICKS} is null or {sql.inside}")
    for steps in later:
        rows = rows.selectExpr("*", *named(steps))
    keys = {f"k{place}": f"c{plan.columns.index(name)}" for place, name in enumerate(plan.by)}
    more = {name: text for name, text in sql.groups.items() if text != name}  # the others are steps
    rows = rows.selectExpr("*", *named(keys | more | last))
    return rows.groupBy(*keys, *sql.groups).agg(*map(f.expr, named(sql.aggregates)))


class SqlSource:
    """The groups of a DataFrame's events; see `PartialsSource`."""

    few = False
    """Whether groups are taken to be few: one task puts them together, so that counting them takes no other shuffle."""

    def __init__(self, df: DataFrame, job: tasks.Job) -> None:
        self.df, self.job = df, job

    def collect(self, limit: int | None) -> Partials | None:
        plan = self.job.plan
        if limit == 0:  # to find that there is a group would be to read the events once more
            left_to_executors("max_driver_partials=0 is not enough")
            return None
        try:
            return self._collect(SqlAccumulate(plan, small_counts=True), limit)
        except (ArithmeticException, TooManyRows) as error:
            # Of the user's own, or more rows than these integers have room for.
            LOGGER.warning("Spark groups the events once more, with larger integers: %s", one_line(error))
            return self._collect(SqlAccumulate(plan), limit)

    def distribute(self) -> PartialRows:
        # Each group once, and read where it is slid; merging would take it to Python twice.
        return PartialRows(aggregated(self.df, SqlAccumulate(self.job.plan)), tasks.slide_sql, (FRAME,), merges=False)

    def release(self, result: DataFrame | None) -> None:
        pass

    def _collect(self, sql: SqlAccumulate, limit: int | None) -> Partials | None:
        groups = aggregated(self.df, sql, drops=False)
        groups = groups.coalesce(1) if self.few else groups
        with conf_overrides(self.df.sparkSession, {} if self.few else FASTER_GROUPING):
            # Counting them first, persisted, would take longer.
            found = limited(groups, limit)
        if found is None:
            return None
        if (plan := self.job.plan).null_time == "drop":
            warn_of_nulls(plan, *sql.without_time(found))
        return sql.partials(found)
