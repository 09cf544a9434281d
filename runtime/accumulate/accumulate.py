"""Events to partials: rows to groups of one key in one frame, groups to states."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...aggregators.contract.frames import Frames
from ...aggregators.contract.operation import State
from ...aggregators.intervals.time_weighted import Lifetimes
from ...aggregators.states.alike import numbers, ones, zeros
from ...aggregators.states.arrays import Bools, Index, Ints
from ..columns.key_codes import Coded, Groups, assign, code_key, code_numbers, edges
from ..columns.malloc import raise_mmap_threshold
from ..columns.plain import key_column, plain
from ..columns.ticks import NEVER, drop_null_times, ends_of
from ..partials.partials import Partials
from ..plan.plan import Plan
from ..plan.window_inputs import RANK, UNTIL_TICK, Earliest
from ..tuning import MOSTLY_FULL


def accumulate(
    plan: Plan,
    events: pa.Table | pa.RecordBatch,
    batch_rank: int,
    *,
    with_empty: bool = False,
    starts: Index | None = None,
) -> Partials:
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
    starts
        Where the events of each key begin, if they are sorted by a single key, then time; None where this is not known.

    Raises
    ------
    NullTimeError
        If an event has no time, unless the plan drops those.
    """
    raise_mmap_threshold()
    rows = in_windows(plan, rows_of(plan, events, own=starts is None))
    if not len(rows.ticks):
        return Partials.none(plan)
    lives = None if plan.until is None else lives_of(plan, rows)
    known = lives is None and len(rows.ticks) == len(events)
    groups = groups_of_rows(rows, starts) if known and starts is not None else None
    keys = list(map(code_key, rows.keys)) if groups is None else []
    groups = groups_of(plan, rows, keys, lives) if groups is None else groups
    if plan.clips and lives is not None:
        frames: Frames = lifetimes(plan, groups, rows, lives)
    else:
        frames = Frames(groups.index, groups.size, rows.ticks, rows.ranks, groups.counts)
    states = states_of_groups(plan, frames, rows, lives)
    of_frames, of_keys = groups.values[: 1 if lives is None else 2], groups.values[1 if lives is None else 2 :]
    of_frames.insert(1, np.full(groups.size, batch_rank) if batch_rank else zeros(groups.size))
    made = Partials.of_states(plan, of_keys, of_frames, states)
    if groups.starts is not None and len(plan.by) == 1 and lives is None:
        return replace(made, starts=groups.starts)
    if all(key.count == 1 for key in keys):  # one key, in the order of frames: merged
        made = replace(made, starts=np.zeros(1, np.intp))
    if groups.counts is not None or (counts := frames.counts).all():
        return made
    made = replace(made, events=counts)
    return made if with_empty and np.count_nonzero(counts) > len(counts) - len(counts) // MOSTLY_FULL else made.filled()


class Rows(NamedTuple):
    """Events as columns: those that the plan takes as inputs, and those of keys.

    Parameters
    ----------
    ticks, frames
        The tick of each event, and its frame.
    ranks
        The row numbers of events, where windows are counted in rows.
    bounds
        The least and the greatest frame, where known.
    inside
        Which events are in any window; None: all.
    """

    columns: dict[str, pa.Array]
    keys: list[pa.Array]
    ticks: Ints
    ranks: Ints | None
    frames: Ints
    bounds: Ints | None
    inside: Bools | None


def rows_of(plan: Plan, events: pa.Table | pa.RecordBatch, *, own: bool) -> Rows:
    """Events as columns, but none that the plan drops; with ``own`` in the frames of their own key, if these exist."""
    types = plan.input_schema
    events = (pa.Table.from_batches([events]) if isinstance(events, pa.RecordBatch) else events).select(types.names)
    if plan.null_time == "drop":
        events = drop_null_times(events, plan.time)
    columns = {name: plain(events.column(name), types.field(name).type) for name in plan.inputs}
    keys = [key_column(events, name, types.field(name).type) for name in plan.by]
    ticks = plan.times.ticks(columns[plan.time])
    ranks = plain(events.column(plan.rank), pa.int64()).to_numpy() if plan.in_rows else None
    if not len(ticks):
        return Rows(columns, keys, ticks, ranks, ticks, None, None)
    frames, bounds, inside = frames_of(plan, ticks, ranks)
    if own and (of_keys := plan.axis.own_frames) is not None and len(of_keys.keys) == len(keys):
        frames, inside = of_keys.of_rows(keys, frames)
        bounds = None
    return Rows(columns, keys, ticks, ranks, frames, bounds, inside)


def in_windows(plan: Plan, rows: Rows) -> Rows:
    """The rows that are in any window: of interval events all, which may live on into one."""
    inside = rows.inside
    if plan.until is not None or inside is None or inside.all():
        return rows
    kept = pa.array(inside)
    return Rows(
        {name: column.filter(kept) for name, column in rows.columns.items()},
        [key.filter(kept) for key in rows.keys],
        rows.ticks[inside],
        None if rows.ranks is None else rows.ranks[inside],
        rows.frames[inside],
        None,
        None,
    )


class Lives(NamedTuple):
    """The ends of interval events in ticks, and the frames in which they live last."""

    ends: Ints
    frames: Ints


def lives_of(plan: Plan, rows: Rows) -> Lives:
    """How long interval events live, none longer than the plan says."""
    assert plan.until is not None
    ticks = rows.ticks
    ends = ends_of(plan.times, plan.until, ticks, rows.columns[plan.until.name], plan.why_all_end)
    if plan.longest is not None:
        ends = ticks + np.where(ends == NEVER, plan.longest, np.minimum(ends - ticks, plan.longest))
    return Lives(ends, plan.axis.frames(ends - 1, rows.ranks)[0])


def groups_of(plan: Plan, rows: Rows, keys: list[Coded], lives: Lives | None) -> Groups:
    """Rows of one key in one frame; interval events of one first and one last frame."""
    codes = [code_numbers(rows.frames, rows.bounds)]
    if lives is not None:
        codes.append(code_numbers(lives.frames))
    return assign(
        codes,
        keys,
        len(rows.ticks),
        counting=lives is not None or not all(bound.takes_empty_frames for bound in plan.states.values()),
        in_place=lives is None and not any(np.may_share_memory(rows.frames, each) for each in (rows.ticks, rows.ranks)),
        by_key=plan.in_rows and lives is None,
    )


def groups_of_rows(rows: Rows, starts: Index) -> Groups | None:
    """Rows that are sorted by a single key, then frame, each a group; None where several have one frame."""
    rises = rows.frames[1:] > rows.frames[:-1]
    rises[starts[1:] - 1] = True
    if not rises.all():
        return None
    count = len(rows.frames)
    return Groups(numbers(count), count, ones(count), [rows.frames, *rows.keys], starts)


def states_of_groups(plan: Plan, frames: Frames, rows: Rows, lives: Lives | None) -> dict[str, State]:
    """The states of each aggregate, one a group: of columns of the events, or of what is known of each row."""
    own = {} if rows.ranks is None else {RANK: pa.array(rows.ranks)}
    own |= {} if lives is None else {UNTIL_TICK: pa.array(lives.ends - 1)}
    return {
        name: bound.accumulate(
            frames, [(own if isinstance(bound.spec, Earliest) else rows.columns)[column] for column in bound.columns]
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


def lifetimes(plan: Plan, groups: Groups, rows: Rows, lives: Lives) -> Lifetimes:
    """Interval events in their groups, with their lifetimes in the frames in which they start and end."""
    (windows,) = plan.axis.windows
    ticks, ends = rows.ticks, lives.ends
    numbers = [rows.frames, lives.frames]
    if plan.axis.each_row:  # the numbers are those of rows, and not of frames of time
        numbers = [windows.frames(each, None)[0] for each in (ticks, ends - 1)]
    first, last = map(windows.frame_bounds, numbers)
    if windows.whole_frames or first is None or last is None:
        head = tail = np.zeros(len(ticks), np.int64)
    else:
        head = np.minimum(ends, first[1]) - ticks
        tail = np.where(last[0] > ticks, ends - last[0], 0)
    return Lifetimes(groups.index, groups.size, ticks, head, tail, rows.ranks)
