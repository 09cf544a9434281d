"""Values as codes, dense numbers in their order; those of ranges that have nothing in common are apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..states.arrays import Index, Ints
from .item_ranges import ItemRanges
from .native import loops
from .ordering import order_of_groups, stable_order

Int32s = NDArray[np.int32]


class Codes(NamedTuple):
    """Items by their codes.

    Parameters
    ----------
    code
        That of each item, int32, shape (items,).
    first
        The first item of each code, shape (codes,).
    order
        The items by code, those of one code in their order, shape (items,).
    """

    code: Int32s
    first: Index
    order: Index


def codes_of(values: Ints, ranges: ItemRanges, *, distinct: bool = True) -> Codes:
    """The codes of values: ascending from each group of ranges to the next, and in a group as the values are.

    Parameters
    ----------
    values
        Integers, one for each of the items that the ranges are in.
    ranges
        The ranges.
    distinct
        Whether equal values of a group have one code; otherwise each item has its own, in the order of items.

    Examples
    --------
    >>> ranges = ItemRanges(np.arange(6), np.array([0, 2]), np.array([2, 5]))
    >>> codes_of(np.array([7, 7, 9, 5, 9]), ranges).code
    array([0, 0, 2, 1, 2], dtype=int32)
    """
    starts = ranges.groups
    if loops is not None and len(values) < 1 << 31:
        code, (first, order) = np.empty(len(values), np.int32), np.empty((2, len(values)), np.intp)
        count = loops.code_groups(np.ascontiguousarray(values), starts, distinct, code, first, order)
        return Codes(code, first[:count], order)
    order = stable_order(values)
    group = None
    if len(starts) > 1:
        mark = np.zeros(len(values), np.int64)
        mark[starts[1:]] = 1
        group = np.cumsum(mark)
        order = order[order_of_groups(group[order], len(starts))]
    if not distinct:
        first = order
        number = np.arange(len(order), dtype=np.int32)
    else:
        ordered = values[order]
        fresh = np.ones(len(order), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
        if group is not None:
            groups = group[order]
            fresh[1:] |= groups[1:] != groups[:-1]
        first = order[fresh]
        number = np.cumsum(fresh, dtype=np.int32)
        number -= 1
    code = np.empty(len(order), np.int32)
    code[order] = number
    return Codes(code, first, order)
