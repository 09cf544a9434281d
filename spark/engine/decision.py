"""Who does each step of a query on Spark: decided here, followed by `driver`, printed by `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...aggregators.errors import QueryError
from ...runtime.accumulate.sql_accumulate import why_not
from ...runtime.plan.plan import Plan, is_library_code
from ...runtime.results.blocks import in_blocks, in_window_blocks
from ..options import Options


class Choice(NamedTuple):
    """Who does a step, and why, in words."""

    by: Literal["spark", "tasks"]
    why: str


@dataclass(frozen=True)
class Decision:
    """Who does each step of a query.

    Parameters
    ----------
    read
        Who reads files; None where events are a DataFrame.
    accumulate
        Whether Spark SQL or tasks make partials.
    sort
        What events are shuffled and sorted by before tasks accumulate them; None where their order does not matter.
    combine, limit
        Where partials are merged and slid: ``"auto"`` is the driver up to ``limit`` partials, and else the executors.
    in_rounds
        Whether tasks may merge the partials of others before they come to the driver, where there are too many of them
        for it. Not where events are sorted first, so that few tasks have the same key and frame, nor where Spark SQL
        accumulates, so that there is one of each.
    gathers
        Whether the driver gets events and not partials, where it is to merge and they are few: their order does not
        matter to operations, nobody is told to accumulate, and no operation has functions of a user's, which may be
        slow.
    blocks
        The plan of partials in blocks of rows or windows, by which executors slide; None where they slide by keys.
    """

    read: Choice | None
    accumulate: Choice
    sort: Literal["rows", "time"] | None
    combine: str
    limit: int
    in_rounds: bool
    gathers: bool
    blocks: Plan | None


def decide(plan: Plan, options: Options, read: Choice | None = None) -> Decision:
    """The decision for a plan, and for files read by whom ``read`` says.

    Raises
    ------
    QueryError
        If Spark SQL is to accumulate, and cannot.
    """
    sort: Literal["rows", "time"] | None = "rows" if plan.in_rows else "time" if plan.ordered else None
    accumulate = accumulator(plan, options, read)
    return Decision(
        read,
        accumulate,
        sort,
        options.combine,
        options.max_driver_partials,
        sort is None and accumulate.by == "tasks",
        sort != "time"
        and (read is None or read.by == "spark")
        and options.accumulate == "auto"
        and is_library_code(plan.columns_computed),
        in_blocks(plan) if plan.in_rows else in_window_blocks(plan),
    )


def reader(plan: Plan, options: Options, misfit: str | None) -> Choice:
    """Who reads files: tasks, unless a query over them runs over a DataFrame.

    Parameters
    ----------
    misfit
        Why tasks cannot read the columns as Spark would; None where they can.
    """
    if options.read == "spark":
        return Choice("spark", "read='spark'")
    if options.accumulate == "spark":
        return Choice("spark", "Spark SQL is to accumulate the events (accumulate='spark')")
    if plan.in_rows:
        return Choice("spark", "the windows are counted in rows, and so need all events in their order")
    if plan.ordered:
        return Choice("spark", "the order of events matters to an operation")
    return Choice("tasks", "not through the JVM") if misfit is None else Choice("spark", misfit)


def accumulator(plan: Plan, options: Options, read: Choice | None) -> Choice:
    """Who makes partials."""
    if read is not None and read.by == "tasks":
        return Choice("tasks", "they read the events")
    if options.accumulate == "python":
        return Choice("tasks", "accumulate='python'")
    reason = why_not(plan)
    if reason is None:
        return Choice("spark", "all outputs are SQL aggregates")
    if options.accumulate == "spark":
        raise QueryError(f"accumulate is 'spark', but {reason}; expected 'auto' or 'python'")
    return Choice("tasks", reason)
