"""The distinct codes of each range of rows.

A code counts where it is first in a range, so an item counts in a run of ranges: from the one that has it and not the
item of this code before, to the last one that has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import loops
from ..states.arrays import Ints
from ..states.memory import require_memory
from .codes import Codes, Int32s
from .item_ranges import ItemRanges
from .order_statistics import count_below

ITEM_BYTES = 24
"""The bytes of a listed item, at least: its place, its value and its weight."""


class Listed(NamedTuple):
    """The codes of ranges, ascending, one range after the other.

    ``lengths`` has how many each range has, ``code`` and ``weight`` have one for each of them.
    """

    lengths: Ints
    code: Int32s
    weight: Ints | None


def count_distinct(codes: Codes, ranges: ItemRanges) -> Ints:
    """The number of codes of each range.

    >>> ranges = ItemRanges(np.arange(5), np.array([0, 1]), np.array([3, 4]))
    >>> count_distinct(Codes(np.array([1, 0, 1, 1], np.int32), np.array([1, 0]), np.array([1, 0, 2, 3])), ranges)
    array([2, 2])
    """
    if ranges.swept:
        found = np.empty(len(ranges.begin), np.int64)
        loops.count_distinct(codes.code, len(codes.first), ranges.begin, ranges.end, found)
        return found
    if not ranges.ascending:
        return count_below(before(codes) + 1, ranges, ranges.begin + 1)
    first, last = runs(codes, ranges)
    some = first <= last
    size = len(ranges.begin) + 1
    change = np.bincount(first[some], minlength=size) - np.bincount(last[some] + 1, minlength=size)
    return np.cumsum(change)[:-1]


def before(codes: Codes) -> Ints:
    """The item of the same code before each item; -1 where there is none."""
    found = np.full(len(codes.code), -1, np.int64)
    ordered = codes.code[codes.order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    found[codes.order[same + 1]] = codes.order[same]
    return found


def runs(codes: Codes, ranges: ItemRanges) -> tuple[Ints, Ints]:
    """The first and the last range in which each item is the first of its code; the first above the last if in none.

    The ranges must be ascending.
    """
    size = ranges.size
    ended, begun = (np.cumsum(np.bincount(at, minlength=size + 1)) for at in (ranges.end, ranges.begin))
    begun = np.concatenate([[0], begun[:size]])
    return np.maximum(ended[:size], begun[before(codes) + 1]), begun[1:] - 1


def list_codes(
    codes: Codes, weights: Ints | None, ranges: ItemRanges, *, most: int | None = None, counted: bool = False
) -> Listed | None:
    """The codes of each range, ascending, and their weights if ``counted``; None where no sweep can list them.

    Parameters
    ----------
    codes, weights, ranges
        The items, how many of its value each stands for (one where None), and ranges of items.
    most
        How many of the least codes are listed, of items that have a code each; all where None.
    counted
        Whether weights are wanted.
    """
    if not ranges.swept:
        return None
    lengths = count_distinct(codes, ranges) if most is None else np.minimum(ranges.end - ranges.begin, most)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    require_memory(int(offsets[-1]), ITEM_BYTES)
    code = np.empty(int(offsets[-1]), np.int32)
    weight = np.empty(len(code), np.int64) if counted else None
    loops.list_codes(codes.code, weights, len(codes.first), ranges.begin, ranges.end, offsets, code, weight)
    return Listed(lengths, code, weight)


def most_frequent(codes: Codes, weights: Ints | None, ranges: ItemRanges) -> Int32s | None:
    """The code of each range whose items weigh most, the least of several; None where no sweep can tell."""
    if not ranges.swept:
        return None
    found = np.empty(len(ranges.begin), np.int32)
    loops.most_frequent(codes.code, weights, len(codes.first), ranges.begin, ranges.end, found)
    return found
