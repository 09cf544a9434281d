"""A plan: a query bound to the schema of its events. It says what is computed, and nothing of how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.intervals.time_weighted import lifetimes_of
from ..columns.ticks import TimeColumn
from .axis import Axis
from .window_inputs import RANK, UNTIL_TICK

FRAME, BATCH_RANK, UNTIL = "frame", "batch_rank", "until"
"""Columns of partials beside keys and states: the frame, the rank of its batch, the last frame of interval events."""


@dataclass(frozen=True)
class Plan:
    """What :func:`~framefold.runtime.plan.bind.bind` makes of a query; it can be pickled and sent to executors.

    Attributes
    ----------
    ties
        The columns that order events of one time.
    axis
        The windows, on one axis.
    window_inputs
        What the windows must know of every partial.
    until
        The column of the ends of interval events.
    longest
        The longest life of interval events, in ticks; None for any length.
    over
        The windows of each output, by their numbers on the axis.
    input_schema, partials_schema, result_schema
        Arrow schemas of events, partials and results.
    """

    times: TimeColumn
    by: tuple[str, ...]
    ties: tuple[str, ...]
    axis: Axis
    window_inputs: dict[str, BoundAggregate]
    until: TimeColumn | None
    longest: int | None
    outputs: dict[str, BoundAggregate]
    over: dict[str, tuple[int, ...]]
    null_time: str
    input_schema: pa.Schema
    partials_schema: pa.Schema
    result_schema: pa.Schema

    @property
    def time(self) -> str:
        """The name of the time column."""
        return self.times.name

    @property
    def columns(self) -> list[str]:
        """The columns of the events that are read: time, end, keys, ties, inputs of windows and operations."""
        return [name for name in self.input_schema.names if name != RANK]

    @property
    def keys(self) -> list[str]:
        """The names of the key columns in partials."""
        return list(self.partials_schema.names[: len(self.by)])

    @property
    def states(self) -> dict[str, BoundAggregate]:
        """The aggregates with a state in partials: window inputs and outputs."""
        return self.window_inputs | self.outputs

    @property
    def inputs(self) -> set[str]:
        """The columns that times, ends, row numbers and states are made from."""
        names = {self.time, *(column for bound in self.states.values() for column in bound.columns)}
        names |= {RANK} if self.in_rows else set()
        return (names if self.until is None else names | {self.until.name}) - {UNTIL_TICK}

    @property
    def clips(self) -> bool:
        """Whether some output is of the lives of interval events, clipped to each window."""
        return self.until is not None and any(lifetimes_of(bound) is not None for bound in self.outputs.values())

    @property
    def in_rows(self) -> bool:
        """Whether the events must come with their row numbers in :data:`RANK`, sorted by key and row."""
        return self.axis.unit == "rows"

    @property
    def ordered(self) -> bool:
        """Whether some operation needs all events of one (key, frame) together and in time order."""
        return bool(self.ties) or not all(bound.commutative for bound in self.outputs.values())


def state_columns(output: str, bound: BoundAggregate) -> dict[str, list[str]]:
    """The columns of partials that hold each field of an output's state."""
    return {
        key: [".".join(filter(None, (output, key, plane))) for plane in kind.planes]
        for key, kind in bound.fields.items()
    }


def partials_schema(keys: Sequence[pa.Field], states: Mapping[str, BoundAggregate], until: bool) -> pa.Schema:
    """The schema of partials: keys, :data:`FRAME`, :data:`BATCH_RANK`, :data:`UNTIL` if any, columns of states.

    A key that is called like another of these columns gets a name with underscores at its end.
    """
    planes = [
        pa.field(name, type)
        for output, bound in states.items()
        for key, names in state_columns(output, bound).items()
        for name, type in zip(names, bound.fields[key].planes.values(), strict=True)
    ]
    taken = {FRAME, BATCH_RANK, UNTIL, *(plane.name for plane in planes)}
    renamed = []
    for key in keys:
        while key.name in taken:
            key = key.with_name(f"{key.name}_")
        renamed.append(key)
        taken.add(key.name)
    numbers = [pa.field(name, pa.int64(), False) for name in (FRAME, BATCH_RANK, *([UNTIL] if until else []))]
    return pa.schema([*renamed, *numbers, *planes])
