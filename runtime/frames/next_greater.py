"""For each row of a key the next row above it by a margin; the chain of these links.

Delta eviction drops a row at the next row above it; a delta trigger fires at the rows reached.
"""

from __future__ import annotations

from math import floor, isinf
from typing import cast

import numpy as np

from ...aggregators.states.arrays import Bools, Floats, Ints

Values = Ints | Floats


def first_above(values: Values, starts: Ints, margin: float) -> Ints:
    """For each row the first later row of its key that is above it by more than a margin.

    Every row climbs a tree of maxima from its right neighbour until a node has such a value, and goes down again to
    the first row with one (the nearest larger values of O. Berkman, B. Schieber and U. Vishkin, "Optimal doubly
    logarithmic parallel algorithms based on finding all nearest smaller values", 1993): O(n log n) work in O(log n)
    whole-array steps.

    Parameters
    ----------
    values
        One value a row, shape (rows,), of type int64 or float64, in order within each key. The difference ``later -
        earlier`` is taken in float64 for floats, and is exact for integers. NaN is above every other value by any
        margin, and nothing is above NaN.
    starts
        The first row of each key, ascending from 0, shape (keys,).
    margin
        What a later value must exceed the earlier one by, in the unit of the values; 0 or more.

    Returns
    -------
    The number of that row, shape (rows,); where there is none, that of the row past the key's last.

    Examples
    --------
    >>> first_above(np.array([1, 3, 2, 4, 1, 9]), np.array([0, 4]), 1).tolist()
    [1, 4, 3, 4, 5, 6]
    """
    count = len(values)
    ends = ends_of(starts, count)
    tree = [values]
    while len(tree[-1]) > 1:
        below = tree[-1]
        # A maximum is NaN where one of the two is.
        tree.append(np.append(np.maximum(below[0:-1:2], below[1::2]), below[len(below) // 2 * 2 :]))
    found, level = np.full(count, count), np.full(count, -1)
    row, node = np.arange(count), np.arange(1, count + 1)
    for height, maxima in enumerate(tree):
        going = node << height < ends[row]
        row, node = row[going], node[going]
        # A left node is not looked at here: with its neighbour it makes up one of the next level.
        right = np.flatnonzero(node & 1)
        has = right[above(maxima[node[right]], values[row[right]], margin)]
        found[row[has]], level[row[has]] = node[has], height
        going = np.ones(len(row), bool)
        going[has] = False
        row, node = row[going], (node[going] + 1) >> 1
    for height in range(len(tree) - 2, -1, -1):
        row = np.flatnonzero(level > height)
        left = 2 * found[row]
        found[row] = left + ~above(tree[height][left], values[row], margin)
    return cast(Ints, np.minimum(found, ends))


def ends_of(starts: Ints, rows: int) -> Ints:
    """For each row, one past the last row of its key."""
    bounds = np.append(starts, rows)
    return np.repeat(bounds[1:], np.diff(bounds))


def above(later: Values, earlier: Values, margin: float) -> Bools:
    """Whether values are above others by more than a margin."""
    if later.dtype.kind == "f":
        with np.errstate(all="ignore"):
            higher: Bools = later - earlier > margin
        return higher | (np.isnan(later) & ~np.isnan(earlier))
    if isinf(margin) or floor(margin) >= 2**64 - 1:
        return np.zeros(len(later), bool)
    # The difference of two int64, the larger one first, always fits in uint64, where it comes out right modulo 2**64.
    by = later.view(np.uint64) - earlier.view(np.uint64)
    return (later > earlier) & (by > np.uint64(floor(margin)))


def chain(following: Ints, starts: Ints, begin: Ints | None = None) -> Bools:
    """The rows reached from some rows by following links, link after link.

    By pointer doubling (J. C. Wyllie, "The complexity of parallel computations", 1979): O(n log n) work in O(log n)
    whole-array steps.

    Parameters
    ----------
    following
        For each row a later row of its key, or the row past the key's last where none follows, shape (rows,).
    starts
        The first row of each key, ascending from 0, shape (keys,).
    begin
        The rows where it begins; the first one of each key where None.

    Returns
    -------
    Whether each row is reached, shape (rows,); those where it begins always are.

    Examples
    --------
    >>> chain(np.array([2, 2, 3, 4, 5, 6]), np.array([0, 4])).tolist()
    [True, False, True, True, True, True]
    """
    count = len(following)
    ends = ends_of(starts, count)
    reached = np.zeros(count, bool)
    jump = np.append(np.where(following < ends, following, count), count)
    rows = np.asarray(starts if begin is None else begin)
    while len(rows):
        reached[rows] = True
        # After k steps jump leads 2**k rows on, and the first 2**k rows of each chain are reached.
        further = jump[rows]
        further = further[further < count]
        rows = np.concatenate([rows, further]) if len(further) else further
        jump = jump[jump]
    return reached
