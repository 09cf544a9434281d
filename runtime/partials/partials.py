"""What partials are: an Arrow table with a state for each key in each frame."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators.contract.operation import State
from ...aggregators.states.alike import run_of
from ...aggregators.states.arrays import Bools, Index, Ints
from ...aggregators.states.fields import CompensatedField, Field
from ...aggregators.states.large import fitting, one_array, take
from ...aggregators.states.objects import HeldObjects
from ...aggregators.states.ragged import leaves
from ..columns.key_codes import key_codes
from ..frames.partials_view import WindowInputs
from ..plan.plan import FRAME, Plan


@dataclass(frozen=True)
class Partials:
    """A table of a plan's ``partials_schema``, with a row for each key and frame.

    ::

        key   #frame  #batch   n.count  x.sum   ...
        "a"        7       0         2    5.0           2.5
        "a"        8       0         1    1.5

    Parameters
    ----------
    plan
        What is computed.
    table
        The partials of one batch, of several, or merged ones: then there is one for each (key, frame), sorted by them.
    starts
        The first row of each key, once merged.
    events
        The number of events of each row, where some have none: these are left out when partials are merged.
    """

    plan: Plan
    table: pa.Table
    starts: Index | None = None
    events: Ints | None = None

    @classmethod
    def none(cls, plan: Plan) -> Partials:
        """No partials."""
        return cls(plan, plan.partials_schema.empty_table())

    @classmethod
    def of_states(
        cls, plan: Plan, keys: Sequence[pa.Array], numbers: Sequence[Ints], states: Mapping[str, State]
    ) -> Partials:
        """Partials made of columns; ``numbers`` are frames, batch ranks and, for interval events, the last frames."""
        planes = [
            plane
            for name, bound in plan.states.items()
            for key, kind in bound.fields.items()
            for plane in kind.to_arrow(states[name][key])
        ]
        columns = map(fitting, [*keys, *map(pa.array, numbers), *planes], plan.partials_schema.types)
        return cls(plan, pa.Table.from_arrays(list(columns), schema=plan.partials_schema))

    @classmethod
    def without_events(cls, plan: Plan, keys: Sequence[pa.Array], frames: Ints, rank: int = 0) -> Partials:
        """Partials without events, one for each of some keys and frames; ``rank`` is their batch rank."""
        none = np.empty(0, np.intp)
        states = {
            name: bound.scatter(len(frames), none, {key: column[:0] for key, column in bound.identity.items()})
            for name, bound in plan.states.items()
        }
        return cls.of_states(plan, keys, [frames, np.full(len(frames), rank)], states)

    @classmethod
    def of_given_keys(cls, plan: Plan) -> list[Partials]:
        """Partials without events, for the keys that windows bring themselves; to be merged before the others."""
        found = []
        with_own = [each for each in plan.axis.windows if each.fill is not None or each.given]
        types = [plan.partials_schema.field(name).type for name in plan.keys] if with_own else []
        for at, windows in enumerate(with_own):
            if plan.axis.alike and at and windows.same_rows(with_own[0]):
                continue
            if (keys := windows.keys_of_their_own(types)) is None:
                continue
            first = np.unique(key_codes(keys, len(keys[0]) if keys else 1, ordered=False)[0], return_index=True)[1]
            keys = [key.take(pa.array(first)) for key in keys]
            found.append(cls.without_events(plan, keys, np.full(len(first), plan.axis.before_all)))
        return found

    def __len__(self) -> int:
        return len(self.table)

    def filled(self) -> Partials:
        """The partials that have an event."""
        if self.events is None:
            return self
        kept = self.events > 0
        if self.starts is not None:
            return replace(self, events=None).where(kept)
        return Partials(self.plan, self.table.filter(pa.array(kept)))

    def where(self, kept: Bools) -> Partials:
        """Some of merged partials, which are merged as they are."""
        assert self.starts is not None
        if kept.all():
            return self
        left = np.add.reduceat(kept, self.starts, dtype=np.intp)
        starts = np.cumsum(left) - left
        return Partials(self.plan, self.table.filter(pa.array(kept)), starts[left > 0])

    def unmerged(self) -> Partials:
        """The same to be merged with others."""
        return replace(self, starts=None)

    def column(self, name: str) -> pa.Array:
        """A column of the table."""
        return one_array(self.table.column(name))

    @property
    def keys(self) -> list[pa.Array]:
        """The key columns, a value a row."""
        return list(map(self.column, self.plan.keys))

    def keys_at(self, rows: Ints) -> list[pa.Array | pa.ChunkedArray]:
        """The key columns of some rows."""
        columns = [one_array(self.table.column(at)) for at in range(len(self.plan.by))]
        if (run := run_of(rows)) is not None:
            return [column[run] for column in columns]
        taken = pa.array(rows)
        return [take(column, taken) for column in columns]

    @property
    def frames(self) -> Ints:
        """The frame of each row."""
        frames: Ints = self.column(FRAME).to_numpy()
        return frames

    def states(self, name: str) -> State:
        """The states of one output or window input."""
        fields = self.plan.states[name].fields
        return {
            key: fields[key].from_arrow([_plane(self.table.column(each), fields[key]) for each in columns])
            for key, columns in self.plan.state_columns[name].items()
        }

    def state_blocks(self, name: str) -> Iterator[State]:
        """The same, chunk by chunk."""
        columns = [column for planes in self.plan.state_columns[name].values() for column in planes]
        for batch in self.table.select(columns).to_batches():
            yield Partials(self.plan, pa.Table.from_batches([batch])).states(name)

    def window_inputs(self) -> WindowInputs:
        """The window inputs of each partial, by the windows' names for them."""
        return WindowInputs(self.plan.window_inputs, self._window_input, slice(0, len(self)))

    def _window_input(self, name: str, rows: slice) -> NDArray[Any]:
        some = Partials(self.plan, self.table.slice(rows.start, rows.stop - rows.start))
        values: NDArray[Any] = self.plan.window_inputs[name].finish(some.states(self.plan.input_state(name))).to_numpy()
        return values

    def release_others(self) -> None:
        """Forget the Python objects that are held for other partials than these."""
        for name, bound in self.plan.outputs.items():
            for key, columns in self.plan.state_columns[name].items():
                for column, kind in zip(columns, leaves(bound.fields[key]), strict=False):
                    if isinstance(kind, HeldObjects) and len(self):
                        numbers = self.table.column(column)
                        if kind is not bound.fields[key]:
                            numbers = pc.list_flatten(numbers)
                        if len(numbers):
                            kind.store.release(pc.min(numbers).as_py())


def misfit(
    found: pa.Table,
    schema: pa.Schema,
    full: Collection[str],
    kind: Callable[[pa.DataType], pa.DataType] = lambda type: type,
) -> str:
    """What a table should have, in words, as it is not of a schema, in any order; none where it is.

    Parameters
    ----------
    full
        The columns that have a value in each row.
    kind
        What of a type has to be the same.
    """
    there = found.schema
    for each in schema:
        if len(there.get_all_field_indices(each.name)) != 1 or kind(there.field(each.name).type) != kind(each.type):
            return f"one {each.name} ({each.type})"
    lacking = sorted(name for name in {*full} & {*there.names} if found.column(name).null_count)
    return f"a value in each of {lacking[0]}" if lacking else ""


def concat(several: Iterable[Partials]) -> Partials:
    """Partials of one plan one after the other, not merged; where only one has any rows, that one as it is."""
    several = [each.filled() for each in several]
    filled = [each for each in several if len(each)]
    if len(filled) == 1:
        return filled[0]
    return Partials(several[0].plan, pa.concat_tables([each.table for each in several]))


def _plane(column: pa.ChunkedArray, kind: Field) -> pa.Array:
    if isinstance(kind, CompensatedField) and column.num_chunks and column.null_count == len(column):
        return column.chunk(0)  # an unused plane is null in all chunks: the first one is enough
    return one_array(column)
