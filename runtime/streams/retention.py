"""What a stream keeps: the partials that a window needs which has not closed, or which is still to come."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from ..frames.next_greater import chain, first_above
from ..frames.window_ranges import PartialsView, Ranges, WindowIds
from ..intervals.lifespans import lifespans
from ..plan.plan import FRAME, Plan
from ..windows import Windows
from ..windows.around import AroundRows, AroundTime
from ..windows.cumulating import Cycles
from ..windows.from_table import Anchored
from ..windows.landmark import Bounded, LandmarkEvery
from ..windows.last_rows import RowSteps, TimeCounts
from ..windows.policy import Triggered
from ..windows.session import Sessions
from ..windows.sliding import TickSteps
from ..windows.snapshot import Snapshots
from .closing import NEVER, closing_ticks
from .long_sessions import open_or_last, standing_for


@singledispatch
def open_rows(windows: Windows, view: PartialsView, watermark: int) -> Bools:
    """Which partials are in a window that a watermark has not closed: new ones that are in none are late."""
    raise NotImplementedError(windows.describe())


@open_rows.register
def _(windows: TickSteps | Cycles, view: PartialsView, watermark: int) -> Bools:
    # A step with no window of its own has the number of the window before: no event there is in any.
    found: Bools = last_windows(windows, view) > windows.closed_by(watermark)
    return found


def last_windows(windows: TickSteps | Cycles, view: PartialsView) -> Ints:
    """The number of the last window that each partial is in, with events that live on."""
    if "until" in view.window_inputs:
        return windows_at(windows, view, view.window_inputs["until"]).last
    return windows.window_ids(view).last


def windows_at(windows: TickSteps | Cycles, view: PartialsView, ticks: Ints) -> WindowIds:
    """The windows of one kind at a time for each partial."""
    return windows.window_ids(PartialsView(windows.frames(ticks)[0], view.starts))


@open_rows.register
def _(windows: Snapshots, view: PartialsView, watermark: int) -> Bools:
    lives: Bools = view.window_inputs["until"] + 1 >= watermark  # that one ends is a change, too
    return lives


@open_rows.register
def _(windows: Sessions, view: PartialsView, watermark: int) -> Bools:
    # Those that longest= ends follow one another: what one begins with depends on where the one before it ended.
    found = replace(windows, longest=None).ranges(view)
    closed = closing_ticks(windows, found, view) <= watermark
    return np.repeat(~closed, found.high - found.low)


@open_rows.register
def _(windows: Bounded, view: PartialsView, watermark: int) -> Bools:
    return np.ones(len(view.frames), bool)


@open_rows.register
def _(windows: Anchored, view: PartialsView, watermark: int) -> Bools:
    found = windows.ranges(view)
    still = closing_ticks(windows, found, view) > watermark
    rows = len(view.frames)
    return covered(found.where(still), rows) | ~covered(found.where(~still), rows)  # what is in no window is not late


def covered(found: Ranges, rows: int) -> Bools:
    """Which of some rows are in any window."""
    edges = np.zeros(rows + 1, np.int64)
    np.add.at(edges, found.low, 1)
    np.add.at(edges, found.high, -1)
    inside: Bools = np.cumsum(edges)[:-1] > 0
    return inside


@singledispatch
def needed_rows(windows: Windows, view: PartialsView, watermark: int) -> Bools:
    """Which partials have to be kept once the windows that a watermark closes are given."""
    return open_rows(windows, view, watermark)


@needed_rows.register
def _(windows: TickSteps | Cycles, view: PartialsView, watermark: int) -> Bools:
    kept = open_rows(windows, view, watermark).copy()
    if windows.emit == "on_change":  # the window before the next one, which is compared with it
        closed = windows.closed_by(watermark)
        kept |= open_rows(windows, view, int(windows.closing_ticks(np.array([closed - 1]))[0]))
    if getattr(windows, "min_fill", "partial") == "full":
        kept[view.starts] = True
    if windows.empty == "emit":  # the last event before the windows to come
        rows = np.where(kept, -1, np.arange(len(kept)))
        before = np.maximum.reduceat(rows, view.starts)
        kept[before[before >= 0]] = True
    return kept


@needed_rows.register
def _(windows: Snapshots, view: PartialsView, watermark: int) -> Bools:
    """Those that live, and those that ended where the last window of their key that has not closed begins."""
    first, until = view.window_inputs["first"], view.window_inputs["until"]
    change = np.full(len(view.starts), np.iinfo(np.int64).min)
    for ticks in (first, until + 1):
        past = np.flatnonzero(ticks < watermark)
        np.maximum.at(change, view.key[past], ticks[past])
    lives = open_rows(windows, view, watermark)
    living = np.zeros(len(view.starts), bool)
    living[view.key[lives]] = True
    return lives | (living[view.key] & (until + 1 >= change[view.key]))


@needed_rows.register
def _(windows: Anchored, view: PartialsView, watermark: int) -> Bools:
    kept = open_rows(windows, view, watermark)
    if not windows.keys:
        kept[view.starts] = True  # all windows are those of this key, too, and it has had those that have closed
    return kept


@needed_rows.register
def _(windows: Sessions, view: PartialsView, watermark: int) -> Bools:
    kept = open_rows(windows, view, watermark)
    return kept if windows.longest is None else kept & open_or_last(windows, view, watermark)


@needed_rows.register
def _(windows: RowSteps, view: PartialsView, watermark: int) -> Bools:
    rank, rows = view.window_inputs["rank"], view.window_inputs["rows"]
    total = (rank + rows)[view.ends - 1][view.key]
    kept: Bools = rank + rows > total - windows.steps.size - windows.steps.every
    return kept


@needed_rows.register
def _(windows: TimeCounts, view: PartialsView, watermark: int) -> Bools:
    times = view.ends - view.starts
    gone = (times - windows.n - 1).clip(0)
    return from_place(view, gone // windows.every * windows.every)


@needed_rows.register
def _(windows: AroundRows, view: PartialsView, watermark: int) -> Bools:
    return from_place(view, view.ends - view.starts - max(windows.last, 0) + min(windows.first, 0))


@needed_rows.register
def _(windows: AroundTime, view: PartialsView, watermark: int) -> Bools:
    """Those in reach of events to come, and of events whose windows have not closed."""
    found = windows.ranges(view)
    wanted = np.flatnonzero(closing_ticks(windows, found, view) > watermark)
    keys = np.arange(len(view.starts))
    cut = view.locate(keys, np.full(len(keys), watermark + windows.start))
    np.minimum.at(cut, view.key[found.row[wanted]], np.minimum(found.low, found.row)[wanted])
    return from_place(view, cut - view.starts)


@needed_rows.register
def _(windows: Triggered, view: PartialsView, watermark: int) -> Bools:
    """Those that could be in a window to come, the last of each key, and what triggered by delta from there on."""
    keys, ticks = np.arange(len(view.starts)), view.window_inputs["first"]
    until = None
    if windows.evict.kind == "count":
        kept = from_place(view, view.ends - windows.evict_by - view.starts)
    elif windows.evict.kind == "time":
        # A time trigger after the last row comes if a later row does, and then it is of that time.
        late = windows.trigger.kind == "time" and windows.until is None
        next_trigger = ticks[view.ends - 1] if late else np.full(len(keys), watermark)
        kept = from_place(view, view.locate(keys, next_trigger - windows.evict_by, ticks) - view.starts)
    else:
        until = first_above(windows.values(view, windows.evict), view.starts, windows.evict_by)
        kept = until == view.ends[view.key]
    kept[view.ends - 1] = True
    if windows.trigger.kind == "delta":
        following = first_above(windows.values(view, windows.trigger), view.starts, windows.trigger_by)
        reached = chain(following, view.starts)
        rows = np.flatnonzero(reached)
        # From the last one before any row that is needed: the next ones are found from there.
        begin = rows[np.searchsorted(rows, first_of_keys(kept, view), side="right") - 1]
        kept |= reached & (np.arange(len(kept)) >= begin[view.key])
    elif windows.trigger.kind == "time" and windows.emit == "on_change":  # the next window is compared with it
        kept |= last_window(windows, view, watermark)
    else:
        return kept
    if until is not None:  # and what evicts them
        kept |= chain(until, view.starts, np.flatnonzero(kept))
    return kept


def last_window(windows: Triggered, view: PartialsView, watermark: int) -> Bools:
    """Of each key the rows from its last window on that a trigger by time has closed, and one before that trigger."""
    keys, ticks = np.arange(len(view.starts)), view.window_inputs["first"]
    end = ticks[view.ends - 1] if windows.until is None else np.full(len(keys), min(watermark - 1, windows.until))
    at = windows.periods.begins(windows.periods.numbers(end))
    if windows.evict.kind == "time":
        low = view.locate(keys, at - windows.evict_by, ticks)
    else:  # by delta, what has left since then has left with a new row, and so the next window is another one
        low = view.locate(keys, at + 1, ticks) - (windows.evict_by if windows.evict.kind == "count" else 0)
    return from_place(view, np.minimum(low, view.locate(keys, at, ticks) - 1) - view.starts)


def first_of_keys(kept: Bools, view: PartialsView) -> Ints:
    """The first row of each key that is kept; the row after its last one where none is."""
    rows = np.where(kept, np.arange(len(kept)), np.iinfo(np.int64).max)
    return np.minimum(np.minimum.reduceat(rows, view.starts), view.ends)


def from_place(view: PartialsView, place: Ints) -> Bools:
    """The partials of each key from one of its places on; always its last one, after which rows are numbered on."""
    first = np.minimum(view.starts + place.clip(0), view.ends - 1)
    found: Bools = np.arange(len(view.frames)) >= first[view.key]
    return found


def needed(plan: Plan, views: list[PartialsView], watermark: int, *, opened: bool = False) -> Bools:
    """Which partials any kind of windows needs; with ``opened`` those that are in a window that has not closed."""
    rows = len(views[0].frames)
    found = np.zeros(rows, bool)
    if not rows:
        return found
    for windows, view in zip(plan.axis.windows, views, strict=True):
        inside = np.arange(rows) if view.inside is None else np.flatnonzero(view.inside)
        some = view if view.inside is None else view.only(inside)
        whole = isinstance(windows, Sessions) and len(views) > 1  # others have these partials, too, as they are
        found[inside] |= (open_rows if opened or whole else needed_rows)(windows, some, watermark)
    return found


def in_gaps(plan: Plan, views: list[PartialsView]) -> Bools:
    """Which partials are of interval events that live between two windows, and so are in none."""
    found = np.ones(len(views[0].frames), bool)
    for windows, view in zip(plan.axis.windows, views, strict=True):
        if not isinstance(windows, (TickSteps, Cycles)):
            return np.zeros(len(found), bool)
        found &= windows_at(windows, view, view.window_inputs["first"]).first > last_windows(windows, view)
    return found


def untouched(plan: Plan, views: list[PartialsView], watermark: int) -> Bools:
    """Which partials are in no window on a grid that a watermark has closed."""
    found = np.ones(len(views[0].frames), bool)
    for windows, view in zip(plan.axis.windows, views, strict=True):
        if isinstance(windows, (TickSteps, Cycles)):
            found &= windows.window_ids(view).first > windows.closed_by(watermark)
    return found


def first_closing(plan: Plan, views: list[PartialsView], watermark: int) -> int | None:
    """The tick at which the first window closes that has not closed; None where there is none."""
    ticks = []
    for number, (windows, view) in enumerate(zip(plan.axis.windows, views, strict=True)):
        if not len(view.frames):
            continue
        if plan.until is None and isinstance(windows, (TickSteps, Cycles)):
            first = int(windows.window_ids(view).first.min())
            next_one = max(first, windows.closed_by(watermark) + 1)
            ticks.append(int(windows.closing_ticks(np.array([next_one]))[0]))
            continue
        found = plan.axis.ranges(number, view) if plan.until is None else lifespans(windows, view).ranges
        closing = closing_ticks(windows, found, view)
        if isinstance(windows, Snapshots):  # an event ends a window of others, which need not be among these
            closing = np.append(closing, view.window_inputs["first"] + 1)
        ticks.append(int(closing[closing > watermark].min(initial=NEVER)))
    return min((tick for tick in ticks if tick < NEVER), default=None)


def settled(plan: Plan, view: PartialsView, watermark: int) -> tuple[str, Ints] | None:
    """The column to rewrite before storing, with its new values; None if nothing changes.

    Of landmark windows the frame, which partials have in common then, one a key.
    """
    (windows, *others) = plan.axis.windows
    if others or not len(view.frames):
        return None
    if isinstance(windows, Sessions) and windows.longest is not None:
        first = standing_for(windows, view, watermark)
        (column,) = plan.state_columns[plan.input_state("first")]["tick"]
        return None if (first == view.window_inputs["first"]).all() else (column, first)
    if not isinstance(windows, Bounded):
        return None
    frames = view.frames.copy()
    past = np.ones(len(frames), bool)
    if isinstance(windows, LandmarkEvery):
        past = windows.step_ends(frames) <= watermark
    # What comes after until= is in no window, and only says up to when there are windows.
    beyond = 0 if windows.beyond is None else view.window_inputs["first"] >= windows.beyond
    group = (2 * view.key + beyond)[past]
    last = np.full(2 * len(view.starts), np.iinfo(np.int64).min)
    np.maximum.at(last, group, frames[past])
    frames[past] = last[group]
    return FRAME, frames
