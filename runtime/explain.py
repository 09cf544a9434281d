"""What a query will do, said before anything runs."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from .query import Query


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


def explain(query: Query, engine: str, stages: Sequence[tuple[str, str]]) -> Explanation:
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
    windows, frames = query.line.windows, query.line.describe_frames()
    by = f"key {', '.join(query.by)}" if query.by else "one key: everything"
    rows = [
        ("events", f"time {query.time} ({query.times.type}), {by}; columns read: {', '.join(query.columns)}"),
        ("frames", frames),
        *(("windows", each.describe()) for each in windows),
    ]
    for name, bound in query.outputs.items():
        deducts, why = bound.deducts
        cost = "2 element operations a window" if deducts else "at most 3 element operations a window"
        way = "deduct" if deducts else "two-stacks"
        if len(windows) == 1 and windows[0].frames_in_window == 1:
            way, why, cost = "nothing to slide", "a window is one frame", "no element operations"
        order = "" if bound.commutative else "; order-sensitive, so merged in time order"
        rows.append((f"{name} = {bound.asked!r}", f"{bound.result}; slides by {way} ({cost}): {why}{order}"))
    return Explanation(f"framefold on {engine}", (*rows, *stages))


LOCAL_STAGES = (
    ("accumulate, merge", "in this process, a million events at a time"),
    ("slide, finish", "in this process, all keys at once"),
)
