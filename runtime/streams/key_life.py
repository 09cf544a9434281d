"""How long a stream knows a key: windows without an event go on after its last one, until it is forgotten."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import NEVER
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Ranges
from ..partials.merge import merge
from ..partials.partials import Partials
from ..plan.plan import Plan


def emits_empty(plan: Plan) -> bool:
    """Whether windows without an event are asked for, of keys that have had one."""
    return any(isinstance(each, NumberedWindows) and each.emits_empty for each in plan.axis.windows)


def last_ticks(view: PartialsView) -> Ints:
    """The time of the last event of each key."""
    found = np.full(len(view.starts), np.iinfo(np.int64).min)
    np.maximum.at(found, view.key, view.window_inputs["last"])
    return found


def living_on(stored: Partials, watermark: int, forget: int | None) -> Partials:
    """Merged partials, with an empty one for each key that has windows to come: at the watermark, or its end."""
    plan = stored.plan
    if not emits_empty(plan) or not len(stored):
        return stored
    assert forget is not None
    assert stored.starts is not None
    (windows,) = plan.axis.windows
    view = PartialsView(stored.frames, stored.starts, stored.window_inputs())
    ticks = np.minimum(last_ticks(view) + forget, watermark)
    frames, inside = windows.frames(ticks)
    if inside is not None:  # a tick between two windows: the frame before it is in the one that began last
        frames = frames - ~inside
    later = frames > view.frames[view.ends - 1]
    return with_empty(stored, stored.starts[later], frames[later]) if later.any() else stored


def with_empty(stored: Partials, rows: Ints, frames: Ints) -> Partials:
    """Merged partials, and after them one without events for the key of each of some rows, in a frame."""
    first = pa.array(rows)
    keys = [key.take(first) for key in stored.keys]
    return merge([stored.unmerged(), Partials.without_events(stored.plan, keys, frames, np.iinfo(np.int64).max)])


def of_living_keys(windows: NumberedWindows, ranges: Ranges, view: PartialsView, forget: int) -> Bools:
    """Mask of windows with an event, or that begin within ``forget`` ticks after the last event of their key before."""
    before = np.maximum(ranges.low - 1, 0)
    begin = ranges.start + (windows.closed == "right")
    kept: Bools = (ranges.high > ranges.low) | (begin <= view.window_inputs["last"][before] + forget)
    return kept


def over(plan: Plan, last: Ints, forget: int) -> Ints:
    """For the tick of each key's last event: the tick at which the key is forgotten; ``NEVER`` if it never is.

    An event from then on is the first of a key like any other. Watermarks have no part in it: they only say from when
    on what is forgotten need not be kept.
    """
    found = last + forget + 1
    for windows in plan.axis.windows:
        found = np.maximum(found, windows.closed_after(last, forget))
    return found


def forgotten(plan: Plan, view: PartialsView, watermark: int, forget: int | None) -> Bools:
    """Mask of the partials whose key a watermark forgets."""
    if forget is None or "last" not in view.window_inputs or not len(view.frames):
        return np.zeros(len(view.frames), bool)
    mask: Bools = (over(plan, last_ticks(view), forget) <= watermark)[view.key]
    return mask


def first_forgotten(plan: Plan, view: PartialsView, watermark: int, forget: int | None) -> int | None:
    """The tick from which on the first key is forgotten; None where none is."""
    if forget is None or "last" not in view.window_inputs or not len(view.frames):
        return None
    ticks = over(plan, last_ticks(view), forget)
    return min(ticks[(ticks > watermark) & (ticks < NEVER)].tolist(), default=None)
