"""Events to partials: rows to groups of one key in one frame, groups to states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ...aggregators.contract.frames import Frames
from ...aggregators.contract.operation import State
from ...aggregators.intervals.time_weighted import Lifetimes
from ...aggregators.states.arrays import Bools, Ints
from ..columns.groups import Groups, assign
from ..columns.key_codes import code_key, code_numbers, edges, key_column, plain
from ..columns.malloc import raise_mmap_threshold
from ..columns.ticks import NEVER, drop_null_times, ends_of
from ..partials.partials import Partials
from ..plan.plan import Plan
from ..plan.window_inputs import RANK, UNTIL_TICK, Earliest

MOSTLY = 8
"""Partials without an event are left among the others where they are less than one in this many."""


def accumulate(plan: Plan, events: pa.Table | pa.RecordBatch, batch_rank: int, *, with_empty: bool = False) -> Partials:
    """The partials of a batch of events: one for each (key, frame) in it.

    Parameters
    ----------
    plan
        What is computed.
    events
        Events with at least the plan's columns, and ``plan.rank`` where windows are counted in rows.
    batch_rank
        The rank of the batch in input order.
    with_empty
        Whether partials without an event may be among them, which are then known by ``Partials.events``.

    Raises
    ------
    NullTimeError
        If an event has no time, unless the plan drops those.
    """
    raise_mmap_threshold()
    types = plan.input_schema
    events = (pa.table(events) if isinstance(events, pa.RecordBatch) else events).select(types.names)
    if plan.null_time == "drop":
        events = drop_null_times(events, plan.time)
    columns = {name: plain(events.column(name), types.field(name).type) for name in plan.inputs}
    keys = [key_column(events, name, types.field(name).type) for name in plan.by]
    ticks = plan.times.ticks(columns[plan.time])
    if not len(ticks):
        return Partials.none(plan)
    ranks = plain(events.column(plan.rank), pa.int64()).to_numpy() if plan.in_rows else None
    frames, bounds, inside = frames_of(plan, ticks, ranks)
    if plan.until is None and inside is not None and not inside.all():
        kept = pa.array(inside)
        columns = {name: column.filter(kept) for name, column in columns.items()}
        keys = [key.filter(kept) for key in keys]
        ticks, ranks = ticks[inside], None if ranks is None else ranks[inside]
        if not len(ticks):
            return Partials.none(plan)
        frames, bounds = frames[inside], None
    own = {} if ranks is None else {RANK: pa.array(ranks)}
    numbers = [frames]
    codes = [code_numbers(frames, bounds)]
    if plan.until is not None:
        ends = ends_in_ticks(plan, ticks, columns[plan.until.name])
        own[UNTIL_TICK] = pa.array(ends - 1)
        numbers.append(plan.axis.frames(ends - 1, ranks)[0])
        codes.append(code_numbers(numbers[1]))
    counting = plan.until is not None or not all(bound.takes_empty_frames for bound in plan.states.values())
    in_place = plan.until is None and not any(np.may_share_memory(frames, each) for each in (ticks, ranks))
    groups = assign(
        codes,
        list(map(code_key, keys)),
        len(ticks),
        counting=counting,
        in_place=in_place,
        by_key=plan.in_rows and plan.until is None,
    )
    if plan.clips:
        rows: Frames = lifetimes(plan, groups, numbers, ticks, ends, ranks)
    else:
        rows = Frames(groups.index, groups.size, ticks, ranks, groups.counts)
    states = states_of_groups(plan, rows, columns, own)
    (first, *last), of_keys = groups.values[: len(codes)], groups.values[len(codes) :]
    made = Partials.of_states(plan, of_keys, [first, np.full(len(first), batch_rank), *last], states)
    if groups.counts is not None or (counts := rows.count()).all():
        return made
    made = replace(made, events=counts)
    return made if with_empty and np.count_nonzero(counts) > len(counts) - len(counts) // MOSTLY else made.filled()


def ends_in_ticks(plan: Plan, ticks: Ints, column: pa.Array) -> Ints:
    """The ends of interval events, none later than they live at most."""
    assert plan.until is not None
    ends = ends_of(plan.times, plan.until, ticks, column, plan.why_all_end)
    if plan.longest is None:
        return ends
    return ticks + np.where(ends == NEVER, plan.longest, np.minimum(ends - ticks, plan.longest))


def states_of_groups(
    plan: Plan, rows: Frames, columns: dict[str, pa.Array], own: dict[str, pa.Array]
) -> dict[str, State]:
    """The states of each aggregate, one a group: of columns of the events, or of what is known of each row."""
    return {
        name: bound.accumulate(
            rows, [(own if isinstance(bound.spec, Earliest) else columns)[column] for column in bound.columns]
        )
        for name, bound in sorted(plan.states.items(), key=lambda state: not state[1].columns)  # sums count rows
    }


def frames_of(plan: Plan, ticks: Ints, ranks: Ints | None) -> tuple[Ints, Ints | None, Bools | None]:
    """The frame of each event; the least and greatest frame, if known; a mask of events in any window (None: all)."""
    if plan.axis.unit == "time":  # frames never fall with ticks, so the least and greatest tick bound them
        bounds, inside = plan.axis.frames(np.array(edges(ticks)), None)
        if inside is None:
            return plan.axis.frames_unchecked(ticks), bounds, None
    frames, inside = plan.axis.frames(ticks, ranks)
    return frames, None, inside


def lifetimes(
    plan: Plan, groups: Groups, numbers: list[Ints], ticks: Ints, ends: Ints, ranks: Ints | None
) -> Lifetimes:
    """Interval events in their groups, with their lifetimes in the frames in which they start and end."""
    (windows,) = plan.axis.windows
    if plan.axis.each_row:  # the numbers are those of rows, and not of frames of time
        numbers = [windows.frames(each, None)[0] for each in (ticks, ends - 1)]
    first, last = map(windows.frame_bounds, numbers)
    if windows.whole_frames or first is None or last is None:
        head = tail = np.zeros(len(ticks), np.int64)
    else:
        head = np.minimum(ends, first[1]) - ticks
        tail = np.where(last[0] > ticks, ends - last[0], 0)
    return Lifetimes(groups.index, groups.size, ticks, head, tail, ranks)
