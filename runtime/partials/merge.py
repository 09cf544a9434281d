"""Partials, the states of events of one key and frame each as an Arrow table, and those of batches merged into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.fields import CompensatedField, Field
from ...aggregators.states.rows import replace_in_place, take
from ..columns.key_codes import Ints, key_codes, one_array, pack, span, stable_order
from ..plan.plan import BATCH_RANK, FRAME, UNTIL, Plan, state_columns
from ..windows.from_table import Anchored

MERGED_GROUPS = 1 << 18
"""(key, frame)s that are combined at a time: the memory of their states is used again for the next ones."""


@dataclass(frozen=True)
class Partials:
    """A table of a plan's ``partials_schema``.

    Parameters
    ----------
    table
        The partials of one batch, of several, or merged ones: then there is one for each (key, frame), sorted by them.
    starts
        The first row of each key, once merged.
    """

    table: pa.Table
    starts: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.table)

    def frames(self) -> Ints:
        """The frame of each row."""
        frames: Ints = one_array(self.table.column(FRAME)).to_numpy()
        return frames


def merge(plan: Plan, partials: Partials | Iterable[Partials]) -> Partials:
    """Partials sorted by key and frame with one row each, and the first row of each key; merged ones are unchanged.

    Those of one (key, frame), and of interval events with one last frame, are combined pairwise in the order of their
    batches, so that the result does not depend on the order in which tasks finish.
    """
    partials = partials if isinstance(partials, Partials) else concat(partials)
    if partials.starts is not None:
        return partials
    table = partials.table.select(plan.partials_schema.names)
    codes, count = key_codes([one_array(table.column(name)) for name in plan.keys], len(table), ordered=True)
    names = [FRAME, BATCH_RANK] if plan.until is None else [FRAME, BATCH_RANK, UNTIL]
    frames, ranks, *until = numbers = [one_array(table.column(name)).to_numpy() for name in names]
    packed, size = pack([(codes, count), *map(span, [frames, *until])], len(table))
    if (ranks[1:] < ranks[:-1]).any():
        by_rank = np.argsort(ranks, kind="stable")
        order = by_rank[stable_order(packed[by_rank], size)]
    else:
        order = stable_order(packed, size)
    packed, codes = packed[order], codes[order]
    first = np.concatenate([[True], packed[1:] != packed[:-1]])[: len(table)]
    if first.all():
        if (order[1:] < order[:-1]).any():
            table = table.take(pa.array(order))
    else:
        groups = np.flatnonzero(first)
        ends = np.append(groups, len(order))
        states = {name: states_of(plan, Partials(table), name) for name in plan.states}
        keys = [one_array(table.column(name)) for name in plan.keys]
        merged = []
        for at in range(0, len(groups), MERGED_GROUPS):
            starts = groups[at : at + MERGED_GROUPS] - groups[at]
            some = order[groups[at] : ends[at + len(starts)]]
            rows = some[starts]
            combined = {name: combine_groups(bound, states[name], some, starts) for name, bound in plan.states.items()}
            taken = [key.take(pa.array(rows)) for key in keys]
            merged.append(of_states(plan, taken, [column[rows] for column in numbers], combined))
        table, codes = concat(merged).table, codes[groups]
    return Partials(table, np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)]))


def combine_groups(bound: BoundAggregate, states: State, order: NDArray[np.intp], starts: NDArray[np.intp]) -> State:
    """One state for each group of rows: neighbours are combined, then neighbours of these, and so on.

    Parameters
    ----------
    bound
        What combines.
    states
        One state a row.
    order
        The rows, group by group, shape (rows,).
    starts
        Where each group begins in ``order``, shape (groups,).
    """
    sizes = np.diff(np.append(starts, len(order)))
    result = take(states, order[starts])
    several = np.flatnonzero(sizes > 1)
    lengths = sizes[several]
    group_of = np.repeat(np.arange(len(several)), lengths)
    place = np.arange(len(group_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    states = take(states, order[starts[several][group_of] + place])
    while len(place) > len(several):
        kept = np.flatnonzero(place % 2 == 0)
        group_of, place = group_of[kept], place[kept]
        paired = place + 1 < lengths[group_of]
        left = kept[paired]
        combined = bound.combine(take(states, left), take(states, left + 1))
        states = combined if paired.all() else replace_in_place(take(states, kept), np.flatnonzero(paired), combined)
        place = place // 2
        lengths = (lengths + 1) // 2
    return replace_in_place(result, several, states)


def concat(several: Iterable[Partials]) -> Partials:
    """Partials one after the other, not merged."""
    return Partials(pa.concat_tables([each.table for each in several]))


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
        if not isinstance(windows, Anchored) or (keys := windows.keys_of_their_own(types)) is None:
            continue
        first = np.unique(key_codes(keys, len(keys[0]) if keys else 1, ordered=False)[0], return_index=True)[1]
        none = np.empty(0, np.intp)
        states = {
            name: bound.scatter(len(first), none, {key: column[:0] for key, column in bound.identity.items()})
            for name, bound in plan.states.items()
        }
        numbers = [np.full(len(first), -1), np.zeros(len(first), np.int64)]
        found.append(of_states(plan, [key.take(pa.array(first)) for key in keys], numbers, states))
    return concat(found)


def window_inputs_of(plan: Plan, partials: Partials) -> dict[str, NDArray[Any]]:
    """The window inputs of each partial, by the windows' names for them."""
    return {
        name[1:]: bound.finish(states_of(plan, partials, name)).to_numpy() for name, bound in plan.window_inputs.items()
    }


def _plane(column: pa.ChunkedArray, kind: Field) -> pa.Array:
    if isinstance(kind, CompensatedField) and column.num_chunks and column.null_count == len(column):
        return column.chunk(0)  # an unused plane is null in all chunks: the first one is enough
    return one_array(column)
