"""Partials: the states of events of one key and frame each, as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.operation import State
from ...aggregators.states.fields import CompensatedField, Field
from ..columns.key_codes import Ints, key_codes, normalised, one_array
from ..plan.plan import FRAME, Plan, state_columns


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
        keys = windows.keys_of_their_own(types)
        if keys is None:
            continue
        keys = [normalised(key) for key in keys]
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
    """What the windows must know of each partial, by the names the windows have for it."""
    return {
        name[1:]: bound.finish(states_of(plan, partials, name)).to_numpy() for name, bound in plan.window_inputs.items()
    }


def _plane(column: pa.ChunkedArray, kind: Field) -> pa.Array:
    if isinstance(kind, CompensatedField) and column.num_chunks and column.null_count == len(column):
        return column.chunk(0)  # a plane that is not in use: one chunk is enough to see that
    return one_array(column)
