"""Ranges of the items of lists that follow one another: those with an item, in an order in which they move forward."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..states.arrays import Index, Ints


class ItemRanges:
    """Ranges of items, and what is asked of all of them; each found when it is first asked for.

    Those without an item are left out, and those that are left are put in an order in which both ends ascend, where
    there is one.

    Parameters
    ----------
    offsets
        Where the items of each state begin, and where the last ones end, shape (states + 1,).
    low, high
        Half-open ranges of states, shape (ranges,), in any order.

    Attributes
    ----------
    filled
        Which of the ranges have an item, in the order of ``begin`` and ``end``.
    items
        The slice of items that they are in.
    begin, end
        Their half-open ranges of items, counted from the first of this slice.

    Examples
    --------
    >>> ranges = ItemRanges(np.array([0, 2, 2, 5]), np.array([1, 0, 1]), np.array([3, 2, 2]))
    >>> ranges.filled, ranges.begin, ranges.end, ranges.ascending
    (array([1, 0]), array([0, 2]), array([2, 5]), True)
    """

    def __init__(self, offsets: Ints, low: Ints, high: Ints) -> None:
        begin, end = offsets[low], offsets[high]
        self.count = len(low)
        self.filled: Index = np.flatnonzero(end > begin)
        if len(self.filled) < self.count:
            begin, end = begin[self.filled], end[self.filled]
        if not (ascends(begin) and ascends(end)):
            order = np.lexsort((end, begin))
            begin, end, self.filled = begin[order], end[order], self.filled[order]
        self.items = slice(0, 0)
        if len(begin):
            self.items = slice(int(begin[0]), int(end.max()))
            if begin[0]:
                begin, end = begin - begin[0], end - begin[0]
        self.begin, self.end = np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(end, np.int64)

    @property
    def size(self) -> int:
        """The number of items that the ranges are in."""
        return self.items.stop - self.items.start

    @cached_property
    def ascending(self) -> bool:
        """Whether both ends ascend, so that an item enters once and leaves once."""
        return ascends(self.end)

    @cached_property
    def groups(self) -> Ints:
        """The first item of each group of ranges that have no item in common with those of others."""
        past = self.end if self.ascending else np.maximum.accumulate(self.end)
        fresh = self.begin[1:] >= past[:-1]
        return np.concatenate([self.begin[:1], self.begin[1:][fresh]])

    def sums(self, weights: Ints | None) -> Ints:
        """The weight of the items of each range; their number where None."""
        if weights is None:
            return self.end - self.begin
        before: Ints = np.concatenate([[0], np.cumsum(weights)])
        return before[self.end] - before[self.begin]

    @property
    def places(self) -> Ints:
        """The place of each range, as they were given, among those with an item; -1 for others."""
        return self.spread(np.arange(len(self.filled)), -1)

    def spread(self, values: NDArray[Any], rest: Any = 0) -> NDArray[Any]:
        """The values of the ranges with an item, and ``rest`` for others, in the order in which they were given."""
        if len(values) == self.count and ascends(self.filled):
            return values
        found = np.full(self.count, rest, values.dtype)
        found[self.filled] = values
        return found


def ascends(values: Ints) -> bool:
    """Whether no value is below the one before it."""
    return not (values[1:] < values[:-1]).any()


def is_range(places: Ints) -> bool:
    """Whether places are 0, 1, 2 and so on."""
    return bool((places == np.arange(len(places))).all())
