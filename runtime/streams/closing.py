"""When a watermark closes windows: from that tick on no event can change them, nor whether there are such windows."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from ...aggregators.states.arrays import Ints
from ..frames.window_ranges import Coverage, PartialsView, Ranges
from ..windows import Windows
from ..windows.around import AroundRows, AroundTime
from ..windows.cumulating import Cycles
from ..windows.from_table import Anchored
from ..windows.landmark import LandmarkEach, LandmarkEvery
from ..windows.last_rows import RowSteps, TimeCounts
from ..windows.policy import Triggered
from ..windows.session import Sessions
from ..windows.sliding import TickSteps
from ..windows.snapshot import Snapshots

NEVER = np.iinfo(np.int64).max
"""The tick at which windows close that lack rows which have not come."""

Found = Ranges | Coverage


@singledispatch
def closing_ticks(windows: Windows, found: Found, view: PartialsView) -> Ints:
    """For each window the first tick from which on no event changes it, or brings it about.

    Parameters
    ----------
    windows
        Their kind.
    found
        The windows over some partials, all of them or some.
    view
        These partials as the windows see them.
    """
    raise NotImplementedError(windows.describe())


@closing_ticks.register
def _(windows: TickSteps | Cycles, found: Found, view: PartialsView) -> Ints:
    return found.end + (windows.closed == "right")


@closing_ticks.register
def _(windows: Snapshots, found: Found, view: PartialsView) -> Ints:
    """An event that starts where they end can still come, and be what ends them."""
    return found.end + 1


@closing_ticks.register
def _(windows: Sessions, found: Found, view: PartialsView) -> Ints:
    return found.end + windows.merge_touching


@closing_ticks.register
def _(windows: RowSteps | TimeCounts | LandmarkEach, found: Found, view: PartialsView) -> Ints:
    """An event each, which has to have its place among those of its time."""
    assert found.at is not None
    return found.at + 1


@closing_ticks.register
def _(windows: AroundRows, found: Found, view: PartialsView) -> Ints:
    ticks = view.window_inputs["first"]
    needed = found.row + max(windows.last, 0)
    there = needed < view.ends[view.key[found.row]]
    return np.where(there, ticks[np.minimum(needed, len(ticks) - 1)] + 1, NEVER)


@closing_ticks.register
def _(windows: AroundTime, found: Found, view: PartialsView) -> Ints:
    assert found.at is not None
    return np.maximum(found.at + 1, found.end + (windows.closed in ("right", "both")))


@closing_ticks.register
def _(windows: Triggered, found: Found, view: PartialsView) -> Ints:
    assert found.at is not None
    if windows.trigger.kind != "time" or windows.until is not None:
        return found.at + 1
    # A time trigger comes if a later row does, whenever.
    ticks = view.window_inputs["first"]
    after: Ints = ticks[view.locate(view.key[found.row], found.at, ticks)] + 1
    return after


@closing_ticks.register
def _(windows: LandmarkEvery, found: Found, view: PartialsView) -> Ints:
    number, steps = windows.numbers(view)
    if windows.emit == "on_change":  # those that are frozen are left out, but for the first
        number = windows.step_up_to(found.end)
    # There are windows up to a key's last event.
    row = view.locate(view.key[found.row], number, steps)
    closed: Ints = np.maximum(windows.step_ends(number), view.window_inputs["first"][row] + 1)
    return closed


@closing_ticks.register
def _(windows: Anchored, found: Found, view: PartialsView) -> Ints:
    # Windows of every key are those of a key that has not come yet, too.
    first = view.window_inputs["first"][view.starts[view.key[found.row]]]
    closed: Ints = np.maximum(found.end + (windows.closed in ("right", "both")), first + 1)
    return closed


@singledispatch
def closed_after(windows: Windows, ticks: Ints, forget: int) -> Ints:
    """For events at some times the tick by which all windows have closed that a key has if nothing comes after them.

    Windows that wait for more rows do not close then, and are not meant.

    Parameters
    ----------
    windows
        Their kind.
    ticks
        The times.
    forget
        How long after its last event a key has windows without one, in ticks.
    """
    raise NotImplementedError(windows.describe())


@closed_after.register
def _(windows: TickSteps | Cycles, ticks: Ints, forget: int) -> Ints:
    last = ticks + forget if windows.empty == "emit" else ticks
    numbers = windows.window_ids(PartialsView(windows.frames(last)[0], np.arange(len(last)))).last
    return windows.closing_ticks(numbers)


@closed_after.register
def _(windows: Sessions, ticks: Ints, forget: int) -> Ints:
    return ticks + windows.gap + windows.merge_touching


@closed_after.register
def _(windows: RowSteps | TimeCounts | AroundRows | LandmarkEach, ticks: Ints, forget: int) -> Ints:
    return ticks + 1


@closed_after.register
def _(windows: AroundTime, ticks: Ints, forget: int) -> Ints:
    return ticks + max(1, windows.end + (windows.closed in ("right", "both")))


@closed_after.register
def _(windows: Triggered, ticks: Ints, forget: int) -> Ints:
    if windows.trigger.kind != "time" or windows.until is None:
        return ticks + 1
    return np.maximum(ticks, windows.until) + 1


@closed_after.register
def _(windows: LandmarkEvery, ticks: Ints, forget: int) -> Ints:
    return np.maximum(windows.step_ends(windows.frames(ticks)[0]), ticks + 1)


@closed_after.register
def _(windows: Anchored, ticks: Ints, forget: int) -> Ints:
    """Never, where all of them would be given once more to a key that is forgotten, or are its own."""
    if windows.keys or windows.empty == "emit":
        return np.full(len(ticks), NEVER)
    last = int((windows.end + (windows.closed in ("right", "both"))).max(initial=-NEVER))
    return np.maximum(ticks + 1, last)
