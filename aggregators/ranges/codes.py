"""Values as codes, dense numbers in their order; those of ranges that have nothing in common are apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import loops
from ..states.arrays import Index, Ints
from .item_ranges import ItemRanges

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
    code, (first, order) = np.empty(len(values), np.int32), np.empty((2, len(values)), np.intp)
    count = loops.code_groups(np.ascontiguousarray(values), ranges.groups, distinct, code, first, order)
    return Codes(code, first[:count], order)
