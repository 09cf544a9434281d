"""The stable order of integers."""

from __future__ import annotations

import numpy as np

from .. import loops
from ..states.arrays import Index, Ints
from ..tuning import MIN_SORTED_ROWS


def stable_order(values: Ints) -> Index:
    """The order of int64 values, those of equal ones as they came.

    >>> stable_order(np.array([3, 1, 3, -2]))
    array([3, 1, 0, 2])
    """
    if not MIN_SORTED_ROWS <= len(values) < 1 << 31:
        return np.argsort(values, kind="stable")
    order = np.empty(len(values), np.intp)
    loops.order_values(np.ascontiguousarray(values), order)
    return order


def order_of_groups(groups: Ints, size: int) -> Index:
    """The stable order of numbers from 0 to below ``size``."""
    order = np.empty(len(groups), np.intp)
    loops.order_codes(np.ascontiguousarray(groups, np.int64), np.zeros(size + 1, np.int64), order)
    return order
