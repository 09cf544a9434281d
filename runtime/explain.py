"""What a plan will do, as text, before anything runs."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .intervals import coverage
from .plan.cells import Taken
from .plan.plan import Plan
from .sliding import slide

__all__ = ["Explanation"]


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


BESIDE = {
    "event": "each event, in the order in which they are",
    "label": "each row of the other table, in the order in which they are",
    "step": "each step of each key",
}
"""What outputs of ``with_columns`` are beside."""


def explain(plan: Plan, engine: str, stages: Sequence[tuple[str, str]]) -> Explanation:
    """The explanation of a plan.

    Parameters
    ----------
    plan
        What would run.
    engine
        What runs it, such as ``"Spark"``.
    stages
        Pairs of a stage's name and where it runs, from the engine; left out without outputs, on which it depends.
    """
    by = f"key {', '.join(plan.by)}" if plan.by else "one key: everything"
    rows = [
        ("events", f"time {plan.time} ({plan.times.type}), {by}; columns read: {', '.join(plan.columns)}"),
        ("frames", plan.axis.describe_frames()),
        *(("windows", each.describe()) for each in plan.axis.windows),
    ]
    beside = () if plan.axis.beside is None else (("beside", BESIDE[plan.axis.beside]),)
    return Explanation(f"framefold on {engine}", (*rows, *ways(plan), *(stages if plan.outputs else ()), *beside))


def ways(plan: Plan) -> list[tuple[str, str]]:
    """Pairs of an output and how it slides, and why."""
    found, columns = [], defaultdict[str, list[str]](list)
    for column, cell in plan.cells.items():
        if isinstance(cell, Taken):
            columns[cell.output].append(column)
    for name, bound in plan.outputs.items():
        words = dict.fromkeys(way_in_words(plan, name, number) for number in plan.over[name])
        order = "" if bound.commutative else "; order-sensitive, so merged in time order"
        order += "" if name not in plan.filled else f"; filled where it is null: {plan.filled[name]}"
        found.append(
            (f"{', '.join(columns[name]) or name} = {bound.spec!r}", f"{bound.result}; {'; '.join(words)}{order}")
        )
    return found


def way_in_words(plan: Plan, output: str, number: int) -> str:
    """How an output is computed over one kind of windows, by its number on the axis, in words."""
    if plan.until is not None or plan.axis.windows[number].runs:
        return coverage.way_in_words(plan, output, number)
    return slide.way_in_words(plan, output, number)
