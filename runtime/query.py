"""A query: what is asked of which columns, checked against their schema, and its stages as functions of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..aggregators.binding import Bound
from ..aggregators.errors import ColumnError, QueryError, nearest
from ..aggregators.frames import Frames
from ..aggregators.operation import Operation
from .keys import key_codes, normalised, pack, plain, plain_type, require_key, span
from .line import Line
from .partials import FRAME, PART, group, merge, schema, to_table
from .results import results
from .times import TimeColumn, drop_null_times
from .windows import Sliding

WINDOW = "window"
A_WINDOW = "a window such as ff.sliding('1 hour', every='1 minute')"


@dataclass(frozen=True)
class Query:
    """A query bound to the schema of its events; made by :func:`bind`. It can be pickled and sent to executors.

    Attributes
    ----------
    columns
        The input columns it needs: time, keys, inputs of its operations.
    line
        The windows, on one time line.
    over
        Which of the windows each output is over, by their numbers.
    input_schema, partials_schema, result_schema
        Arrow schemas of events, partials and results.
    """

    times: TimeColumn
    by: tuple[str, ...]
    line: Line
    outputs: dict[str, Bound]
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
        """The input columns the query needs."""
        return list(self.input_schema.names)

    @property
    def _keys(self) -> list[str]:
        """The names of the key columns in partials."""
        return list(self.partials_schema.names[: len(self.by)])

    @property
    def ordered(self) -> bool:
        """Whether some operation needs all events of one (key, frame) together and in time order."""
        return not all(bound.commutative for bound in self.outputs.values())

    def accumulate(self, events: pa.Table | pa.RecordBatch, part: int) -> pa.Table:
        """A batch of events as partials: one row for each (key, frame) in it.

        Parameters
        ----------
        events
            Events with at least the query's columns.
        part
            The rank of the batch in input order.

        Raises
        ------
        NullTimeError
            If an event has no time, unless the query drops those.
        """
        events = pa.table(events) if isinstance(events, pa.RecordBatch) else events
        events = events.select(self.columns)
        if self.null_time == "drop":
            events = drop_null_times(events, self.time)
        columns = {field.name: plain(events.column(field.name), field.type) for field in self.input_schema}
        ticks = self.times.ticks(columns[self.time])
        frames, inside = self.line.frames(ticks)
        if inside is not None and not inside.all():
            rows = pa.array(np.flatnonzero(inside))
            columns = {name: column.take(rows) for name, column in columns.items()}
            frames, ticks = frames[inside], ticks[inside]
        if not len(ticks):
            return self.partials_schema.empty_table()
        keys = [normalised(columns[name]) for name in self.by]
        # Frame by frame and not key by key: events that follow one another in time then add to neighbouring states.
        groups = group(*pack([span(frames), key_codes(keys, len(ticks), ordered=False)], len(ticks)))
        shared = Frames(groups.groups, len(groups.rows), ticks)
        states = {
            name: bound.accumulate(shared, [columns[column] for column in bound.columns])
            for name, bound in self.outputs.items()
        }
        rows = pa.array(groups.rows)
        parts = np.full(len(groups.rows), part, np.int64)
        return to_table(
            self.partials_schema, [key.take(rows) for key in keys], frames[groups.rows], parts, self.outputs, states
        )

    def merge(self, partials: pa.Table) -> pa.Table:
        """Partials with one row for each (key, frame), sorted by them."""
        return merge(partials, self._keys, self.outputs)[0]

    def results(self, partials: pa.Table) -> pa.Table:
        """Partials of whole keys as results: merged, slid, finished; sorted by key and window."""
        partials, starts = merge(partials.select(self.partials_schema.names), self._keys, self.outputs)
        return results(self, partials, starts)


def bind(
    events: pa.Schema,
    *,
    time: str,
    by: Sequence[str],
    window: Sliding | Sequence[Sliding],
    outputs: Mapping[str, Operation],
    null_time: str = "error",
) -> Query:
    """Check a query against the schema of its events.

    Raises
    ------
    QueryError
        If an argument is wrong, a column unknown or of a wrong type, a duration not one, a name taken twice.
    OperationError
        If an operation breaks its contract in a trial.
    """
    if null_time not in ("error", "drop"):
        raise QueryError(f"null_time is {null_time!r}; expected 'error' or 'drop'")
    time_column = TimeColumn(time, type_of(events, time, "time="))
    for position, name in enumerate(by):
        require_key(name, type_of(events, name, "by="))
        if name == WINDOW:
            raise QueryError(
                f"by= names {name!r}, the name of a column of every result; expected another: rename the column"
            )
        if name in by[:position]:
            raise QueryError(f"by= names {name!r} twice; expected each key once")
    check_outputs(outputs, by)
    specs, over = windows_of([window] if isinstance(window, Sliding) else list(window), outputs)
    line = Line(tuple(spec.bind(time_column) for spec in specs))
    line.cuts  # noqa: B018  # whether they can share frames is to be known now
    bound = {
        name: Bound(
            name,
            operation.at_times(time_column.duration),
            [type_of(events, column, f"{name}={operation!r}") for column in operation.columns],
        )
        for name, operation in outputs.items()
    }
    needed = dict.fromkeys([time, *by, *(column for operation in outputs.values() for column in operation.columns)])
    keys = [pa.field(name, type_of(events, name, "by=")) for name in by]
    struct = pa.struct([pa.field("start", time_column.bound_type), pa.field("end", time_column.bound_type)])
    results = [pa.field(name, operation.result) for name, operation in bound.items()]
    return Query(
        time_column,
        tuple(by),
        line,
        bound,
        over,
        null_time,
        pa.schema([pa.field(name, type_of(events, name, "columns")) for name in needed]),
        schema(keys, bound),
        pa.schema([*keys, pa.field(WINDOW, struct, False), *results]),
    )


def check_outputs(outputs: Mapping[str, object], by: Sequence[str]) -> None:
    """QueryError unless outputs are operations under names of their own."""
    if not outputs:
        raise QueryError("no outputs are asked for; expected at least one, such as n=ff.Count()")
    for name, operation in outputs.items():
        if name in by:
            raise QueryError(f"the output {name!r} would hide the key {name!r}; expected another name")
        if name == WINDOW:
            raise QueryError(
                f"the output {name!r} would hide the column {WINDOW!r} of every result; expected another name"
            )
        if not isinstance(operation, Operation):
            hint = f", such as ff.{operation.__name__}(...)" if isinstance(operation, type) else ""
            raise QueryError(f"the output {name!r} is {operation!r}; expected an aggregate operation{hint}")


def windows_of(
    windows: Sequence[Sliding], outputs: Mapping[str, Operation]
) -> tuple[list[Sliding], dict[str, tuple[int, ...]]]:
    """All windows of a query, and which of them each output is over: its own, or those of the query."""
    specs: dict[Sliding, int] = {}
    over = {}
    for name, operation in outputs.items():
        if operation.has_inner_windows:
            raise QueryError(f"{name}={operation!r} has .over(...) inside; expected it on the whole output")
        for spec in operation.windows or windows:
            if not isinstance(spec, Sliding):
                where = f"{name}={operation!r}.over(...)" if operation.windows else "window(...)"
                raise QueryError(f"{where} is given {spec!r}; expected {A_WINDOW}")
        if not (operation.windows or windows):
            raise QueryError(f"no window is given for {name!r}; expected .window(...), or {operation!r}.over(...)")
        over[name] = tuple(specs.setdefault(spec, len(specs)) for spec in operation.windows or windows)
    return list(specs), over


def type_of(events: pa.Schema, name: str, argument: str) -> pa.DataType:
    """The plain type of a column; ColumnError where there is none of that name, or more than one."""
    if not isinstance(name, str):
        raise QueryError(f"{argument} names {name!r}; expected the name of a column")
    found = events.names.count(name)
    if found != 1:
        many = f"{found} columns called {name!r}" if found else f"the unknown column {name!r}"
        raise ColumnError(f"{argument} names {many}; " + ("expected one" if found else nearest(name, events.names)))
    return plain_type(events.field(name).type)


__all__ = ["FRAME", "PART", "WINDOW", "Query", "bind"]
