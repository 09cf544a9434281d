"""States by their rows: some of them, several one after the other, some replaced by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from .arrays import Index
from .fields import Column, Compensated
from .limbs import Exact

State = Mapping[str, Any]
Rows: TypeAlias = Index | slice


def take(states: State, rows: Rows) -> State:
    """The states at some rows."""
    return {key: column[rows] for key, column in states.items()}


def join(several: list[State]) -> State:
    """States one after the other."""
    return {key: concatenate([states[key] for states in several]) for key in several[0]}


def replace(states: State, rows: Index, other: State) -> State:
    """The states, with others at some rows."""
    count = len(next(iter(states.values())))
    if len(rows) == count:
        return other
    source = np.arange(count)
    source[rows] = count + np.arange(len(rows))
    return take(join([states, other]), source)


def replace_in_place(states: State, rows: Index, other: State) -> State:
    """:func:`replace` for states that nothing else refers to: in place where all columns are arrays of numbers."""
    pairs = [(_arrays(column), _arrays(other[key])) for key, column in states.items()]
    if not all(len(mine) == len(theirs) > 0 for mine, theirs in pairs):
        return replace(states, rows, other)
    for mine, theirs in pairs:
        for array, values in zip(mine, theirs, strict=True):
            array[rows] = values
    return states


def _arrays(column: Column) -> list[NDArray[Any]]:
    """The arrays of numbers that a column is made of; none where it has others too."""
    if isinstance(column, Compensated):
        return [column.high, column.low] if column.special_values is None else []
    if isinstance(column, Exact):
        return list(column.limbs)
    return [column] if isinstance(column, np.ndarray) else []


def concatenate(columns: Sequence[Column]) -> Column:
    """Columns of one field, one after the other."""
    first: Any = columns[0]
    if len(columns) == 1:
        return columns[0]
    return type(first).concatenate(columns) if hasattr(first, "concatenate") else np.concatenate(cast(Any, columns))


def _place(length: int, rows: Index, values: NDArray[Any], rest: NDArray[Any]) -> NDArray[Any]:
    found = np.full(length, rest[0] if len(rest) else 0, rest.dtype)
    found[rows] = values
    return found


def place(length: int, rows: Index, column: Column, rest: Column) -> Column:
    """A column of a length that has ``column`` at some rows and the one value of ``rest`` (length 1) elsewhere."""
    if isinstance(column, np.ndarray) and isinstance(rest, np.ndarray) and column.dtype == rest.dtype != object:
        return _place(length, rows, column, rest)
    if isinstance(column, Compensated) and isinstance(rest, Compensated) and column.special_values is None:
        return Compensated(_place(length, rows, column.high, rest.high), _place(length, rows, column.low, rest.low))
    source = np.zeros(length, np.intp)
    source[rows] = np.arange(1, len(rows) + 1)
    return concatenate([rest, column])[source]
