"""Sliding by numpy functions, for operations that say which one joins each field of their states.

Sums are differences of running sums (:mod:`framefold.runtime.sliding.prefix_sums`); what may be joined twice is joined
from overlapping spans (:mod:`framefold.runtime.sliding.sparse_table`).
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
from .prefix_sums import float_sums, int_sums
from .range_blocks import Block, Ints, Workspace, blocks
from .sparse_table import extremes

IDEMPOTENT = (
    np.minimum, np.maximum, np.fmin, np.fmax, np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or,
)  # fmt: skip
"""Functions that give a value if they join it with itself."""


def has_kernels(operation: BoundAggregate) -> bool:
    """Whether all fields of an operation have a kernel."""
    functions = operation.ufuncs
    return bool(functions) and all(_has_kernel(kind, functions.get(key)) for key, kind in operation.fields.items())


def _has_kernel(kind: Field, function: Any) -> bool:
    if isinstance(kind, Plain):
        return function in IDEMPOTENT or (function is np.add and kind.dtype.kind in "iu")
    return function is np.add and isinstance(kind, (CompensatedField, ExactField))


def by_kernels(
    operation: BoundAggregate, states: State, low: Ints, high: Ints, first: Ints
) -> tuple[State, NDArray[np.intp]]:
    """The states of windows, and the windows whose floats must be summed in another way.

    Parameters
    ----------
    operation
        One that :func:`has_kernels`.
    states
        One state a row.
    low, high
        The half-open ranges of rows, shape (ranges,): both ascend, none is empty.
    first
        The first windows of their runs, of :func:`~framefold.runtime.sliding.range_blocks.runs_by_a_row`.
    """
    rounded: bool = getattr(operation.operation, "rounds", False)
    slid = {key: empty_like(column, len(low), rounded) for key, column in states.items()}
    doubtful = [np.empty(0, np.intp)]
    work = Workspace()
    for block in blocks(low, high, first):
        rows, windows = slice(block.begin, block.end), slice(block.first, block.last)
        for key, column in states.items():
            doubt = _slide(operation.ufuncs[key], column[rows], block, work, slid[key][windows])
            if doubt is not None:
                doubtful.append(np.flatnonzero(doubt) + block.first)
    return slid, np.unique(np.concatenate(doubtful))


def empty_like(column: Column, length: int, rounded: bool = False) -> Column:
    """An uninitialized column of the kind of another; where ``rounded``, sums of floats have low floats of 0."""
    if isinstance(column, Compensated):
        special = None if column.special_values is None else np.empty((length, column.special_values.shape[1]))
        return Compensated(np.empty(length), np.broadcast_to(0.0, length) if rounded else np.empty(length), special)
    if isinstance(column, Exact):
        return Exact([np.empty(length, np.int64) for _ in column.limbs])
    return np.empty(length, cast(NDArray[Any], column).dtype)


def _slide(function: np.ufunc, column: Column, block: Block, work: Workspace, out: Column) -> NDArray[np.bool_] | None:
    """One field of one block; which of its windows are doubtful, None where none is."""
    if isinstance(column, Compensated):
        return float_sums(column, block, work, cast(Compensated, out))
    if isinstance(column, Exact):
        for limb, sums in zip(column.limbs, cast(Exact, out).limbs, strict=True):
            int_sums(limb, block, work, sums)
    elif function is np.add:
        int_sums(cast(Any, column), block, work, cast(Any, out))
    else:
        extremes(cast(NDArray[Any], column), function, block, work, cast(NDArray[Any], out))
    return None
