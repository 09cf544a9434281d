"""What sliding asks of window ranges: whether they ascend, where their runs begin, which tiles they have.

Most is known from the first windows of runs, in which both ends ascend by a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...aggregators import loops
from ...aggregators.ranges.item_ranges import ascends
from ...aggregators.states.alike import numbers
from ...aggregators.states.arrays import Index, Ints
from ..tuning import LONG_RUN_OF_WINDOWS, SCANNED_RANGES
from .tiles import Tile, tiles, tiles_in_any_order


class RangeFacts:
    """What sliding asks of window ranges, each found when it is first asked for: once for all outputs over them.

    Parameters
    ----------
    low, high
        The half-open ranges of rows, shape (ranges,); there is one at least.
    """

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high = low, high

    @classmethod
    def joined(cls, several: Sequence[RangeFacts]) -> RangeFacts:
        """Those of several sets of ranges, one after the other: without runs."""
        found = cls(np.concatenate([each.low for each in several]), np.concatenate([each.high for each in several]))
        found.first = numbers(len(found.low))
        return found

    @cached_property
    def first(self) -> Ints:
        """The first windows of their runs, of :func:`runs_by_a_row`."""
        return runs_by_a_row(self.low, self.high)

    @cached_property
    def none_empty(self) -> bool:
        """Whether no range is empty: in a run by a row, none is if the first one is not."""
        rows = self.first if LONG_RUN_OF_WINDOWS * len(self.first) < len(self.low) else slice(None)
        return bool((self.high[rows] > self.low[rows]).all())

    @cached_property
    def filled(self) -> tuple[Ints, RangeFacts]:
        """The ranges that are not empty: their places, and what is asked of them."""
        some = np.flatnonzero(self.high > self.low)
        return some, RangeFacts(self.low[some], self.high[some])

    @cached_property
    def in_runs(self) -> bool:
        """Whether most ranges begin a row after the one before, so that they slide faster than others."""
        others = len(self.low) - np.count_nonzero(np.diff(self.low) == 1)
        return bool(LONG_RUN_OF_WINDOWS * others < len(self.low))

    @cached_property
    def ascending(self) -> bool:
        """Whether no end of a range is below that of the range before it."""
        first = vars(self).get("first")  # which this alone does not need
        return ascending(self.low, first) and ascending(self.high, first)

    @cached_property
    def of_one_row(self) -> bool:
        """Whether each range is a single row."""
        return all(bool((self.high[some] - self.low[some] == 1).all()) for some in (slice(0, 64), slice(None)))

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first row of all ranges, and the one after their last."""
        if self.ascending:
            return int(self.low[0]), int(self.high[-1])
        return int(self.low.min()), int(self.high.max())

    @cached_property
    def tiles(self) -> list[Tile]:
        """Their tiles, where none is empty: of ranges in :attr:`order`."""
        return tiles(self.low, self.high, self.first) if self.ascending else self._in_any_order[1]

    @cached_property
    def order(self) -> Index | None:
        """The order of ranges in their tiles; None: as they are."""
        return None if self.ascending else self._in_any_order[0]

    @cached_property
    def _in_any_order(self) -> tuple[Index | None, list[Tile]]:
        return tiles_in_any_order(self.low, self.high)


def runs_by_a_row(low: Ints, high: Ints) -> Ints:
    """The first windows of runs, in each of which both ends ascend by a row; there is a window at least.

    >>> runs_by_a_row(np.array([0, 1, 4, 5]), np.array([2, 3, 6, 8]))
    array([0, 2, 3])
    """
    found = [np.zeros(1, np.int64)]
    for start in range(0, len(low) - 1, SCANNED_RANGES):
        lows, highs = low[start : start + 1 + SCANNED_RANGES], high[start : start + 1 + SCANNED_RANGES]
        steps = len(lows) - 1
        # Both ends ascend by a row each if they ascend in every step, and by as many rows as there are steps.
        by_a_row = lows[-1] - lows[0] == highs[-1] - highs[0] == steps
        if not (by_a_row and (lows[1:] > lows[:-1]).all() and (highs[1:] > highs[:-1]).all()):
            first = np.empty(len(lows), np.int64)
            count = loops.begin_runs(np.ascontiguousarray(lows), np.ascontiguousarray(highs), first)
            found.append(first[:count] + start)
    return np.concatenate(found)


def ascending(column: Ints, first: Ints | None = None) -> bool:
    """Whether no end of a range is below the one before it; where runs by a row are given, only their first can be.

    >>> ascending(np.array([0, 1, 2, 1]), np.array([0, 3]))
    False
    """
    if first is None or LONG_RUN_OF_WINDOWS * len(first) >= len(column):
        return ascends(column)
    return not (column[first[1:]] < column[first[1:] - 1]).any()
