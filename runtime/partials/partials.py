"""Partials: the state of one (key, frame) each, as an Arrow table; how they are made from events, and merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.compensated import Compensated
from ...aggregators.states.fields import Column, CompensatedField, Field
from ...aggregators.states.limbs import Exact
from ..accumulate.group_ids import sorting
from ..columns.key_codes import Ints, key_codes, one_array, pack, span
from ..sliding.scan import take
from ..sliding.slide import replace

FRAME, BATCH_RANK, UNTIL = "frame", "batch_rank", "until"
PIECE = 1 << 18
"""So many (key, frame)s are merged at a time: what that takes meanwhile is memory that is used again."""


def plane_names(output: str, bound: BoundAggregate) -> dict[str, list[str]]:
    """The names of the columns that hold each field of an output's state."""
    return {
        key: [".".join(filter(None, (output, key, plane))) for plane in kind.planes]
        for key, kind in bound.fields.items()
    }


def schema(keys: list[pa.Field], outputs: dict[str, BoundAggregate], until: bool = False) -> pa.Schema:
    """The schema of a partials table: keys, frame, batch rank (of its batch in input order), state fields.

    Partials of interval events also have the frame in which these end.
    """
    keys = list(keys)
    states = [
        pa.field(name, type)
        for output, bound in outputs.items()
        for key, names in plane_names(output, bound).items()
        for name, type in zip(names, bound.fields[key].planes.values(), strict=True)
    ]
    taken = {FRAME, BATCH_RANK, UNTIL, *(state.name for state in states)}
    for position, key in enumerate(keys):
        while key.name in taken:  # a key may be called as a column of ours
            key = key.with_name(f"{key.name}_")
        keys[position] = key
        taken.add(key.name)
    numbers = [pa.field(name, pa.int64(), False) for name in (FRAME, BATCH_RANK, *([UNTIL] if until else []))]
    return pa.schema([*keys, *numbers, *states])


def to_table(
    of: pa.Schema,
    keys: Sequence[pa.Array],
    numbers: Sequence[Ints],
    outputs: dict[str, BoundAggregate],
    states: dict[str, State],
) -> pa.Table:
    """A partials table of its columns; ``numbers`` are frames, ranks and, for interval events, their last frames."""
    planes: list[pa.Array] = []
    for output, bound in outputs.items():
        for key, kind in bound.fields.items():
            planes += kind.to_arrow(states[output][key])
    return pa.Table.from_arrays([*keys, *map(pa.array, numbers), *planes], schema=of)


def states_of(table: pa.Table, output: str, bound: BoundAggregate) -> State:
    """The states of one output in a partials table."""
    return {
        key: bound.fields[key].from_arrow([_plane(table.column(name), bound.fields[key]) for name in names])
        for key, names in plane_names(output, bound).items()
    }


def _plane(column: pa.ChunkedArray, kind: Field) -> pa.Array:
    if isinstance(kind, CompensatedField) and column.num_chunks and column.null_count == len(column):
        return column.chunk(0)  # a plane that is not in use: it need not be put together to see that
    return one_array(column)


def merge(table: pa.Table, keys: Sequence[str], outputs: dict[str, BoundAggregate]) -> tuple[pa.Table, Ints]:
    """Partials sorted by key and frame with one row each, and the first row of each key.

    Those of one (key, frame), and of interval events with one last frame, are combined pairwise, in input order, so
    that the result does not depend on the order in which tasks finish.
    """
    codes, count = key_codes([one_array(table.column(name)) for name in keys], len(table), ordered=True)
    frames = one_array(table.column(FRAME)).to_numpy()
    ranks = one_array(table.column(BATCH_RANK)).to_numpy()
    numbers = [frames] if UNTIL not in table.column_names else [frames, one_array(table.column(UNTIL)).to_numpy()]
    packed, size = pack([(codes, count), *map(span, numbers)], len(table))
    if (ranks[1:] < ranks[:-1]).any():
        by_rank = np.argsort(ranks, kind="stable")
        order = by_rank[sorting(packed[by_rank], size)]
    else:
        order = sorting(packed, size)
    packed, codes = packed[order], codes[order]
    first = np.concatenate([[True], packed[1:] != packed[:-1]])[: len(table)]
    if first.all():
        if (order[1:] < order[:-1]).any():
            table = table.take(pa.array(order))
    else:
        starts = np.flatnonzero(first)
        ends = np.append(starts, len(order))
        whole = {name: states_of(table, name, bound) for name, bound in outputs.items()}
        columns = [one_array(table.column(name)) for name in keys]
        plain = [
            one_array(table.column(name)).to_numpy()
            for name in (FRAME, BATCH_RANK, UNTIL)
            if name in table.column_names
        ]
        tables = []
        for at in range(0, len(starts), PIECE):
            some = starts[at : at + PIECE] - starts[at]
            own = order[starts[at] : ends[at + len(some)]]
            states = {name: reduce_groups(bound, whole[name], own, some) for name, bound in outputs.items()}
            rows = own[some]
            kept = [column.take(pa.array(rows)) for column in columns]
            tables.append(to_table(table.schema, kept, [column[rows] for column in plain], outputs, states))
        table = pa.concat_tables(tables)
        codes = codes[starts]
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)])
    return table, starts


def reduce_groups(bound: BoundAggregate, states: State, order: NDArray[np.intp], starts: NDArray[np.intp]) -> State:
    """One state for each run in an order of states: neighbours are combined, then neighbours of those, ..."""
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
        joined = bound.combine(take(states, left), take(states, left + 1))
        states = joined if paired.all() else put(take(states, kept), np.flatnonzero(paired), joined)
        place = place // 2
        lengths = (lengths + 1) // 2
    return put(result, several, states)


def put(states: State, rows: NDArray[np.intp], other: State) -> State:
    """States that nothing else refers to, with others at some rows: in place where a column is of plain numbers."""
    for key, column in states.items():
        whole, part = planes(column), planes(other[key])
        if len(whole) != len(part) or not whole:
            return replace(states, rows, other)
    for key, column in states.items():
        for plane, values in zip(planes(column), planes(other[key]), strict=True):
            plane[rows] = values
    return states


def planes(column: Column) -> list[NDArray[Any]]:
    """The arrays of numbers that a column is made of; none where it has others too."""
    if isinstance(column, Compensated):
        return [column.high, column.low] if column.special_values is None else []
    if isinstance(column, Exact):
        return list(column.limbs)
    return [column] if isinstance(column, np.ndarray) else []
