"""What a query will do, said before anything runs."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from ..aggregators.contract.bound import BoundAggregate
from ..aggregators.intervals.time_weighted import lifetimes_of
from .intervals.coverage import way_of
from .plan.plan import Plan
from .sliding.block_scan import has_columns
from .sliding.kernels import has_kernels
from .windows import Windows


@dataclass(frozen=True)
class Explanation:
    """Frames, ways of sliding, and where each stage runs: text by ``str()``, a table in notebooks."""

    title: str
    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(label) for label, _ in self.rows)
        return "\n".join([self.title, *(f"  {label.ljust(width)}  {text}" for label, text in self.rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(label)}</th><td "
            f"style='text-align:left'>{html.escape(text)}</td></tr>"
            for label, text in self.rows
        )
        return f"<table><caption>{html.escape(self.title)}</caption>{cells}</table>"


def explain(plan: Plan, engine: str, stages: Sequence[tuple[str, str]]) -> Explanation:
    """The explanation of a query.

    Parameters
    ----------
    query
        A bound query.
    engine
        What runs it, such as ``"Spark"``.
    stages
        Pairs of a stage's name and where it runs, from the engine.
    """
    windows, frames = plan.axis.windows, plan.axis.describe_frames()
    by = f"key {', '.join(plan.by)}" if plan.by else "one key: everything"
    rows = [
        ("events", f"time {plan.time} ({plan.times.type}), {by}; columns read: {', '.join(plan.columns)}"),
        ("frames", frames),
        *(("windows", each.describe()) for each in windows),
    ]
    for name, bound in plan.outputs.items():
        ways = dict.fromkeys(way(plan, bound, windows[number]) for number in plan.over[name])
        order = "" if bound.commutative else "; order-sensitive, so merged in time order"
        rows.append((f"{name} = {bound.spec!r}", f"{bound.result}; {'; '.join(ways)}{order}"))
    return Explanation(f"framefold on {engine}", (*rows, *stages))


def way(plan: Plan, bound: BoundAggregate, windows: Windows) -> str:
    """How the windows of an output are put together, what that costs, and why."""
    deducts, why = bound.deducts
    if plan.until is not None:
        if lifetimes_of(bound) is not None:
            return "slides by deduct over clipped lifetimes (5 element operations a frame at most)"
        return {
            "deduct": f"covers by deduct (2 element operations a window, however long events live): {why}",
            "tree": f"covers by a tree over the windows (O(log n) element operations a window): {why}",
            "copies": "covers by copies (an element operation for each window of each event): order matters",
        }[way_of(bound)]
    if windows.frames_in_window == 1 and len(plan.axis.windows) == 1:
        return "slides by nothing to slide (no element operations): a window is one frame"
    if windows.runs:
        cost = "2" if deducts else "O(log n)"
        return f"slides by what is in each window, row by row ({cost} element operations a window): {why}"
    if not windows.forward:
        return "slides by a range tree (O(log n) element operations a window) where windows move back: they may"
    cost = "2 element operations a window" if deducts else "at most 3 element operations a window"
    more = ""
    if has_kernels(bound):
        more = "; by kernels, without calls"
    elif deducts and has_columns(bound):
        more = "; long runs of windows by two-stacks side by side (3), in fewer calls"
    return f"slides by {'deduct' if deducts else 'two-stacks'} ({cost}): {why}{more}"
