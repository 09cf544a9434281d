"""The extremes of each group, by a compiled loop or by numpy.

NaN is above every other value, as in Spark SQL; there is one NaN and one zero, 0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .. import loops
from ..states.arrays import Index, Ints

AnyArray = NDArray[Any]

LOOPED = frozenset(map(np.dtype, (np.float64, np.float32, np.int64, np.int32)))


def least(values: Any, index: Index, size: int) -> Any:
    """The least value of each group, of numbers or of an Arrow array; any value for a group without a row."""
    if isinstance(values, pa.Array):
        return by_rank(values, index, size, np.minimum)
    if values.dtype not in LOOPED:
        # np.minimum is faster than np.fmin, which leaves out NaN.
        plain = values.dtype.kind != "f" or not np.isnan(np.min(values, initial=np.inf))
        return by_numpy(values, index, size, np.minimum if plain else np.fmin)
    found = np.full(size, np.nan if values.dtype.kind == "f" else np.iinfo(values.dtype).max, values.dtype)
    loops.take_extremes(np.ascontiguousarray(values), np.ascontiguousarray(index), True, found)
    return canonical(found)


def greatest(values: Any, index: Index, size: int) -> Any:
    """The greatest value of each group, of numbers or of an Arrow array; any value for a group without a row."""
    if isinstance(values, pa.Array):
        return by_rank(values, index, size, np.maximum)
    if values.dtype not in LOOPED:
        return by_numpy(values, index, size, np.maximum if values.dtype.kind == "f" else np.fmax)
    found = np.full(size, -np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).min, values.dtype)
    loops.take_extremes(np.ascontiguousarray(values), np.ascontiguousarray(index), False, found)
    return canonical(found)


def canonical(values: AnyArray) -> AnyArray:
    """Values, of floats with one zero and one NaN: which of equal ones was picked must not show.

    >>> canonical(np.array([-0.0, 1.5])).tolist()
    [0.0, 1.5]
    """
    if values.dtype.kind != "f":
        return values
    found: AnyArray = values + values.dtype.type(0)  # -0.0 + 0.0 is 0.0
    found[np.isnan(found)] = np.nan
    return found


def by_numpy(values: AnyArray, index: Index, size: int, choose: np.ufunc) -> AnyArray:
    """The reduction of each group by a function that chooses one of two values."""
    found = np.zeros(size, values.dtype)
    found[index] = values  # any value of each group to begin with
    choose.at(found, index, values)
    return canonical(found)


def by_rank(values: pa.Array, index: Index, size: int, choose: np.ufunc) -> pa.Array:
    """The least or the greatest value of each group, found among the ranks of values."""
    ranks, ordered = ranked(values)
    return ordered.take(pa.array(by_numpy(ranks, index, size, choose)))


def ranked(values: pa.Array) -> tuple[Ints, pa.Array]:
    """The ranks of values among the distinct ones, and these in order."""
    codes = values.dictionary_encode()
    order = pc.array_sort_indices(codes.dictionary)
    rank = np.empty(len(order), np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    return rank[codes.indices.to_numpy()], codes.dictionary.take(order)
