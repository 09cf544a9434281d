"""What the columns beside rows are made of: values of outputs, each over one kind of windows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import Operation
from ...aggregators.errors import QueryError
from ...aggregators.states.large import one_array
from .window_inputs import own_name


@dataclass(frozen=True)
class Taken:
    """The values of an output over one kind of windows: a spec, or its number on the axis."""

    output: str
    windows: Any


@dataclass(frozen=True)
class Joined:
    """Values that an operation joins, such as a quotient of two; it has no state of its own."""

    operation: Any
    parts: Mapping[str, Cell]


Cell: TypeAlias = Taken | Joined


def parts_of(columns: Mapping[str, Operation], windows: Sequence[Any]) -> tuple[dict[str, Operation], dict[str, Cell]]:
    """The outputs that columns are made of, each over all windows that any column has it over, so with one state.

    Parameters
    ----------
    columns
        The operations of columns, or of their parts, over one kind of windows each.
    windows
        Those of the query, where an operation has none of its own.

    Returns
    -------
    The outputs, and what each column is made of.
    """
    outputs: dict[str, Operation] = {}
    known: dict[Hashable, str] = {}  # by what they compute
    used: set[str] = set()

    def cell(name: str, operation: Operation) -> Cell:
        if operation.has_inner_windows and operation.joins_results:
            named = {part: cell(f"{name}.{part}", each) for part, each in operation.parts_joined().items()}
            return Joined(operation, named)
        own = operation.windows or (None,)
        if any(each != own[0] for each in own):
            raise QueryError(
                f"with_columns({name}={operation!r}) is over {len(own)} kinds of windows, which give an event as many "
                f"values; expected one kind, or an output for each: {operation!r}.over(...)"
            )
        computed = operation.computes()
        if (before := known.get(computed)) is not None:
            outputs[before] = outputs[before].over(*outputs[before].windows, *operation.windows)
            return Taken(before, own[0])
        if name.lower() in used:
            name = own_name(name, outputs)
        known[computed], outputs[name] = name, operation
        used.add(name.lower())
        return Taken(name, own[0])

    cells = {name: cell(name, each.with_windows(lambda own: own or tuple(windows))) for name, each in columns.items()}
    return outputs, cells


def bound_cell(cell: Cell, numbers: Mapping[Any, int], bind: Callable[[], BoundAggregate]) -> Cell:
    """A cell of kinds of windows by their numbers; ``bind`` gives the bound operation, where it joins others."""
    if isinstance(cell, Taken):
        return Taken(cell.output, numbers[cell.windows])
    bound = bind()
    inner = bound.joined_parts
    return Joined(
        bound, {name: bound_cell(part, numbers, partial(inner.__getitem__, name)) for name, part in cell.parts.items()}
    )


def values_of(cell: Cell, taken: Callable[[Taken], pa.Array]) -> pa.Array:
    """The values of a cell of bound operations, made of those that ``taken`` gives."""
    if isinstance(cell, Taken):
        return taken(cell)
    joined: pa.Array = cell.operation.joined(
        {name: one_array(values_of(part, taken)) for name, part in cell.parts.items()}
    )
    return joined
