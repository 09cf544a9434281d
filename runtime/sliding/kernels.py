"""Sliding in blocks, for operations that say which numpy function joins each field of their states.

Such a function has a kernel: sums are differences of running sums (:mod:`framefold.runtime.sliding.prefix_sums`),
whatever may be
joined twice is put together from spans of a power of two (:mod:`framefold.runtime.sliding.sparse_table`).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.compensated import Compensated
from ...aggregators.states.fields import Column, CompensatedField, ExactField, Field, Plain
from ...aggregators.states.limbs import Exact
from .prefix_sums import compensated_differences, differences, special_differences
from .range_blocks import Block, Ints, Places, Workspace
from .sparse_table import extremes

JOINED_TWICE = (
    np.minimum, np.maximum, np.fmin, np.fmax, np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or,
)  # fmt: skip
"""Functions that a value may go through twice."""


def has_kernels(operation: BoundAggregate) -> bool:
    """Whether all fields of an operation have a kernel."""
    functions = operation.ufuncs
    return bool(functions) and all(_has_kernel(kind, functions.get(key)) for key, kind in operation.fields.items())


def _has_kernel(kind: Field, function: Any) -> bool:
    if isinstance(kind, Plain):
        return function in JOINED_TWICE or (function is np.add and kind.dtype.kind in "iu")
    return function is np.add and isinstance(kind, (CompensatedField, ExactField))


def by_kernels(
    operation: BoundAggregate, states: State, low: Ints, high: Ints, of: list[Block]
) -> tuple[State, NDArray[np.intp]]:
    """The states of windows, block by block, and the windows whose floats must be added up in another way.

    Parameters
    ----------
    operation
        One that :func:`has_kernels`.
    states
        One state a row.
    low, high
        The ranges of rows of the windows.
    of
        The blocks of the ranges.
    """
    rounded: bool = getattr(operation.operation, "rounds", False)
    slid = {key: room(column, len(low), rounded) for key, column in states.items()}
    doubtful: list[NDArray[np.intp]] = []
    work, functions = Workspace(), operation.ufuncs
    for block in of:
        places = Places(block, low, high)
        rows, windows = slice(block.begin, block.end), slice(block.first, block.last)
        for key, column in states.items():
            function = functions[key]
            doubt = _slide(function, column[rows], places, work, slid[key][windows])
            if doubt is not None and doubt.any():
                doubtful.append(np.flatnonzero(doubt) + block.first)
    return slid, np.unique(np.concatenate(doubtful)) if doubtful else np.empty(0, np.intp)


def room(column: Column, length: int, rounded: bool = False) -> Column:
    """An empty column of the kind of another; for sums of floats that are to be rounded with one low float for all."""
    if isinstance(column, Compensated):
        special = None if column.special_values is None else np.empty((length, column.special_values.shape[1]))
        return Compensated(np.empty(length), np.broadcast_to(0.0, length) if rounded else np.empty(length), special)
    if isinstance(column, Exact):
        return Exact([np.empty(length, np.int64) for _ in column.limbs])
    return np.empty(length, cast(NDArray[Any], column).dtype)


def _slide(
    function: np.ufunc, column: Column, places: Places, work: Workspace, out: Column
) -> NDArray[np.bool_] | None:
    """One field of one block; which of its windows are doubtful, None where none is."""
    if isinstance(column, Compensated):
        assert isinstance(out, Compensated)
        doubt = compensated_differences(column, places, work, out)
        if column.special_values is None:
            return doubt
        assert out.special_values is not None
        huge = special_differences(column.special_values, places, work, out.special_values)
        return doubt if huge is None else huge if doubt is None else doubt | huge
    if isinstance(column, Exact):
        assert isinstance(out, Exact)
        for limb, sums in zip(column.limbs, out.limbs, strict=True):
            differences(limb, places, work, sums)
    elif function is np.add:
        differences(cast(Any, column), places, work, cast(Any, out))
    else:
        extremes(cast(NDArray[Any], column), function, places, work, cast(NDArray[Any], out))
    return None
