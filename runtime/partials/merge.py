"""Partials, the states of events of one key and frame each as an Arrow table, and those of batches merged into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.numeric.native import loops
from ...aggregators.states.fields import Column, Compensated, CompensatedField, Field, Plain
from ...aggregators.states.limbs import Exact, ExactField
from ...aggregators.states.rows import replace_in_place, take
from ..columns.key_codes import Ints, groups_by_sorting, key_codes, one_array, pack, span, stable_order
from ..plan.plan import BATCH_RANK, FRAME, UNTIL, Plan, state_columns
from ..windows.from_table import Anchored

IDEMPOTENT = (
    np.minimum, np.maximum, np.fmin, np.fmax, np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or,
)  # fmt: skip
"""Functions that give a value joined with itself as it is."""

AS_BYTES = {
    np.logical_and: np.minimum, np.minimum: np.minimum, np.fmin: np.minimum, np.bitwise_and: np.minimum,
    np.logical_or: np.maximum, np.maximum: np.maximum, np.fmax: np.maximum, np.bitwise_or: np.maximum,
}  # fmt: skip
"""What does to booleans as bytes what functions do to booleans: some ``ufunc.at`` is slow on booleans."""

MAX_PLACES = 4
"""Possible groups for each partial, at most, for which each has a place in an array; else partials are sorted."""


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
    starts: NDArray[np.intp] | None = None
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
    keys = [one_array(table.column(name)) for name in plan.keys]
    codes, count = key_codes(keys, len(table), ordered=True)
    names = [FRAME, BATCH_RANK] if plan.until is None else [FRAME, BATCH_RANK, UNTIL]
    numbers = [one_array(table.column(name)).to_numpy() for name in names]
    group, first = groups_of(*pack([(codes, count), *map(span, [numbers[0], *numbers[2:]])], len(table)))
    codes = codes[first]
    numbers[1] = np.repeat(numbers[1][:1], len(table))  # one batch from now on, before all that come after it
    if len(first) < len(table):
        combined = {
            name: combine_groups(bound, states_of(plan, Partials(table), name), group, first)
            for name, bound in plan.states.items()
        }
        taken = [key.take(pa.array(first)) for key in keys]
        table = of_states(plan, taken, [column[first] for column in numbers], combined).table
    else:
        table = take_rows(table, first) if (first[1:] < first[:-1]).any() else table
        table = table.set_column(len(keys) + 1, table.schema.field(len(keys) + 1), pa.array(numbers[1]))
    return Partials(table, np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)]))


def in_order_of_batches(table: pa.Table) -> pa.Table:
    """Partials in the order of their batches, those of one batch as they are."""
    ranks = one_array(table.column(BATCH_RANK)).to_numpy()
    return take_rows(table, np.argsort(ranks, kind="stable")) if (ranks[1:] < ranks[:-1]).any() else table


def take_rows(table: pa.Table, rows: Ints) -> pa.Table:
    """All rows of a table in another order; planes without a value, of which there are many, as they are."""
    index = pa.array(rows)
    columns = [each if each.null_count == len(each) else each.take(index) for each in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def groups_of(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The group of each row, and the first row of each group: rows of one code, in the order of the codes."""
    rows = np.arange(len(codes))
    if (codes[1:] > codes[:-1]).all():
        return rows, rows
    if size <= MAX_PLACES * len(codes):
        if loops is not None:
            places, group = np.full(size, -1), np.empty(len(codes), np.intp)
            return group, places[: loops.number_codes(np.ascontiguousarray(codes), places, group)]
        seen = np.zeros(size, bool)
        seen[codes] = True
        group = (np.cumsum(seen) - 1)[codes]
        first = np.empty(np.count_nonzero(seen), np.int64)
        first[group[::-1]] = rows[::-1]  # where a group repeats, numpy keeps what is assigned last
        return group, first
    group, first, _ = groups_by_sorting(codes, size)
    return group, first


def combine_groups(bound: BoundAggregate, states: State, group: Ints, first: Ints) -> State:
    """The states of each group of rows combined, in the order of the rows.

    Parameters
    ----------
    bound
        What combines.
    states
        One state a row.
    group
        The group of each row, shape (rows,).
    first
        The first row of each group, shape (groups,).
    """
    groups = len(first)
    if (found := bound.combine_groups(states, group, groups)) is not None:
        return found
    if not has_kernels(bound) or (bound.compensated and loops is None):
        return combine_pairwise(bound, states, group, groups)
    return {
        key: extremes_of_groups(bound.ufuncs[key], cast(NDArray[Any], column), group, first)
        if bound.ufuncs[key] in IDEMPOTENT
        else sums_of_groups(column, group, groups)
        for key, column in states.items()
    }


def has_kernels(bound: BoundAggregate) -> bool:
    """Whether numpy functions join all fields of an operation, and lose nothing in whatever order."""
    functions = bound.ufuncs
    return bool(functions) and all(is_exact(kind, functions.get(key)) for key, kind in bound.fields.items())


def is_exact(kind: Field, function: Any) -> bool:
    """Whether a numpy function joins a field, and loses nothing."""
    if isinstance(kind, Plain):
        return function in IDEMPOTENT or (function is np.add and kind.dtype.kind in "iu")
    return function is np.add and isinstance(kind, (CompensatedField, ExactField))


def extremes_of_groups(function: np.ufunc, column: NDArray[Any], group: Ints, first: Ints) -> NDArray[Any]:
    """The values of a field in each group of rows joined by an idempotent function, given each group's first row."""
    if column.dtype == bool and function in AS_BYTES:
        return extremes_of_groups(AS_BYTES[function], column.view(np.uint8), group, first).view(bool)
    found = column[first]
    with np.errstate(invalid="ignore"):
        function.at(found, group, column)
    return found


def sums_of_groups(column: Column, group: Ints, groups: int) -> Column:
    """The sums of a field that is summed in each group of rows, in the order of the rows."""
    if isinstance(column, Compensated):
        assert loops is not None
        sums, lows = np.zeros((2, groups))
        loops.add_pairs(*map(np.ascontiguousarray, (column.high, column.low, group)), sums, lows)
        special = None
        if column.special_values is not None:
            special = np.zeros((groups, column.special_values.shape[1]))
            np.add.at(special, group, column.special_values)
        return Compensated(sums, lows, special)
    if isinstance(column, Exact):
        return Exact([cast(Ints, sums_of_groups(limb, group, groups)) for limb in column.limbs])
    summed = np.zeros(groups, cast(NDArray[Any], column).dtype)
    np.add.at(summed, group, cast(NDArray[Any], column))
    return summed


def combine_pairwise(bound: BoundAggregate, states: State, group: Ints, groups: int) -> State:
    """As `combine_groups`: neighbours are combined, then neighbours of these, and so on."""
    order = stable_order(group, groups)
    sizes = np.bincount(group, minlength=groups)
    starts = np.cumsum(sizes) - sizes
    several = np.flatnonzero(sizes > 1)
    single = None if len(several) == groups else take(states, order[starts])
    lengths = sizes[several]
    group_of = np.repeat(np.arange(len(several)), lengths)
    place = np.arange(len(group_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    states = take(states, order[starts[several][group_of] + place])
    del order, sizes, starts  # as large as the states of some operations
    while len(place) > len(several):
        kept = np.flatnonzero(place % 2 == 0)
        group_of, place = group_of[kept], place[kept]
        paired = place + 1 < lengths[group_of]
        left = kept[paired]
        combined = bound.combine(take(states, left), take(states, left + 1))
        states = combined if paired.all() else replace_in_place(take(states, kept), np.flatnonzero(paired), combined)
        place = place // 2
        lengths = (lengths + 1) // 2
    return states if single is None else replace_in_place(single, several, states)


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
    return Partials(pa.Table.from_arrays([*keys, *map(pa.array, numbers), *planes], schema=plan.partials_schema))


def states_of(plan: Plan, partials: Partials, name: str) -> State:
    """The states of one output or window input."""
    bound = plan.states[name]
    return {
        key: bound.fields[key].from_arrow([_plane(partials.table.column(each), bound.fields[key]) for each in columns])
        for key, columns in state_columns(name, bound).items()
    }


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


def without_events(plan: Plan, keys: Sequence[pa.Array], frames: Ints) -> Partials:
    """Partials without an event for some keys and frames."""
    none = np.empty(0, np.intp)
    states = {
        name: bound.scatter(len(frames), none, {key: column[:0] for key, column in bound.identity.items()})
        for name, bound in plan.states.items()
    }
    return of_states(plan, keys, [frames, np.zeros(len(frames), np.int64)], states)


def window_inputs_of(plan: Plan, partials: Partials) -> dict[str, NDArray[Any]]:
    """The window inputs of each partial, by the windows' names for them."""
    return {
        name[1:]: bound.finish(states_of(plan, partials, name)).to_numpy() for name, bound in plan.window_inputs.items()
    }


def _plane(column: pa.ChunkedArray, kind: Field) -> pa.Array:
    if isinstance(kind, CompensatedField) and column.num_chunks and column.null_count == len(column):
        return column.chunk(0)  # an unused plane is null in all chunks: the first one is enough
    return one_array(column)
