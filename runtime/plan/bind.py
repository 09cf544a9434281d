"""A query checked against the schema of its events, which makes it a plan.

A query that is wrong raises here, before anything runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from ...aggregators.combinators.samples import Samples, samples_of
from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.column_expressions import ColumnExpression, kind_of
from ...aggregators.contract.operation import Operation
from ...aggregators.errors import ColumnError, DurationError, QueryError, require_text, shown
from ...aggregators.intervals.time_weighted import lifetimes_of
from ...aggregators.laws.at_bind import try_laws
from ...aggregators.states.categories import Categories, values_type
from ..columns.field_types import keys_in, type_of
from ..columns.plain import key_type
from ..columns.ticks import Duration, TimeColumn
from ..frames.partials_view import of_column
from ..frames.windows import Windows, WindowSpec
from .cells import Cell, bound_cell, parts_of
from .fill_keys import InArrow, with_given_keys
from .plan import Axis, Plan, columns_computed, named_states, partials_schema
from .window_inputs import RANK, Value, own_name, window_input

WINDOW, AT, ROW = "window", "at", "#row"
BOUNDS = ("window_start", "window_end")
ONE_FOR_EACH = (
    "ff.around(...), ff.last_rows(n), ff.landmark(...) without every=, ff.policy(...) "
    "that triggers at each row, or ff.windows_from(...) with one for each of its rows"
)
A_WINDOW = "a window such as ff.sliding('1 hour', every='1 minute')"


def check_durations(
    events: pa.Schema, time: str, windows: Sequence[WindowSpec], longest: Duration | None = None
) -> None:
    """DurationError where a duration does not fit the time; what else is wrong :func:`bind` says, of a whole query."""
    try:
        times = TimeColumn(time, type_of(events, time, "time="))
        if longest is not None:
            times.length(longest, "longest")
        for window in windows:
            window.bind(times, lambda name, argument: type_of(events, name, argument))
    except DurationError:
        raise
    except QueryError:
        return


def bind(
    events: pa.Schema,
    *,
    time: str,
    by: Sequence[str],
    window: WindowSpec | Sequence[WindowSpec],
    outputs: Mapping[str, Operation],
    until: str | None = None,
    longest: Duration | None = None,
    ties: Sequence[str] = (),
    null_time: str = "error",
    flat: bool = False,
    beside: Sequence[str] | None = None,
    in_arrow: InArrow = lambda data, names: data,
) -> Plan:
    """Check a query against the schema of its events.

    With ``flat`` a result has the bounds of windows in two columns, not in a struct. With ``beside``, the names of
    columns, outputs are to be beside these. ``in_arrow`` reads tables of keys.

    Raises
    ------
    QueryError
        If an argument is wrong, a column unknown or of a wrong type, a duration invalid, or a name taken twice.
    OperationError
        If an operation breaks its contract in a trial.
    """
    for name in outputs:
        require_text("the name of an output", name)
    times, declared = TimeColumn(time, type_of(events, time, "time=")), keys_in(events, by, ties)
    given = [window] if isinstance(window, WindowSpec) else list(window)
    columns, of_columns = outputs, dict[str, Cell]()
    if beside is not None:
        check_new(columns, beside)
        outputs, of_columns = parts_of(columns, given)
    specs, over = windows_of(given, outputs)
    windows = [spec.bind(times, lambda name, argument: type_of(events, name, argument)) for spec in specs]
    check_intervals(specs, until)
    ends = end_column(events, until, times)
    windows, keys = with_given_keys(windows, declared, in_arrow, intervals=ends is not None)
    events = with_types(events, keys)
    if beside is None:
        check_names(list(outputs), by, BOUNDS if flat else (WINDOW,), any(each.stamp != "interval" for each in windows))
    else:
        check_beside(windows, [key.type for key in keys])
        if windows[0].one_for_each == "step":
            check_names(list(columns), by, (), True)

    def bind_output(name: str, each: Operation) -> BoundAggregate:
        types = types_in(events, f"{name}={each!r}", each.columns)
        return BoundAggregate(name, each.at_times(times.duration), types)

    bound = {name: bind_output(name, each) for name, each in outputs.items()}
    check_filled(bound, windows, beside is not None)
    for each in bound.values():
        try_laws(each)
    numbers = {spec: number for number, spec in enumerate(specs)}
    cells = {
        name: bound_cell(of, numbers, partial(bind_output, name, columns[name])) for name, of in of_columns.items()
    }
    most = longest_life(longest, times, ends)
    check_lifetimes(bound, outputs, windows, until)
    axis = Axis(
        tuple(windows),
        ends is not None,
        any(each.spec.in_order or not each.commutative for each in bound.values()),
        None if beside is None else windows[0].one_for_each,
    )
    check_filling(axis)
    samples = samples_in(events, outputs, over, windows)
    window_inputs = inputs_of_windows(events, axis) | {each.name: each for each in samples.values()}
    inputs = (column for operation in outputs.values() for column in operation.columns)
    read = dict.fromkeys([time, *([until] if until else []), *by, *ties, *axis.columns, *inputs])
    rank = [pa.field(own_name(RANK, read), pa.int64())] if axis.unit == "rows" else []
    stored = [pa.field(key.name, key_type(key.type)) for key in keys]
    return Plan(
        times=times,
        by=tuple(by),
        ties=tuple(ties),
        axis=axis,
        window_inputs=window_inputs,
        until=ends,
        longest=most,
        outputs=bound,
        over=over,
        cells=cells,
        samples={name: each.name for name, each in samples.items()},
        null_time=null_time,
        input_schema=pa.schema([*(pa.field(name, type_read(events, name)) for name in read), *rank]),
        partials_schema=partials_schema(stored, named_states(window_inputs, bound), ends is not None),
        result_schema=result_schema(keys, axis, times, columns_computed(bound, cells), flat=flat),
    )


def end_column(events: pa.Schema, until: str | None, times: TimeColumn) -> TimeColumn | None:
    """The column with the ends of interval events; ColumnError unless it is of the type of their times."""
    if until is None:
        return None
    ends = TimeColumn(until, type_of(events, until, "until="), "until=")
    if ends.type != times.type:
        raise ColumnError(
            f"until= names {until!r}, which is {ends.type}; expected the type of {times.name!r}, {times.type}"
        )
    return ends


def types_in(events: pa.Schema, argument: str, columns: Sequence[str]) -> list[pa.DataType]:
    """The types of columns that an argument names."""
    return [type_of(events, column, argument) for column in columns]


def longest_life(longest: Duration | None, times: TimeColumn, ends: TimeColumn | None) -> int | None:
    """How long interval events live at most, in ticks; QueryError where events have no end."""
    if longest is not None and ends is None:
        raise QueryError(f"longest is {longest!r}; expected it only for interval events (until=)")
    return None if longest is None else times.length(longest, "longest")


def check_lifetimes(
    bound: Mapping[str, BoundAggregate], outputs: Mapping[str, Operation], windows: Sequence[Windows], until: str | None
) -> None:
    """QueryError where an output takes the lifetimes of events, and the events or the windows have none for it."""
    clips = [
        name
        for name, operation in bound.items()
        if operation.spec.of_lifetimes and lifetimes_of(operation, until is not None)
    ]
    if clips and len(windows) > 1:
        raise QueryError(
            f"{clips[0]}={outputs[clips[0]]!r} is given {len(windows)} kinds of windows; expected a query for each"
        )


def check_filled(outputs: Mapping[str, BoundAggregate], windows: Sequence[Windows], beside: bool) -> None:
    """QueryError where an output is filled (``.filled``) that cannot be, or that has no windows without an event."""
    for name, operation in outputs.items():
        spec, kind = operation.spec, operation.result
        if spec.has_inner_filling:
            raise QueryError(f"{name}={spec!r} has .filled(...) inside; expected it on the whole output")
        if spec.filling is None:
            continue
        said = f"{name}={spec!r} is filled, and"
        if beside:
            raise QueryError(f"{said} with_columns() gives rows, and no windows one by one; expected .aggregate(...)")
        if len(windows) > 1:
            raise QueryError(f"{said} there are {len(windows)} kinds of windows; expected a query for each")
        if not windows[0].emits_empty:
            raise QueryError(
                f"{said} windows without an event are left out; expected some with empty='emit', such as "
                "ff.tumbling('1 minute', empty='emit')"
            )
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if spec.filling == "linear" and not number:
            raise QueryError(f"{said} there is no line between values of type {kind}; expected .filled('last')")


def check_filling(axis: Axis) -> None:
    """QueryError where all of the time that is to be filled is in a gap between windows."""
    windows, (first, last) = axis.windows[0], axis.fill_frames or (None, None)
    if windows.fill is not None and first is not None and last is not None and first > last:
        filled = windows.fill.words.removeprefix(", also")
        raise QueryError(f"{windows.named} are filled{filled}, where none is; expected more")


def inputs_of_windows(events: pa.Schema, axis: Axis) -> dict[str, BoundAggregate]:
    """What windows ask of the events, by its name in partials: their own inputs, and columns."""
    inputs = {name: window_input(name) for name in axis.window_inputs}
    columns = {
        of_column(name): BoundAggregate(name, Value(name), [type_of(events, name, "the windows")])
        for name in axis.columns
    }
    return inputs | columns


def samples_in(
    events: pa.Schema, outputs: Mapping[str, Operation], over: Mapping[str, Sequence[int]], windows: Sequence[Windows]
) -> dict[str, BoundAggregate]:
    """What counts the samples of each output over windows that must have some."""
    found = {}
    for name, operation in outputs.items():
        if any(windows[number].min_samples for number in over[name]):
            counting = samples_of(operation)
            shared = repr(counting) if isinstance(counting, Samples) else f"samples of {name}"
            found[name] = BoundAggregate(shared, counting, types_in(events, f"{name}={operation!r}", counting.columns))
    return found


def result_schema(
    keys: Sequence[pa.Field], axis: Axis, times: TimeColumn, outputs: Mapping[str, BoundAggregate], *, flat: bool
) -> pa.Schema:
    """The columns of a result: keys, the bounds of windows in one or two, where they are stamped, outputs.

    Beside events it has the outputs; beside labels these, and the number of each one's label before them.
    """
    lines = {name: pa.float64() for name, bound in outputs.items() if bound.spec.filling == "linear"}
    values = [pa.field(name, lines.get(name, bound.result)) for name, bound in outputs.items()]
    columns = [pa.field(key.name, values_type(key.type)) for key in keys]
    if axis.beside == "step":
        return pa.schema([*columns, pa.field(AT, times.bound_type), *values])
    if axis.beside is not None:
        rows = [pa.field(own_name(ROW, outputs), pa.int64(), False)] if axis.beside == "label" else []
        return pa.schema([*rows, *values])
    bounds = [pa.field(name, times.bound_type) for name in (BOUNDS if flat else ("start", "end"))]
    return pa.schema(
        [
            *columns,
            *(bounds if flat else [pa.field(WINDOW, pa.struct(bounds), False)]),
            *([pa.field(AT, times.bound_type)] if axis.stamped else []),
            *values,
        ]
    )


def type_read(events: pa.Schema, name: str) -> pa.DataType:
    """The type as which a column is read: plain, or categories whose order is known."""
    type = type_of(events, name, "columns")
    return type if isinstance(type, Categories) else values_type(type)


def with_types(events: pa.Schema, keys: Sequence[pa.Field]) -> pa.Schema:
    """The schema of events whose keys are of other types."""
    for key in keys:
        if type_of(events, key.name, "by=") != key.type:
            events = events.set(events.get_field_index(key.name), key)
    return events


def check_intervals(specs: Sequence[WindowSpec], until: str | None) -> None:
    """QueryError unless the windows are for events as they are: with or without an end."""
    for spec in specs:
        if until is None and spec.intervals == "only":
            raise QueryError(f"{spec}: these windows are of interval events; expected ff.events(..., until=)")
        if until is not None and spec.intervals == "never":
            raise QueryError(
                f"{spec}: these windows are not defined for interval events (until={until!r}); expected ff.sliding, "
                "ff.tumbling, ff.cumulating or ff.snapshot"
            )


def check_names(outputs: Sequence[str], by: Sequence[str], bounds: Sequence[str], stamped: bool) -> None:
    """QueryError unless keys and outputs have names of their own, beside those that windows have in the result."""
    taken = (*bounds, AT) if stamped else bounds
    for name in by:
        if name in taken:
            every = "the" if name == AT else "every"
            raise QueryError(
                f"by= names {name!r}, the name of a column of {every} result; expected another: rename the column"
            )
    for name in outputs:
        if name in by:
            raise QueryError(f"the output {name!r} would hide the key {name!r}; expected another name")
        if name in taken:
            raise QueryError(
                f"the output {name!r} would hide the column {name!r} of every result; expected another name"
            )


def check_new(outputs: Mapping[str, Operation], beside: Sequence[str]) -> None:
    """ColumnError or QueryError unless outputs have names that rows do not have yet, each of which is of one column."""
    counts = Counter(beside)
    for name in beside:
        if counts[name] > 1:
            raise ColumnError(f"with_columns() is asked of rows with several columns called {name!r}; expected one")
        if name in outputs:
            raise QueryError(f"the output {name!r} would hide the column {name!r} that is there; expected another name")


def check_beside(windows: Sequence[Windows], keys: list[pa.DataType]) -> None:
    """QueryError unless each row of the events, or of another table, has one window of each kind."""
    for each in windows:
        if each.one_for_each is None or (each.one_for_each == "label" and each.keys_of_their_own(keys) is None):
            why = "which every key has; expected the key columns of their table (by=)"
            if each.one_for_each is None:
                why = f"which are not one for each event; expected {ONE_FOR_EACH}"
            raise QueryError(f"with_columns() is asked for {each.named}, {why}")
        if each.one_for_each != windows[0].one_for_each:
            raise QueryError(
                f"with_columns() is asked for {windows[0].named} and for {each.named}, which are not of the same rows; "
                "expected a query for each"
            )


def windows_of(
    windows: Sequence[WindowSpec], outputs: Mapping[str, Operation]
) -> tuple[list[WindowSpec], dict[str, tuple[int, ...]]]:
    """All windows of a query, and which of them each output is over: its own, or those of the query.

    Without outputs the windows are those of the query, for an explanation.
    """
    specs: dict[WindowSpec, int] = {}
    for spec in () if outputs else windows:
        require_plain(spec)
        specs.setdefault(spec, len(specs))
    if not (outputs or windows):
        raise QueryError(f"no window is given; expected .window(...) with {A_WINDOW}")
    over = {}
    for name, operation in outputs.items():
        require_output(name, operation)
        if operation.has_inner_windows:
            raise QueryError(
                f"{name}={operation!r} has .over(...) inside; expected it on the whole output, or .with_columns(...), "
                "where one row has several windows"
            )
        for spec in operation.windows or windows:
            if not isinstance(spec, WindowSpec):
                where = f"{name}={operation!r}.over(...)" if operation.windows else "window(...)"
                raise QueryError(f"{where} is given {spec!r}; expected {A_WINDOW}")
            require_plain(spec)
        if not (operation.windows or windows):
            raise QueryError(f"no window is given for {name!r}; expected .window(...), or {operation!r}.over(...)")
        numbers = (specs.setdefault(spec, len(specs)) for spec in operation.windows or windows)
        over[name] = tuple(dict.fromkeys(numbers))
    return list(specs), over


def require_output(name: str, operation: object) -> None:
    """QueryError unless an output is an operation."""
    if isinstance(operation, Operation):
        return
    found, hint = shown(operation), ""
    if isinstance(operation, type):
        hint = f", such as ff.{operation.__name__}(...)"
    elif (kind := kind_of(operation)) is not None:
        found = f"{kind}, {ColumnExpression(operation)}"
        hint = " of framefold's, such as ff.Average('speed'), which may take an expression"
    elif isinstance(operation, str):
        hint = f", such as ff.Last({operation!r})" if operation.isidentifier() else ", such as ff.Average('speed')"
    raise QueryError(f"the output {name!r} is {found}; expected an aggregate operation{hint}")


def require_plain(spec: WindowSpec) -> None:
    """QueryError where an argument of windows is something that cannot be compared, such as an expression."""
    try:
        hash(spec)
    except TypeError as error:
        for name, value in vars(spec).items():
            if not isinstance(value, Hashable) or kind_of(value):
                raise QueryError(f"{name} is {shown(value)}; expected a plain value, such as '1 hour'") from error
        raise
