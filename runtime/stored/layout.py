"""How partials lie at rest: a row for each key, frame and run, with a state's fields as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ...aggregators.contract.operation import Operation
from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import fitting
from ..columns.ticks import DAY, describe
from ..frames.partials_view import is_column
from ..partials.partials import Partials
from ..plan.bind import bind
from ..plan.plan import BATCH_RANK, FRAME, Plan, named_states, partials_schema
from ..plan.window_inputs import window_input
from ..windows.spec import Spec

START, RUN = "frame_start", "run"
"""The columns of stored partials between keys and states: where a frame starts, and the run that brought the events."""

KEPT = ("first", "last", "rows")
"""The window inputs that are stored beside the outputs, so that any windows over them have theirs."""


@dataclass(frozen=True)
class Layout:
    """The layout of one table of stored partials.

    ::

        customer  frame_start          run         n.count  spent.sum  ...
        "a"       2026-11-26 07:00:00  2026-11-26        2       25.0
        "a"       2026-11-26 08:00:00  2026-11-26        1        3.5

    Parameters
    ----------
    plan
        The query whose partials are stored: outputs over tumbling windows, each of which is a frame.
    """

    plan: Plan

    @classmethod
    def of(
        cls,
        events: pa.Schema,
        *,
        time: str,
        by: Sequence[str],
        ties: Sequence[str],
        frame: Spec,
        outputs: Mapping[str, Operation],
        null_time: str,
    ) -> Layout:
        """The layout for events of a schema; errors as :func:`bind` raises them."""
        for name in by:
            if name in (START, RUN):
                raise QueryError(f"by= names {name!r}, the name of a column of stored partials; expected another")
        bound = bind(events, time=time, by=by, window=frame, outputs=outputs, ties=ties, null_time=null_time)
        if bound.in_rows or len(bound.axis.windows) > 1 or any(map(is_column, bound.window_inputs)):
            raise QueryError(f"frame is {frame}; expected a duration, such as '1 hour'")
        inputs = {name: window_input(name) for name in KEPT}
        keys = [bound.partials_schema.field(number) for number in range(len(by))]
        states = partials_schema(keys, named_states(inputs, bound.outputs), until=False)
        return cls(replace(bound, window_inputs=inputs, partials_schema=states))

    @property
    def schema(self) -> pa.Schema:
        """The columns of a file."""
        plan = self.plan
        keys = [plan.partials_schema.field(number).with_name(name) for number, name in enumerate(plan.by)]
        planes = [field for field in plan.partials_schema if field.name not in (*plan.keys, FRAME, BATCH_RANK)]
        own = [pa.field(START, plan.times.bound_type, False), pa.field(RUN, pa.string(), False)]
        return pa.schema([*keys, *own, *planes])

    def rows(self, partials: Partials, run: str) -> pa.Table:
        """Merged partials as rows of a table."""
        table = partials.table
        starts, _ = self.bounds(partials.frames)
        columns = {START: self.plan.times.bounds(starts), RUN: pa.array(np.full(len(table), run), pa.string())}
        keys = dict(zip(self.plan.by, table.columns, strict=False))
        schema = self.schema
        return pa.table([(columns | keys).get(name, None) or table.column(name) for name in schema.names], schema)

    def bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        """The first tick of each frame, and the first after it."""
        found = self.plan.axis.windows[0].frame_bounds(frames)
        assert found is not None
        return found

    def starts(self, rows: pa.Table) -> Ints:
        """The first tick of the frame of each row."""
        return self.plan.times.ticks(rows.column(START).combine_chunks())

    def days(self, rows: pa.Table) -> Ints | None:
        """The day, since the epoch, on which the frame of each row starts; None where times are plain numbers."""
        type = self.plan.times.bound_type
        if pa.types.is_integer(type):
            return None
        starts = self.starts(rows)
        return starts if pa.types.is_date(type) else starts // DAY

    def partials(self, rows: pa.Table, plan: Plan) -> Partials:
        """Rows of a table as partials of a query over the same events, in the frames of its windows.

        Raises
        ------
        QueryError
            If a stored frame is not inside one frame of the query.
        """
        states, stored = plan.states, self.plan
        starts = self.starts(rows)
        first, row = np.unique(starts, return_inverse=True)
        frames, inside = self._frames_in(plan, first)
        named = {
            (name, field, plane): column
            for name, fields in stored.state_columns.items()
            for field, columns in fields.items()
            for plane, column in zip(stored.states[name].fields[field].planes, columns, strict=True)
        }
        own = {column: rows.column(name) for column, name in zip(plan.keys, stored.by, strict=True)}
        # Those of one frame are combined in the order of their times, as events are.
        own |= {FRAME: pa.array(frames[row]), BATCH_RANK: pa.array(row if plan.ordered else np.zeros_like(row))}
        for name, fields in plan.state_columns.items():
            of = self._state_of(plan, name)
            for field, columns in fields.items():
                for plane, column in zip(states[name].fields[field].planes, columns, strict=True):
                    own[column] = rows.column(named[of, field, plane])
        schema = plan.partials_schema
        table = pa.Table.from_arrays(
            [fitting(own[field.name], field.type) for field in schema], schema=schema
        )
        if inside is not None and not inside.all():
            table = table.filter(pa.array(inside[row]))
        return Partials(plan, table)

    def _state_of(self, plan: Plan, name: str) -> str:
        """The name among the stored states of a state of a query."""
        for window_input in plan.window_inputs:
            if plan.input_state(window_input) == name:
                if window_input not in KEPT:
                    raise QueryError(
                        "min_samples= asks for the number of samples of each output, which stored partials lack; "
                        "expected ff.Count() among the outputs, and the windows without it"
                    )
                return self.plan.input_state(window_input)
        return name

    def _frames_in(self, plan: Plan, first: Ints) -> tuple[Ints, Any]:
        """The frame of a query for each stored frame, by where it starts, and which are in any window (None: all)."""
        _, after = self.bounds(self.plan.axis.frames(first, None)[0])
        frames, inside = plan.axis.frames(first, None)
        last, _ = plan.axis.frames(after - 1, None)
        cut = np.flatnonzero(frames != last)
        if len(cut):
            words = self.plan.times.word
            begin, end = words(int(first[cut[0]])), words(int(after[cut[0]]))
            raise QueryError(
                f"{plan.axis.windows[0].named} cut the stored frame from {begin} to {end} in two; expected windows that "
                f"begin and end where stored frames do, or other frames{wanted(plan)}"
            )
        return frames, inside


def wanted(plan: Plan) -> str:
    """Which frames windows can be put together from, in words; none where their frames are not at constant steps."""
    steps = [each.numberings for each in plan.axis.windows]
    if any(each is None for each in steps):
        return ""
    numbers = [number for each in steps for of in each or () for number in (of.origin % of.width, of.width, of.first)]
    return f", such as frames of {describe(math.gcd(*numbers), plan.times.type)}"
