"""What a stream keeps: the partials that a window needs which has not closed, or which is still to come."""

from __future__ import annotations

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import NEVER
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView
from ..intervals.lifespans import lifespans
from ..plan.plan import FRAME, Plan


def needed_partials(plan: Plan, views: list[PartialsView], watermark: int, *, opened: bool = False) -> Bools:
    """Mask of partials that any kind of windows needs; with ``opened`` of those in a window that has not closed."""
    rows = len(views[0].frames)
    found = np.zeros(rows, bool)
    if not rows:
        return found
    for windows, view in zip(plan.axis.windows, views, strict=True):
        inside = np.arange(rows) if view.inside is None else np.flatnonzero(view.inside)
        some = view if view.inside is None else view.only(inside)
        if opened:
            found[inside] |= windows.open_rows(some, watermark)
        else:
            found[inside] |= windows.needed_rows(some, watermark, alone=len(views) == 1)
    return found


def in_gaps(plan: Plan, views: list[PartialsView]) -> Bools:
    """Mask of partials of interval events that lie between two windows, so that they are in none."""
    found = np.ones(len(views[0].frames), bool)
    for windows, view in zip(plan.axis.windows, views, strict=True):
        if not isinstance(windows, NumberedWindows):
            return np.zeros(len(found), bool)
        found &= windows.ids_at(view, view.window_inputs["first"]).first > windows.last_ids(view)
    return found


def untouched(plan: Plan, views: list[PartialsView], watermark: int) -> Bools:
    """Mask of partials that are in no closed window, of those windows that have numbers."""
    found = np.ones(len(views[0].frames), bool)
    for windows, view in zip(plan.axis.windows, views, strict=True):
        if isinstance(windows, NumberedWindows):
            found &= windows.window_ids(view).first > windows.closed_by(watermark)
    return found


def first_closing(plan: Plan, views: list[PartialsView], watermark: int) -> int | None:
    """Earliest tick beyond the watermark at which a window closes; None if none will."""
    ticks = []
    for number, (windows, view) in enumerate(zip(plan.axis.windows, views, strict=True)):
        if not len(view.frames):
            continue
        if plan.until is None and isinstance(windows, NumberedWindows):
            first = int(windows.window_ids(view).first.min())
            next_one = max(first, windows.closed_by(watermark) + 1)
            ticks.append(int(windows.closing_by_id(np.array([next_one]))[0]))
            continue
        found = plan.axis.ranges(number, view) if plan.until is None else lifespans(windows, view).ranges
        ticks.append(windows.next_closing(found, view, watermark))
    return min((tick for tick in ticks if tick < NEVER), default=None)


def condensed(plan: Plan, view: PartialsView, watermark: int) -> tuple[str, Ints] | None:
    """The column to rewrite before storing, with its new values; None if nothing changes."""
    (windows, *others) = plan.axis.windows
    found = None if others or not len(view.frames) else windows.condensed(view, watermark)
    if found is None or found[0] == FRAME:
        return found
    (column,) = plan.state_columns[plan.input_state(found[0])]["tick"]
    return column, found[1]
