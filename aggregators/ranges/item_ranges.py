"""Ranges of the items of lists that follow one another: those with an item, in an order in which they move forward."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import loops
from ..loops import by_numpy
from ..states.alike import are_numbers
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
    ascending
        Whether neither end of a range is below that of the range before it; None where this is not known.

    Attributes
    ----------
    in_order
        Whether these are as they were given.
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

    def __init__(self, offsets: Ints, low: Ints, high: Ints, ascending: bool | None = None) -> None:
        one_each = offsets[-1] == len(offsets) - 1 and are_numbers(offsets)  # an item for each state
        begin, end = (low, high) if one_each else (offsets[low], offsets[high])
        self.count = len(low)
        filled: Index | None = None  # all, as they are
        if not (end > begin).all():
            filled = np.flatnonzero(end > begin)
            begin, end = begin[filled], end[filled]
        if ascending:  # which ends of items are, too
            self.ascending = True
        self.in_order = bool(ascending) or (ascends(begin) and ascends(end))
        if not self.in_order:
            order = np.lexsort((end, begin))
            begin, end, filled = begin[order], end[order], order if filled is None else filled[order]
        self._filled = filled
        self.items = slice(0, 0)
        if len(begin):
            self.items = slice(int(begin[0]), int(end[-1] if ascending else end.max()))
            if begin[0]:
                begin, end = begin - begin[0], end - begin[0]
        self.begin, self.end = np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(end, np.int64)

    @cached_property
    def filled(self) -> Index:
        """Which of the ranges have an item, in the order of ``begin`` and ``end``."""
        return np.arange(self.count) if self._filled is None else self._filled

    @property
    def whole(self) -> bool:
        """Whether each of the ranges has an item, and they are as they were given."""
        return self.in_order and len(self.begin) == self.count

    @property
    def size(self) -> int:
        """The number of items that the ranges are in."""
        return self.items.stop - self.items.start

    @cached_property
    def ascending(self) -> bool:
        """Whether both ends ascend, so that an item enters once and leaves once."""
        return ascends(self.end)

    @property
    def swept(self) -> bool:
        """Whether a compiled loop takes in and leaves out item after item; numpy, which cannot, asks all ranges."""
        return loops.compiled and self.ascending

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
        if self.whole:
            return values
        found = np.full(self.count, rest, values.dtype)
        found[self.filled] = values
        return found


def ascends(values: Ints) -> bool:
    """Whether no value is below the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def rises(values: Ints) -> bool:
    """Whether each value is above the one before it."""
    return bool((values[1:] > values[:-1]).all())


def ascends_in_groups(values: Ints, ranges: ItemRanges) -> bool:
    """Whether no value is below the one before it, except at the first item of a group of ranges."""
    if ascends(values):
        return True
    fresh = np.zeros(len(values), bool)
    fresh[ranges.groups] = True
    return bool((fresh[1:] | (values[1:] >= values[:-1])).all())


def offsets_of(ranges: ItemRanges, most: int | None = None) -> Ints:
    """Where the items of each range begin in a list of them all, and where those of the last one end.

    ``most`` is how many items of each range count, at most.
    """
    offsets = np.zeros(len(ranges.begin) + 1, np.int64)
    lengths = ranges.end - ranges.begin
    np.cumsum(lengths if most is None else np.minimum(lengths, most), out=offsets[1:])
    return offsets


def items_of(values: NDArray[Any], ranges: ItemRanges, offsets: Ints, *, last: bool = False) -> NDArray[Any]:
    """The values of the first or the last items of each range, as many as there is room between offsets.

    >>> ranges = ItemRanges(np.arange(4), np.array([0, 1]), np.array([2, 3]))
    >>> items_of(np.array([5, 6, 7]), ranges, offsets_of(ranges))
    array([5, 6, 6, 7])
    """
    found: NDArray[Any] = np.empty(offsets[-1], values.dtype)
    edges = ranges.end if last else ranges.begin
    if values.dtype == object:
        by_numpy.items_of_ranges(values, edges, last, offsets, found)
    else:
        word = f"i{values.itemsize}"
        loops.items_of_ranges(np.ascontiguousarray(values).view(word), edges, last, offsets, found.view(word))
    return found
