"""States by their rows: some of them, several one after the other, some replaced by others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compensated import Compensated
from .fields import Column, Rows, concatenate
from .limbs import Exact

State = Mapping[str, Any]


def take(states: State, rows: Rows) -> State:
    """The states at some rows."""
    return {key: column[rows] for key, column in states.items()}


def join(several: list[State]) -> State:
    """States one after the other."""
    return {key: concatenate([states[key] for states in several]) for key in several[0]}


def replace(states: State, rows: NDArray[np.intp], other: State) -> State:
    """The states, with others at some rows."""
    count = len(next(iter(states.values())))
    if len(rows) == count:
        return other
    source = np.arange(count)
    source[rows] = count + np.arange(len(rows))
    return take(join([states, other]), source)


def replace_in_place(states: State, rows: NDArray[np.intp], other: State) -> State:
    """The same for states that nothing else refers to: without a copy where all columns are arrays of numbers."""
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
