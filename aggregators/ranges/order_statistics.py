"""The code at a rank of each range: by a sweep where ranges move forward, otherwise by a wavelet matrix.

F. Claude, G. Navarro and A. Ordóñez, "The wavelet matrix: an efficient wavelet tree for large alphabets", 2015. All
ranges go down its levels at once, so that only one level is there at a time.
"""

from __future__ import annotations

import numpy as np

from .. import loops
from ..states.arrays import Ints
from .codes import Codes, Int32s
from .item_ranges import ItemRanges


def select(codes: Codes, weights: Ints | None, ranges: ItemRanges, ranks: Ints) -> tuple[Int32s, Int32s]:
    """The code at a rank of each range, counted from 0, and the code at the next rank, or at the last one.

    Parameters
    ----------
    codes
        The items.
    weights
        How many of its value each item stands for; one where None.
    ranges
        The ranges of items.
    ranks
        One for each range with an item, shape (ranges,), below the weight of its items.

    Examples
    --------
    >>> ranges = ItemRanges(np.arange(6), np.array([0, 1]), np.array([3, 5]))
    >>> codes = Codes(np.array([2, 0, 1, 3, 0], np.int32), np.arange(4), np.arange(5))
    >>> select(codes, None, ranges, np.array([1, 2]))
    (array([1, 1], dtype=int32), array([2, 3], dtype=int32))
    """
    if ranges.swept:
        found, following = np.empty((2, len(ranks)), np.int32)
        loops.select(codes.code, weights, len(codes.first), ranges.begin, ranges.end, ranks, found, following)
        return found, following
    last = ranges.sums(weights) - 1
    return at_rank(codes, weights, ranges, ranks), at_rank(codes, weights, ranges, np.minimum(ranks + 1, last))


def at_rank(codes: Codes, weights: Ints | None, ranges: ItemRanges, ranks: Ints) -> Int32s:
    """The code at a rank of each range, by a wavelet matrix: log2(codes) passes over items and ranges."""
    code, begin, end, found = codes.code, ranges.begin, ranges.end, np.zeros(len(ranks), np.int32)
    for bit in reversed(range((len(codes.first) - 1).bit_length())):
        upper = (code >> bit & 1).astype(bool)
        zeros = np.concatenate([[0], np.cumsum(~upper)])
        before = zeros if weights is None else np.concatenate([[0], np.cumsum(np.where(upper, 0, weights))])
        below = before[end] - before[begin]
        right = ranks >= below
        ranks = np.where(right, ranks - below, ranks)
        begin, end = (np.where(right, zeros[-1] + at - zeros[at], zeros[at]) for at in (begin, end))
        found |= right.astype(np.int32) << bit
        code = np.concatenate([code[~upper], code[upper]])
        weights = None if weights is None else np.concatenate([weights[~upper], weights[upper]])
    return found


def count_below(values: Ints, ranges: ItemRanges, limits: Ints) -> Ints:
    """How many items of each range have a value below a limit; by a wavelet matrix over the values.

    Parameters
    ----------
    values
        Integers from 0 on, one for each item.
    ranges
        The ranges of items.
    limits
        One for each range with an item, from 0 on.
    """
    begin, end, found = ranges.begin, ranges.end, np.zeros(len(limits), np.int64)
    bits = int(values.max(initial=0)).bit_length()
    if (all_below := limits >> bits > 0).any():
        limits = np.where(all_below, 0, limits)
    for bit in reversed(range(bits)):
        upper = (values >> bit & 1).astype(bool)
        zeros = np.concatenate([[0], np.cumsum(~upper)])
        right = (limits >> bit & 1).astype(bool)
        found += np.where(right, zeros[end] - zeros[begin], 0)
        begin, end = (np.where(right, zeros[-1] + at - zeros[at], zeros[at]) for at in (begin, end))
        values = np.concatenate([values[~upper], values[upper]])
    return np.where(all_below, ranges.end - ranges.begin, found)
