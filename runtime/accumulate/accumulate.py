"""Events to partials: the events of a batch in groups of one key and frame, and the states of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

import numpy as np
import pyarrow as pa

from ...aggregators.contract.frames import Frames
from ...aggregators.intervals.time_weighted import Lifetimes
from ..columns.key_codes import Ints, coded_or_plain, edges, plain
from ..columns.malloc import raise_mmap_threshold
from ..columns.ticks import drop_null_times, ends_of
from ..frames.partials_view import Mask
from ..partials.partials import Partials, of_states
from ..plan.plan import Plan
from ..plan.window_inputs import RANK, UNTIL_TICK
from .group_ids import Groups, assign, code_key, code_numbers

Portion = TypeVar("Portion", bound=Sized)

PORTION_ROWS = 1 << 19
"""Events of a portion that leaves few partials: of fewer, calls take longer than work."""

MAX_PORTION_ROWS = 1 << 20
"""Events of a portion that leaves many partials."""

PORTION_BYTES = 64 << 20
"""Bytes of events that are enough for a portion, whatever their number."""

EVENTS_PER_PARTIAL = 4
"""Partials are many if each stands for fewer events than this."""


def accumulate(plan: Plan, events: pa.Table | pa.RecordBatch, batch_rank: int) -> Partials:
    """The partials of a batch of events: one for each (key, frame) in it.

    Parameters
    ----------
    plan
        What is computed.
    events
        Events with at least the plan's columns, and :data:`RANK` where windows are counted in rows.
    batch_rank
        The rank of the batch in input order.

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
    keys = [coded_or_plain(events.column(name), types.field(name).type) for name in plan.by]
    ticks = plan.times.ticks(columns[plan.time])
    if not len(ticks):
        return Partials(plan.partials_schema.empty_table())
    ranks = columns[RANK].to_numpy() if plan.in_rows else None
    frames, bounds, inside = frames_of(plan, ticks, ranks)
    if plan.until is None and inside is not None and not inside.all():
        kept = pa.array(inside)
        columns = {name: column.filter(kept) for name, column in columns.items()}
        keys = [key.filter(kept) for key in keys]
        ticks, ranks = ticks[inside], None if ranks is None else ranks[inside]
        if not len(ticks):
            return Partials(plan.partials_schema.empty_table())
        frames, bounds = frames[inside], None
    # Frame by frame and not key by key: events that follow one another in time then add to neighbouring states.
    numbers = [frames]
    codes = [code_numbers(frames, bounds)]
    if plan.until is not None:
        ends = ends_of(plan.times, plan.until, ticks, columns[plan.until.name])
        if plan.longest is not None:
            ends = ticks + np.minimum(ends - ticks, plan.longest)
        columns[UNTIL_TICK] = pa.array(ends - 1)
        numbers.append(plan.axis.frames(ends - 1, ranks)[0])
        codes.append(code_numbers(numbers[1]))
    counting = plan.until is not None or not all(bound.takes_empty_frames for bound in plan.states.values())
    in_place = plan.until is None and not any(np.may_share_memory(frames, each) for each in (ticks, ranks))
    groups = assign([*codes, *map(code_key, keys)], len(ticks), counting=counting, in_place=in_place)
    if plan.clips:
        rows: Frames = lifetimes(plan, groups, numbers, ticks, ends, ranks)
    else:
        rows = Frames(groups.index, groups.size, ticks, ranks, groups.counts)
    states = {
        name: bound.accumulate(rows, [columns[column] for column in bound.columns])
        for name, bound in sorted(plan.states.items(), key=lambda state: not state[1].columns)  # sums count rows
    }
    first, *last = groups.values[: len(numbers)]
    made = of_states(plan, groups.values[len(numbers) :], [first, np.full(len(first), batch_rank), *last], states)
    if groups.counts is not None or (counts := rows.count()).all():
        return made
    return Partials(made.table.filter(pa.array(counts > 0)))


def frames_of(plan: Plan, ticks: Ints, ranks: Ints | None) -> tuple[Ints, Ints | None, Mask | None]:
    """The frames of events; the least and the greatest, where known; which events are in any window (None: all)."""
    if plan.axis.unit == "time":  # frames ascend with ticks: those of the least and the greatest tick bound the others
        bounds, inside = plan.axis.frames(np.array(edges(ticks)), None)
        if inside is None:
            return plan.axis.frames_unchecked(ticks), bounds, None
    frames, inside = plan.axis.frames(ticks, ranks)
    return frames, None, inside


def lifetimes(
    plan: Plan, groups: Groups, numbers: list[Ints], ticks: Ints, ends: Ints, ranks: Ints | None
) -> Lifetimes:
    """Interval events in their groups, and how long each lives in the frames in which it starts and ends."""
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


def in_portions(
    accumulate: Callable[[pa.Table], Portion], batches: Iterable[pa.RecordBatch | pa.Table]
) -> Iterator[Portion]:
    """The partials of events, portion by portion: small batches are put together, large ones are portions as they are.

    Events in the order of time leave few partials, however small a portion is, and a small one fits the cache. Each
    portion of events in no order has nearly all frames and keys of the whole: portions are then larger, so that there
    are fewer. The portions depend on the events and their batches only.

    Parameters
    ----------
    accumulate
        The partials of a portion.
    batches
        Events, in the order in which they are accumulated.

    Examples
    --------
    >>> events = pa.table({"t": range(10)})
    >>> list(map(len, in_portions(lambda portion: portion, events.to_batches(max_chunksize=3))))
    [10]
    """
    held: list[pa.Table] = []
    found: Portion | None = None  # the partials of what is held, where they are many
    enough = PORTION_ROWS
    rows = size = 0
    for batch in batches:
        if held and rows + len(batch) > MAX_PORTION_ROWS:
            yield accumulate(pa.concat_tables(held)) if found is None else found
            held, found, rows, size = [], None, 0, 0
        held.append(batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]))
        rows += len(batch)
        size += bytes_of(batch)
        found = None
        del batch  # or it would be held while the next one is read
        if rows < enough and size < PORTION_BYTES:
            continue
        found = accumulate(pa.concat_tables(held))
        many = len(found) * EVENTS_PER_PARTIAL > rows
        if many and max(enough, rows) < MAX_PORTION_ROWS and size < PORTION_BYTES:
            enough = MAX_PORTION_ROWS
            continue
        held, rows, size = [], 0, 0  # the events are free before the partials are worked on
        yield found
        found = None
    if held:
        yield accumulate(pa.concat_tables(held)) if found is None else found


def bytes_of(events: pa.Table | pa.RecordBatch) -> int:
    """The bytes of some events.

    Up to 22 pyarrow cannot count those of text in views, which Polars and DuckDB give: then all of the buffers that
    the events are in count.
    """
    try:
        return int(events.nbytes)
    except pa.ArrowTypeError:
        return int(events.get_total_buffer_size())
