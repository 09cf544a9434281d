"""The lives of a key of a stream: each ends some time after its last event, in whichever micro-batch another comes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.large import one_array
from ..columns.key_codes import key_codes
from ..columns.sorting import differs
from ..columns.ticks import NEVER
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Ranges
from ..partials.merge import merge
from ..partials.partials import Partials
from ..plan.plan import Plan, with_key
from .held_events import keys_of, of_their_keys, ticks_of

LIFE = "#life"
"""The column with the number of a key's life, which is a key like the others: 0 goes on from what is stored of it."""

NONE_BEFORE = np.iinfo(np.int64).min


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


def in_lives(events: pa.Table, before: Partials, forget: int) -> tuple[Plan, pa.Table] | None:
    """Events with the number of their life, and the plan in which it is the last key.

    Parameters
    ----------
    events
        By key and time, with row numbers where windows are counted in rows.
    before
        Merged partials of earlier ones.
    forget
        How long after its last event a key is kept, in ticks.

    Returns
    -------
    None where all go on from what is stored. Row numbers of later lives are their own.
    """
    plan = before.plan
    first = firsts(plan, events)
    begins = beginnings(events, first, before, forget)
    if not begins.any():
        return None
    rows, count = np.arange(len(events)), np.cumsum(begins)
    lives: Ints = count - (count - begins)[np.maximum.accumulate(np.where(first, rows, 0))]
    found = with_key(plan, LIFE)
    found = replace(found, input_schema=plan.input_schema.insert(0, pa.field(found.by[-1], pa.int64())))
    events = events.append_column(found.by[-1], pa.array(lives))
    if plan.in_rows:
        ranks = ranks_of(plan, events)
        begin = np.maximum.accumulate(np.where(begins, rows, 0))
        ranks = np.where(lives > 0, ranks - ranks[begin], ranks)
        events = events.set_column(events.column_names.index(plan.rank), plan.rank, pa.array(ranks))
    return found, events


def beginnings(events: pa.Table, first: Bools, before: Partials, forget: int) -> Bools:
    """Mask of the events that begin a later life of their key; ``first`` is a mask of each key's first event."""
    plan = before.plan
    ticks, begins = ticks_of(plan, events), np.zeros(len(events), bool)
    earlier = np.full(len(events), NONE_BEFORE)
    if len(before):
        assert before.starts is not None
        view = PartialsView(before.frames, before.starts, before.window_inputs())
        heads = events.filter(pa.array(first))
        earlier[first] = of_their_keys(heads, before, last_ticks(view), NONE_BEFORE)
    inside = plan.axis.frames(ticks, ranks_of(plan, events) if plan.in_rows else None)[1]
    if inside is not None:  # what is in no window is not stored, and leaves no trace
        stored = earlier[np.maximum.accumulate(np.where(first, np.arange(len(events)), 0))]
        rows = np.flatnonzero(inside)
        key: Ints = np.cumsum(first, dtype=np.int64)[rows]
        first, earlier, ticks = differs(key), stored[rows], ticks[rows]
    else:
        rows = np.arange(len(events))
    earlier[1:] = np.where(first[1:], earlier[1:], ticks[:-1])
    apart = np.flatnonzero((earlier > NONE_BEFORE) & (ticks > earlier + forget))
    begins[rows[apart]] = ticks[apart] >= over(plan, earlier[apart], forget)
    return begins


def firsts(plan: Plan, events: pa.Table) -> Bools:
    """Mask of the first event of each key, of events sorted by key."""
    return differs(key_codes(keys_of(plan, events), len(events), ordered=False)[0])


def ranks_of(plan: Plan, events: pa.Table) -> Ints:
    """The row numbers of events."""
    ranks: Ints = one_array(events.column(plan.rank)).to_numpy()
    return ranks


def of_first_lives(plan: Plan, before: Partials) -> Partials:
    """Stored partials with life 0 as their last key: the life that new events may go on with."""
    place = len(plan.by) - 1
    numbers = pa.array(np.zeros(len(before), np.int64))
    return Partials(plan, before.table.add_column(place, plan.partials_schema.field(place), numbers))


def last_lives(plan: Plan, merged: Partials) -> tuple[Partials, Ints]:
    """The partials of each key's last life, for a plan without lives; the frames of all earlier lives."""
    assert merged.starts is not None
    place = len(plan.by)
    lives = one_array(merged.table.column(place)).to_numpy()[merged.starts]
    last = np.append(lives[1:] == 0, True)
    sizes = np.diff(np.append(merged.starts, len(merged)))
    rows = np.repeat(last, sizes)
    table = merged.table.remove_column(place).filter(pa.array(rows))
    return Partials(plan, table, np.cumsum(sizes[last]) - sizes[last]), merged.frames[~rows]
