"""A query checked against the schema of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import Operation
from ...aggregators.errors import ColumnError, QueryError
from ...aggregators.intervals.time_weighted import lifetimes_of
from ..columns.key_codes import require_key
from ..columns.ticks import Duration, TimeColumn
from ..partials.partials import schema
from ..windows import Spec
from .axis import Axis
from .plan import Plan
from .validate import AT, WINDOW, check_intervals, check_outputs, require_order, type_of, windows_of
from .window_inputs import RANK, window_input


def bind(
    events: pa.Schema,
    *,
    time: str,
    by: Sequence[str],
    window: Spec | Sequence[Spec],
    outputs: Mapping[str, Operation],
    until: str | None = None,
    longest: Duration | None = None,
    ties: Sequence[str] = (),
    null_time: str = "error",
) -> Plan:
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
    specs, over = windows_of([window] if isinstance(window, Spec) else list(window), outputs)
    windows = tuple(spec.bind(time_column, lambda name, argument: type_of(events, name, argument)) for spec in specs)
    check_intervals(specs, until)
    ends = None if until is None else TimeColumn(until, type_of(events, until, "until="))
    if ends is not None and ends.type != time_column.type:
        raise ColumnError(
            f"until= names {until!r}, which is {ends.type}; expected the type of {time!r}, {time_column.type}"
        )
    key_types = [type_of(events, name, "by=") for name in by]
    for each in windows:
        each.check_keys(tuple(by), key_types)
    check_outputs(outputs, by, any(each.stamped for each in windows))
    bound = {
        name: BoundAggregate(
            name,
            operation.at_times(time_column.duration),
            [type_of(events, column, f"{name}={operation!r}") for column in operation.columns],
        )
        for name, operation in outputs.items()
    }
    most = None if longest is None else time_column.duration(longest, "longest")
    if most is not None and (ends is None or most <= 0):
        expected = "a duration above zero" if ends is not None else "it only for interval events (until=)"
        raise QueryError(f"longest is {longest!r}; expected {expected}")
    clips = [name for name, operation in bound.items() if lifetimes_of(operation, until is not None) is not None]
    if clips and len(windows) > 1:
        raise QueryError(
            f"{clips[0]}={outputs[clips[0]]!r} is given {len(windows)} kinds of windows; expected a query for each"
        )
    in_order = any(not operation.commutative or operation.spec.in_order for operation in bound.values())
    axis = Axis(windows, ends is not None, in_order)
    window_inputs = {f"#{name}": window_input(name) for name in axis.window_inputs}
    window_inputs |= {f"#{name}": window_input(name, type_of(events, name, "the windows")) for name in axis.columns}
    for name in ties:
        require_order(name, type_of(events, name, "ties="))
    inputs = (column for operation in outputs.values() for column in operation.columns)
    needed = [
        pa.field(name, type_of(events, name, "columns"))
        for name in dict.fromkeys([time, *([until] if until else []), *by, *ties, *axis.columns, *inputs])
    ]
    if axis.unit == "rows":
        needed.append(pa.field(RANK, pa.int64()))
    keys = [pa.field(name, type_of(events, name, "by=")) for name in by]
    bounds = pa.struct([pa.field("start", time_column.bound_type), pa.field("end", time_column.bound_type)])
    at = [pa.field(AT, time_column.bound_type)] if axis.stamped else []
    results = [pa.field(name, operation.result) for name, operation in bound.items()]
    return Plan(
        time_column,
        tuple(by),
        tuple(ties),
        axis,
        window_inputs,
        ends,
        most,
        bound,
        over,
        null_time,
        pa.schema(needed),
        schema(keys, window_inputs | bound, ends is not None),
        pa.schema([*keys, pa.field(WINDOW, bounds, False), *at, *results]),
    )
