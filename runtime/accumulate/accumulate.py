"""Events to partials: the events of a batch in groups of one key and frame, and the states of each group.

Groups are found by counting where few are possible, else by sorting, in blocks of rows that fit the cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ...aggregators.contract.frames import Frames
from ...aggregators.intervals.time_weighted import Lifetimes
from ...aggregators.ranges.item_ranges import rises
from ...aggregators.states.arrays import Bools, Index, Ints
from ..columns.key_codes import (
    BLOCK,
    MAX_SPARSE,
    Coded,
    code_key,
    code_numbers,
    codes_of_block,
    edges,
    key_column,
    pack,
    plain,
    subtract,
)
from ..columns.malloc import raise_mmap_threshold
from ..columns.sorting import groups_by_sorting
from ..columns.ticks import NEVER, drop_null_times, ends_of
from ..partials.merge import Partials, of_states
from ..plan.plan import Plan
from ..plan.window_inputs import RANK, UNTIL_TICK, Earliest

ROWS_PER_GROUP = 4
"""Groups may be empty where there are at least this many rows for each possible group: they cost little then."""


MOSTLY = 8
"""Partials without an event are left among the others where they are less than one in this many."""


@dataclass(frozen=True)
class Groups:
    """Rows in groups.

    Parameters
    ----------
    index
        The group of each row.
    size
        The number of groups.
    counts
        The number of rows of each group; None where unknown: groups may then be empty.
    values
        The groups' values of each column.
    """

    index: Index
    size: int
    counts: Ints | None
    values: list[Any]


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
        return Partials(plan.partials_schema.empty_table())
    ranks = plain(events.column(plan.rank), pa.int64()).to_numpy() if plan.in_rows else None
    frames, bounds, inside = frames_of(plan, ticks, ranks)
    if plan.until is None and inside is not None and not inside.all():
        kept = pa.array(inside)
        columns = {name: column.filter(kept) for name, column in columns.items()}
        keys = [key.filter(kept) for key in keys]
        ticks, ranks = ticks[inside], None if ranks is None else ranks[inside]
        if not len(ticks):
            return Partials(plan.partials_schema.empty_table())
        frames, bounds = frames[inside], None
    own = {} if ranks is None else {RANK: pa.array(ranks)}
    numbers = [frames]
    codes = [code_numbers(frames, bounds)]
    if plan.until is not None:
        ends = ends_of(plan.times, plan.until, ticks, columns[plan.until.name], plan.why_all_end)
        if plan.longest is not None:
            ends = ticks + np.where(ends == NEVER, plan.longest, np.minimum(ends - ticks, plan.longest))
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
    states = {
        name: bound.accumulate(
            rows, [(own if isinstance(bound.spec, Earliest) else columns)[column] for column in bound.columns]
        )
        for name, bound in sorted(plan.states.items(), key=lambda state: not state[1].columns)  # sums count rows
    }
    first, *last = groups.values[: len(numbers)]
    made = of_states(plan, groups.values[len(numbers) :], [first, np.full(len(first), batch_rank), *last], states)
    if groups.counts is not None or (counts := rows.count()).all():
        return made
    made = Partials(made.table, events=counts)
    return made if with_empty and np.count_nonzero(counts) > len(counts) - len(counts) // MOSTLY else made.filled()


def frames_of(plan: Plan, ticks: Ints, ranks: Ints | None) -> tuple[Ints, Ints | None, Bools | None]:
    """The frames of events; the least and the greatest, where known; which events are in any window (None: all)."""
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


def assign(
    frames: Sequence[Coded],
    keys: Sequence[Coded],
    rows: int,
    *,
    counting: bool = True,
    in_place: bool = False,
    by_key: bool = False,
) -> Groups:
    """Group one row or more by equal values in all columns.

    Groups are sorted by frame, then key: events that follow one another in time then add to neighbouring states. Where
    there are too many for that, rows are sorted by key, then frame, as merged partials are.

    Parameters
    ----------
    counting
        Whether every group must have a row. If not, groups may be all possible ones.
    in_place
        Whether the codes of the first column, an array of int64, may be overwritten with the index.
    by_key
        Whether to sort in any case: for events that are in the order of keys, then frames.
    """
    columns = [*frames, *keys]
    size = math.prod(column.count for column in columns)
    alone = columns and rows // ROWS_PER_GROUP < size == columns[0].count
    if alone and rises(columns[0].codes):  # each row is a group
        return Groups(np.arange(rows), rows, np.ones(rows, np.int64), [each.values_of_rows() for each in columns])
    if by_key or size > max(MAX_SPARSE, rows):
        found = by_sorting([*keys, *frames], rows)
        return replace(found, values=found.values[len(keys) :] + found.values[: len(keys)])
    index = columns[0].codes if in_place else np.empty(rows, np.intp) if columns else np.zeros(rows, np.intp)
    return by_counting(index, columns, size, counting or size > rows // ROWS_PER_GROUP)


def by_counting(index: Index, columns: Sequence[Coded], size: int, counting: bool) -> Groups:
    """The groups of :func:`assign` by counting, where ``size``, the number possible, is small; fills ``index``."""
    counts = np.zeros(size, np.int64) if counting else None
    for start in range(0, len(index), BLOCK):
        codes = codes_of_block(index, columns, slice(start, start + BLOCK))
        if counts is not None:
            np.add.at(counts, codes, 1)
    if counts is None:
        return Groups(index, size, None, values_of(columns, np.arange(size)))
    codes = np.flatnonzero(counts)
    if len(codes) < size:
        places = np.zeros(size, np.intp)
        places[codes] = np.arange(len(codes))
        for start in range(0, len(index), BLOCK):
            part = index[start : start + BLOCK]
            part[:] = places[part]
        counts = counts[codes]
    return Groups(index, len(codes), counts, values_of(columns, codes))


def values_of(columns: Sequence[Coded], codes: Ints) -> list[Any]:
    """The values of each column, unpacked from codes of all columns."""
    values: list[Any] = []
    for column in reversed(columns):
        rest = codes // column.count  # which numpy does in much less time than divmod
        values.append(column.values(codes - rest * column.count))
        codes = rest
    return values[::-1]


def by_sorting(columns: Sequence[Coded], rows: int) -> Groups:
    """The groups of :func:`assign` by sorting, for any number of them."""
    codes, size = pack([(subtract(column.codes, column.least), column.count) for column in columns], rows)
    if (codes[1:] > codes[:-1]).all():  # each row is a group
        index = first = np.arange(rows)
        counts, found = np.ones(rows, np.int64), codes
    elif (codes[1:] >= codes[:-1]).all():
        new = np.concatenate([[True], codes[1:] > codes[:-1]])
        index, first = np.cumsum(new) - 1, np.flatnonzero(new)
        counts, found = np.diff(first, append=rows), codes[first]
    else:
        index, first, counts, found = groups_by_sorting(codes, size)
    if size == math.prod(column.count for column in columns):
        values = values_of(columns, found)
    else:  # codes were made dense to be packed
        values = [column.values(subtract(column.codes[first], column.least)) for column in columns]
    return Groups(index, len(first), counts, values)
