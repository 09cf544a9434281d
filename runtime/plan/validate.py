"""What can be wrong with a query, seen from the schema of its events: each a sentence, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ...aggregators.contract.operation import Operation
from ...aggregators.errors import ColumnError, QueryError, nearest
from ..columns.key_codes import plain_type, require_key
from ..windows import Spec

WINDOW, AT = "window", "at"
A_WINDOW = "a window such as ff.sliding('1 hour', every='1 minute')"


def require_order(name: str, type: pa.DataType) -> None:
    """ColumnError unless events can be sorted by a column of a type."""
    try:
        require_key(name, type)
    except ColumnError as error:
        raise ColumnError(str(error).replace("by=", "ties=", 1)) from None


def check_intervals(specs: Sequence[Spec], until: str | None) -> None:
    """QueryError unless the windows are for events as they are: with or without an end."""
    for spec in specs:
        if until is None and spec.intervals == "only":
            raise QueryError(f"{spec}: these windows are of interval events; expected ff.events(..., until=)")
        if until is not None and spec.intervals == "never":
            raise QueryError(
                f"{spec}: these windows are not defined for interval events (until={until!r}); expected ff.sliding, "
                "ff.tumbling, ff.cumulating or ff.snapshot"
            )


def check_outputs(outputs: Mapping[str, object], by: Sequence[str], stamped: bool) -> None:
    """QueryError unless outputs are operations under names of their own."""
    taken = (WINDOW, AT) if stamped else (WINDOW,)
    if not outputs:
        raise QueryError("no outputs are asked for; expected at least one, such as n=ff.Count()")
    if stamped and AT in by:
        raise QueryError(f"by= names {AT!r}, the name of a column of the result; expected another: rename the column")
    for name, operation in outputs.items():
        if name in by:
            raise QueryError(f"the output {name!r} would hide the key {name!r}; expected another name")
        if name in taken:
            raise QueryError(
                f"the output {name!r} would hide the column {name!r} of every result; expected another name"
            )
        if not isinstance(operation, Operation):
            hint = f", such as ff.{operation.__name__}(...)" if isinstance(operation, type) else ""
            raise QueryError(f"the output {name!r} is {operation!r}; expected an aggregate operation{hint}")


def windows_of(
    windows: Sequence[Spec], outputs: Mapping[str, Operation]
) -> tuple[list[Spec], dict[str, tuple[int, ...]]]:
    """All windows of a query, and which of them each output is over: its own, or those of the query."""
    specs: dict[Spec, int] = {}
    over = {}
    for name, operation in outputs.items():
        if not isinstance(operation, Operation):
            hint = f", such as ff.{operation.__name__}(...)" if isinstance(operation, type) else ""
            raise QueryError(f"the output {name!r} is {operation!r}; expected an aggregate operation{hint}")
        if operation.has_inner_windows:
            raise QueryError(f"{name}={operation!r} has .over(...) inside; expected it on the whole output")
        for spec in operation.windows or windows:
            if not isinstance(spec, Spec):
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
