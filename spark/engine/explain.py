"""A decision in words."""

from __future__ import annotations

from ...runtime.plan.plan import Plan
from ...runtime.results.blocks import Blocked
from ..tuning import FEW_EVENTS
from .decision import Decision

IN_WHOLE_KEYS = (
    ("sort", "on executors, by key and time: all events of a key come into one task"),
    ("accumulate, slide, finish", "in mapInArrow, some keys at a time, lazily"),
)
"""The stages of outputs beside events."""


def stages(plan: Plan, decision: Decision) -> list[tuple[str, str]]:
    """Pairs of a stage and who does it where, and why."""
    driver, executors = "on the driver, all keys at once", gathered(plan, decision)
    rounds = ", or so few once tasks have merged those of several others" if decision.in_rounds else ""
    few = f"if there are at most {decision.limit:,} partials{rounds}"
    combine = {
        "driver": f"{driver}: combine='driver'",
        "executors": f"{executors}, lazily: combine='executors'",
        "auto": f"{driver} {few}, else {executors}: combine='auto' counts them",
    }
    steps = [("number rows", numbered(plan))] if decision.sort == "rows" else []
    steps.append(("accumulate", accumulated(plan, decision)))
    if decision.gathers and decision.combine != "executors":
        if decision.sort is None:
            few = f" if those are at most {FEW_EVENTS:,} by the footers of their files; else "
        else:
            few = "" if decision.combine == "driver" else f" if there are at most {decision.limit:,}; else "
        here = f"on the driver, which gets the events as they are{few}"
        steps = [(name, here + (how if few else "")) for name, how in steps]
    return [*steps, ("merge, slide, finish", combine[decision.combine])]


def numbered(plan: Plan) -> str:
    """How events get their row numbers."""
    order = ", ".join([*plan.by, plan.time, *plan.ties, "arrival"])
    return (
        f"on executors, after a shuffle of the events that sorts them all by {order}, however many a key has; a "
        "first pass in mapInArrow counts the rows of each task's first and last key, and the driver adds them up"
    )


def accumulated(plan: Plan, decision: Decision) -> str:
    """How events become partials."""
    by, why = decision.accumulate
    if by == "spark":
        return f"by Spark itself, grouped by key and frame; only partials come to Python: {why}"
    if decision.read is not None and decision.read.by == "tasks":
        return "on executors, where the events are read: partials per task"
    if decision.sort == "rows":
        how = "in mapInArrow: a second pass over the events in their order, partials per task"
    elif decision.sort is None:
        how = "in mapInArrow: one pass over the events, partials per task"
    else:
        if plan.axis.block is not None:
            where = "by key and block of time" if plan.by else "by block of time"
        else:
            where = "by key, a whole key in one task," if plan.by else "to one task"
        how = f"after a shuffle of the events {where} that puts them in time order; then in mapInArrow"
    return f"on executors, {how}; not by Spark itself: {why}"


def gathered(plan: Plan, decision: Decision) -> str:
    """Where partials are combined if not on the driver."""
    if decision.blocks is not None:
        blocks = decision.blocks.axis
        assert isinstance(blocks, Blocked)
        by = "key and block" if plan.by else "block"
        return f"on executors by {by} of {blocks.in_words}, after a shuffle of the partials"
    if not plan.by:
        return "on one executor: there is one key"
    whole = ", a whole key in one task" if decision.sort == "rows" else ""
    return f"on executors by key{whole}, after a shuffle of the partials"
