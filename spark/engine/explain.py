"""Where each stage of a query will run on Spark, in words."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ...aggregators.errors import QueryError
from ...runtime.accumulate.sql_request import why_not
from ...runtime.plan.plan import Plan
from ...runtime.results.row_blocks import Blocks, in_blocks
from ..convert.names import check_result
from ..options import Options


def stages(spark: SparkSession, plan: Plan, options: Options) -> list[tuple[str, str]]:
    """Pairs of a stage and where it runs, and why.

    Raises
    ------
    QueryError
        If the query would be refused.
    """
    check_result(spark, plan)
    driver = "on the driver, all keys at once"
    executors = gathered(plan)
    most = f"{options.max_driver_partials:,}"
    combine = {
        "driver": f"{driver}: combine='driver'",
        "executors": f"{executors}, lazily: combine='executors'",
        "auto": f"{driver} if there are at most {most} partials, else {executors}: combine='auto' counts them",
    }
    numbers = [("number rows", numbered(plan))] if plan.in_rows else []
    return [*numbers, ("accumulate", accumulated(plan, options)), ("merge, slide, finish", combine[options.combine])]


def numbered(plan: Plan) -> str:
    """How events get their row numbers."""
    order = ", ".join([*plan.by, plan.time, *plan.ties, "arrival"])
    return (
        f"on executors, after a shuffle of the events that sorts them all by {order}, however many a key has; a "
        "first pass in mapInArrow counts the rows of each task's first and last key, and the driver adds them up"
    )


def by_spark(plan: Plan, options: Options) -> tuple[bool, str]:
    """Whether Spark itself makes the partials of a query over a DataFrame, and why or why not.

    Raises
    ------
    QueryError
        If it is told to, and cannot.
    """
    if options.accumulate == "python":
        return False, "accumulate='python'"
    reason = why_not(plan)
    if reason is None:
        return True, "all outputs are SQL aggregates"
    if options.accumulate == "spark":
        raise QueryError(f"accumulate is 'spark', but {reason}; expected 'auto' or 'python'")
    return False, reason


def accumulated(plan: Plan, options: Options) -> str:
    """How events become partials."""
    spark, why = by_spark(plan, options)
    if spark:
        return f"by Spark itself, grouped by key and frame; only partials come to Python: {why}"
    return f"{in_python(plan)}; not by Spark itself: {why}"


def in_python(plan: Plan) -> str:
    """How events become partials in Python tasks."""
    if plan.in_rows:
        return "on executors, in mapInArrow: a second pass over the events in their order, partials per task"
    if not plan.ordered:
        return "on executors, in mapInArrow: one pass over the events, partials per task"
    if plan.axis.block is not None:
        where = "by key and stretch of time" if plan.by else "by stretch of time"
    else:
        where = "by key, a whole key in one task," if plan.by else "to one task"
    return f"on executors, after a shuffle of the events {where} that puts them in time order; then in mapInArrow"


def gathered(plan: Plan) -> str:
    """Where partials meet if not on the driver."""
    blocks = in_blocks(plan) if plan.in_rows else None
    if blocks is not None and isinstance(blocks.axis, Blocks) and blocks.axis.row_span is not None:
        before, after = blocks.axis.row_span
        near = [f"{rows:,} rows {word} it" for rows, word in ((before, "before"), (after, "after")) if rows]
        by = "key and block" if plan.by else "block"
        more = f", each with the {' and '.join(near)}" if near else ""
        return f"on executors by {by} of {blocks.axis.width:,} rows{more}, after a shuffle of the partials"
    if not plan.by:
        return "on one executor: there is one key"
    whole = ", a whole key in one task" if plan.in_rows else ""
    return f"on executors by key{whole}, after a shuffle of the partials"
