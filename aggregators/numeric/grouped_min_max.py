"""The least and the greatest value of each group, by a compiled loop where there is one for the type, or by numpy.

NaN is above every other value, as in Spark SQL.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..states.arrays import Index
from .native import loops

Numbers = NDArray[Any]

LOOPED = frozenset(map(np.dtype, (np.float64, np.float32, np.int64, np.int32)))


def least(values: Numbers, index: Index, size: int) -> Numbers:
    """The least value of each group; any value for a group without a row."""
    if loops is None or values.dtype not in LOOPED:
        # np.minimum takes half as long as np.fmin, which leaves out NaN.
        plain = values.dtype.kind != "f" or not np.isnan(np.min(values, initial=np.inf))
        return by_numpy(values, index, size, np.minimum if plain else np.fmin)
    found = np.full(size, np.nan if values.dtype.kind == "f" else np.iinfo(values.dtype).max, values.dtype)
    loops.take_least(np.ascontiguousarray(values), np.ascontiguousarray(index), found)
    return found


def greatest(values: Numbers, index: Index, size: int) -> Numbers:
    """The greatest value of each group; any value for a group without a row."""
    if loops is None or values.dtype not in LOOPED:
        return by_numpy(values, index, size, np.maximum if values.dtype.kind == "f" else np.fmax)
    found = np.full(size, -np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).min, values.dtype)
    loops.take_greatest(np.ascontiguousarray(values), np.ascontiguousarray(index), found)
    return found


def by_numpy(values: Numbers, index: Index, size: int, choose: np.ufunc) -> Numbers:
    """What a function of two values chooses of each group."""
    found = np.zeros(size, values.dtype)
    found[index] = values  # any value of each group to begin with
    choose.at(found, index, values)
    return found
