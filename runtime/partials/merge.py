"""Partials, the states of events of one key and frame each as an Arrow table, and those of batches merged into one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators.contract.operation import State
from ...aggregators.numeric.native import loops
from ...aggregators.states.arrays import Bools, Index, Ints
from ...aggregators.states.fields import CompensatedField, Field
from ...aggregators.states.large import fitting
from ...aggregators.states.large import take as take_fitting
from ...aggregators.states.objects import HeldObjects
from ...aggregators.states.ragged import RaggedField, leaves
from ...aggregators.states.rows import take
from ..columns.key_codes import (
    MAX_PACKED,
    Coded,
    code_numbers,
    code_ordered,
    key_codes,
    one_array,
    pack,
    packed,
    subtract,
)
from ..columns.sorting import MIN_RUN, groups_by_runs, groups_by_sorting, stable_order
from ..plan.plan import BATCH_RANK, FRAME, UNTIL, Plan
from ..windows.from_table import Anchored
from .combine import combine_groups

MIN_CHUNK = 1 << 12
"""Rows of a chunk, on average, from which on states are joined where they are, and not put into one chunk before."""

MIN_BYTES = 1 << 16
"""Bytes of a chunk, on average, from which on it stays where it is, however few its rows."""

MAX_PLACES, FEW_PLACES = 4, 1 << 12
"""Possible groups for each partial, or at all, up to which each has a place in an array; else partials are sorted."""

SAME = 1 << 16
"""The rows of an array of a column of one number."""

SAMPLE = 1 << 12
"""Rows that are looked at for the order of rows."""


@dataclass(frozen=True)
class Partials:
    """A table of a plan's ``partials_schema``.

    Parameters
    ----------
    table
        The partials of one batch, of several, or merged ones: then there is one for each (key, frame), sorted by them.
    starts
        The first row of each key, once merged.
    events
        The number of events of each row, where some have none: these are left out when partials are merged.
    """

    table: pa.Table
    starts: Index | None = None
    events: Ints | None = None

    def __len__(self) -> int:
        return len(self.table)

    def filled(self) -> Partials:
        """Those that have an event."""
        return self if self.events is None else Partials(self.table.filter(pa.array(self.events > 0)))

    def frames(self) -> Ints:
        """The frame of each row."""
        frames: Ints = one_array(self.table.column(FRAME)).to_numpy()
        return frames


def merge(plan: Plan, partials: Partials | Iterable[Partials]) -> Partials:
    """Partials sorted by key and frame with one row each, and the first row of each key; merged ones are unchanged.

    Those of one (key, frame), and of interval events with one last frame, are combined in the order of their batches,
    so that the result does not depend on the order in which tasks finish.
    """
    partials = partials if isinstance(partials, Partials) else concat(partials)
    if partials.starts is not None:
        return partials
    table = in_order_of_batches(partials.table.select(plan.partials_schema.names))
    if not len(table):
        return Partials(table, np.empty(0, np.intp))
    chunks = table.column(0).num_chunks
    if chunks * MIN_CHUNK > len(table) and chunks * MIN_BYTES > table.nbytes:
        table = table.combine_chunks()
    columns = [one_array(table.column(name)) for name in plan.keys]
    keys = list(map(code_ordered, columns))
    names = [FRAME] if plan.until is None else [FRAME, UNTIL]
    numbers = [one_array(table.column(name)).to_numpy() for name in names]
    frames = list(map(code_numbers, numbers))
    # One batch from now on, before all that come after it.
    rank = int(table.column(BATCH_RANK)[0].as_py())
    if in_order_already(keys, frames):  # each a group; one array of frames, and not those of batches, too
        table = table.set_column(len(keys), table.schema.field(len(keys)), pa.array(numbers[0]))
        return Partials(of_one_batch(table, rank), starts_of(keys, slice(None)))
    group, first, order = groups_of(keys, frames, len(table))
    rows = first if order is None else first[order]
    if len(rows) < len(table) and (some := repeated(plan, group, first)) is not None:
        table = with_combined(plan, table, rows, some[group], some if order is None else some[order], rank)
    elif len(rows) < len(table):
        combined = {
            name: combine_groups(bound, blocks_of(plan, table, name), group, first)
            for name, bound in plan.states.items()
        }
        if order is not None:
            combined = {name: take(states, order) for name, states in combined.items()}
        frame, *last = (each[rows] for each in numbers)
        keys_of_rows = [each.take(pa.array(rows)) for each in columns]
        table = of_states(plan, keys_of_rows, [frame, np.full(len(rows), rank), *last], combined).table
    else:
        table = of_one_batch(take_rows(table, rows), rank)
    return Partials(table, starts_of(keys, rows))


def in_order_already(keys: Sequence[Coded], frames: Sequence[Coded]) -> bool:
    """Whether rows are sorted by one column that tells them all apart, the others having one value."""
    several = [each for each in (*keys, *frames) if each.count > 1]
    return len(several) == 1 and bool((several[0].codes[1:] > several[0].codes[:-1]).all())


def of_one_batch(table: pa.Table, rank: int) -> pa.Table:
    """Partials with the rank of one batch: in arrays that are all the same memory."""
    rows, place = len(table), table.schema.get_field_index(BATCH_RANK)
    array = pa.array(np.full(min(rows, SAME), rank, np.int64))
    ranks = pa.chunked_array([*[array] * (rows // SAME), array.slice(0, rows % SAME)], array.type)
    return table.set_column(place, table.schema.field(place), ranks)


def repeated(plan: Plan, group: Ints, first: Ints) -> Bools | None:
    """Which groups have more than one row, where only these are to be combined: few, of states that are lists."""
    kinds = [kind for bound in plan.states.values() for kind in bound.fields.values()]
    held = any(isinstance(leaf, HeldObjects) for kind in kinds for leaf in leaves(kind))
    if held or not any(isinstance(kind, RaggedField) for kind in kinds):
        return None
    sizes = np.bincount(group, minlength=len(first))
    some: Bools = sizes > 1
    return some if 2 * int(sizes[some].sum()) < len(group) else None


def with_combined(plan: Plan, table: pa.Table, rows: Ints, mine: Bools, some: Bools, rank: int) -> pa.Table:
    """Merged partials of which few are combined, the others as they are, where they are if possible.

    Parameters
    ----------
    table
        The partials.
    rows
        The first row of each group, sorted by key and frame.
    mine
        Which rows are of groups with more than one row.
    some
        Which groups have more than one row, in the order of ``rows``.
    rank
        The rank of the batch that all are of from now on.
    """
    combined = merge(plan, Partials(table.filter(pa.array(mine))))
    whole = pa.concat_tables([table, combined.table])
    source = rows.copy()
    source[some] = len(table) + np.arange(len(combined))
    cuts = np.flatnonzero(np.diff(source) != 1) + 1
    if len(cuts) * MIN_BYTES > whole.nbytes:
        return of_one_batch(take_rows(whole, source), rank)
    begins, ends = [0, *cuts.tolist()], [*cuts.tolist(), len(source)]
    parts = [whole.slice(int(source[begin]), end - begin) for begin, end in zip(begins, ends, strict=True)]
    return of_one_batch(pa.concat_tables(parts), rank)


class Groups(NamedTuple):
    """Rows in groups.

    Parameters
    ----------
    group
        The group of each row.
    first
        The first row of each group.
    order
        The groups sorted by key, then frame; None where they are.
    """

    group: Ints
    first: Ints
    order: Ints | None


def groups_of(keys: Sequence[Coded], frames: Sequence[Coded], rows: int) -> Groups:
    """Rows of equal keys and frames in groups; codes of keys are in the order of keys."""
    size, of_frames = (math.prod(column.count for column in columns) for columns in ([*keys, *frames], frames))
    if size > MAX_PACKED:
        columns = [(subtract(column.codes, column.least), column.count) for column in (*keys, *frames)]
        return Groups(*grouped(*pack(columns, rows)), None)
    of_keys = size // of_frames
    if loops is None or of_keys == 1 or not by_frame(keys, frames):
        return Groups(*grouped(packed([*keys, *frames], rows), size), None)
    codes = packed([*frames, *keys], rows)
    found = grouped(codes.copy(), size)
    ordered = np.divmod(codes[found[1]], of_keys)
    return Groups(*found, in_order(ordered[1] * of_frames + ordered[0], size))


def by_frame(keys: Sequence[Coded], frames: Sequence[Coded]) -> bool:
    """Whether rows are in the order of frames, and not of keys, as far as the first ones show."""
    some = min(SAMPLE, len(frames[0].codes))
    first, key = (packed([each.at(slice(some)) for each in columns], some) for columns in (frames, keys))
    return bool((first[1:] >= first[:-1]).all() and (key[1:] < key[:-1]).any())


def in_order(codes: Ints, size: int) -> Ints:
    """The order of different codes below ``size``."""
    if not have_places(size, len(codes)):
        return stable_order(codes, size)
    places: NDArray[Any] = np.full(size, -1, np.int32 if len(codes) < 1 << 31 else np.int64)
    places[codes] = np.arange(len(codes))
    return places[places >= 0].astype(np.intp)


def grouped(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The group of each row, and the first row of each group: rows of one code, in the order of the codes.

    The codes, from 0 to below ``size``, may be overwritten.
    """
    rises = codes[1:] > codes[:-1]
    if rises.all():
        return (rows := np.arange(len(codes))), rows
    if have_places(size, len(codes)):
        return in_places(codes, size)
    runs = len(codes) - np.count_nonzero(rises)
    if loops is None or runs * MIN_RUN > len(codes):
        return groups_by_sorting(codes, size)[:2]
    return groups_by_runs(codes, [0, *(np.flatnonzero(~rises) + 1).tolist(), len(codes)])


def have_places(size: int, rows: int) -> bool:
    """Whether each possible group of some rows has a place in an array."""
    return size <= max(MAX_PLACES * rows, FEW_PLACES)


def in_places(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """As :func:`grouped`, with a place for each code."""
    if loops is not None and size < 1 << 31:
        numbers = np.zeros(size, np.int32)
        first = np.empty(loops.number_codes(codes, numbers), np.intp)
        loops.number_rows(codes, numbers, first)
        return codes, first
    seen = np.zeros(size, bool)
    seen[codes] = True
    group = (np.cumsum(seen) - 1)[codes]
    first = np.empty(np.count_nonzero(seen), np.intp)
    first[group[::-1]] = np.arange(len(codes))[::-1]  # where a group repeats, numpy keeps what is assigned last
    return group, first


def starts_of(keys: Sequence[Coded], rows: Ints | slice) -> Index:
    """Where keys begin, in rows that are sorted by them, one or more."""
    fresh = [codes[1:] != codes[:-1] for codes in (each.codes[rows] for each in keys)]
    return np.append(0, np.flatnonzero(np.logical_or.reduce(fresh)) + 1 if fresh else []).astype(np.intp)


def in_order_of_batches(table: pa.Table) -> pa.Table:
    """Partials in the order of their batches, those of one batch as they are."""
    ranks = one_array(table.column(BATCH_RANK)).to_numpy()
    return take_rows(table, np.argsort(ranks, kind="stable")) if (ranks[1:] < ranks[:-1]).any() else table


def take_rows(table: pa.Table, rows: Ints) -> pa.Table:
    """Rows of a table, in any order; planes without a value, of which there are many, are not copied."""
    index = pa.array(rows)
    columns = [
        each[: len(rows)] if each.null_count == len(each) else fitting(take_fitting(each, index), each.type)
        for each in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def blocks_of(plan: Plan, table: pa.Table, name: str) -> Iterator[State]:
    """The states of one output or window input, chunk by chunk."""
    columns = [column for planes in plan.state_columns[name].values() for column in planes]
    for batch in table.select(columns).to_batches():
        yield states_of(plan, Partials(pa.Table.from_batches([batch])), name)


def concat(several: Iterable[Partials]) -> Partials:
    """Partials one after the other, not merged; where only one has any rows, that one as it is."""
    several = [each.filled() for each in several]
    filled = [each for each in several if len(each)]
    return filled[0] if len(filled) == 1 else Partials(pa.concat_tables([each.table for each in several]))


def of_states(plan: Plan, keys: Sequence[pa.Array], numbers: Sequence[Ints], states: Mapping[str, State]) -> Partials:
    """Partials of their columns; ``numbers`` are frames, batch ranks and, of interval events, the last frames."""
    planes = [
        plane
        for name, bound in plan.states.items()
        for key, kind in bound.fields.items()
        for plane in kind.to_arrow(states[name][key])
    ]
    columns = map(fitting, [*keys, *map(pa.array, numbers), *planes], plan.partials_schema.types)
    return Partials(pa.Table.from_arrays(list(columns), schema=plan.partials_schema))


def states_of(plan: Plan, partials: Partials, name: str) -> State:
    """The states of one output or window input."""
    bound = plan.states[name]
    return {
        key: bound.fields[key].from_arrow([_plane(partials.table.column(each), bound.fields[key]) for each in columns])
        for key, columns in plan.state_columns[name].items()
    }


def release(plan: Plan, partials: Partials) -> None:
    """Forget the Python objects that are held for other partials than these."""
    for name, bound in plan.outputs.items():
        for key, columns in plan.state_columns[name].items():
            for column, kind in zip(columns, leaves(bound.fields[key]), strict=False):
                if isinstance(kind, HeldObjects) and len(partials):
                    numbers = partials.table.column(column)
                    if kind is not bound.fields[key]:
                        numbers = pc.list_flatten(numbers)
                    if len(numbers):
                        kind.store.release(pc.min(numbers).as_py())


def empty_key_partials(plan: Plan) -> Partials:
    """Partials without an event for the keys that windows have of their own, to be merged with the others."""
    types = [plan.partials_schema.field(name).type for name in plan.keys]
    found = [Partials(plan.partials_schema.empty_table())]
    for windows in plan.axis.windows:
        if windows.fill is None and not isinstance(windows, Anchored):
            continue
        if (keys := windows.keys_of_their_own(types)) is None:
            continue
        first = np.unique(key_codes(keys, len(keys[0]) if keys else 1, ordered=False)[0], return_index=True)[1]
        frame = -1 if plan.axis.fill_frames is None else plan.axis.fill_frames[0]
        found.append(without_events(plan, [key.take(pa.array(first)) for key in keys], np.full(len(first), frame)))
    return concat(found)


def without_events(plan: Plan, keys: Sequence[pa.Array], frames: Ints, rank: int = 0) -> Partials:
    """Partials without an event for some keys and frames, of the batch of a rank."""
    none = np.empty(0, np.intp)
    states = {
        name: bound.scatter(len(frames), none, {key: column[:0] for key, column in bound.identity.items()})
        for name, bound in plan.states.items()
    }
    return of_states(plan, keys, [frames, np.full(len(frames), rank)], states)


def window_inputs_of(plan: Plan, partials: Partials) -> dict[str, NDArray[Any]]:
    """The window inputs of each partial, by the windows' names for them."""
    return {
        name: bound.finish(states_of(plan, partials, plan.input_state(name))).to_numpy()
        for name, bound in plan.window_inputs.items()
    }


def _plane(column: pa.ChunkedArray, kind: Field) -> pa.Array:
    if isinstance(kind, CompensatedField) and column.num_chunks and column.null_count == len(column):
        return column.chunk(0)  # an unused plane is null in all chunks: the first one is enough
    return one_array(column)
