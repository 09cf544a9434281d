"""Window ranges in runs, and in tiles whose rows and columns of work fit the cache.

Kernels pass over a tile several times; all passes but the first find its rows in the cache (M. S. Lam, E. E.
Rothberg and M. E. Wolf, "The cache performance and optimizations of blocked algorithms", 1991).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.ranges.item_ranges import ascends
from ...aggregators.states.arrays import Ints

TILE_WINDOWS, TILE_ROWS = 3 << 14, 3 << 15
"""The most windows and rows of a tile, unless its windows are wide."""

ROWS_PER_WIDTH = 4
"""The fewest rows of a tile, in widths of its widest window: rows that two tiles share are passed over twice."""

REGULAR_RUN = 1 << 12
"""The fewest windows of a run by a row that are worth a tile of their own among irregular ones."""

SCANNED_RANGES = 1 << 15
"""The ranges that are compared at a time."""

LONG_RUN = 8
"""Runs of more windows than this, on average, are checked at their first windows only."""


class Tile(NamedTuple):
    """Windows ``first`` to ``last`` (half-open), over rows ``begin`` to ``end``, none wider than ``widest`` rows.

    ``step`` is how many rows each window begins after the one before it, where that is constant and all have one
    width; otherwise 0. ``low`` and ``high`` are where windows begin and end, counted from ``begin``: slices where there
    is a step, otherwise of shape (windows,).
    """

    first: int
    last: int
    begin: int
    end: int
    step: int
    widest: int
    low: Ints | slice
    high: Ints | slice

    @property
    def length(self) -> int:
        """The number of windows."""
        return self.last - self.first

    def ranges(self) -> tuple[Ints, Ints]:
        """``low`` and ``high`` as rows."""
        if self.step:
            low = np.arange(0, self.length * self.step, self.step)
            return low, low + self.widest
        return cast(Ints, self.low), cast(Ints, self.high)


class RangeFacts:
    """What sliding asks of window ranges, each found when it is first asked for: once for all outputs over them.

    Parameters
    ----------
    low, high
        The half-open ranges of rows, shape (ranges,); there is one at least.
    """

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high = low, high

    @cached_property
    def first(self) -> Ints:
        """The first windows of their runs, of :func:`runs_by_a_row`."""
        return runs_by_a_row(self.low, self.high)

    @cached_property
    def none_empty(self) -> bool:
        """Whether no range is empty."""
        return none_empty(self.low, self.high, self.first)

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
        """Their tiles, where both ends ascend and none is empty."""
        return tiles(self.low, self.high, self.first)


def tiles(low: Ints, high: Ints, first: Ints) -> list[Tile]:
    """The tiles of ranges, in order.

    Parameters
    ----------
    low, high
        The half-open ranges of rows, shape (ranges,): both ascend, none is empty.
    first
        The first windows of their runs, of :func:`runs_by_a_row`.

    Examples
    --------
    >>> ranges = np.array([0, 2, 4, 6]), np.array([5, 7, 9, 11])
    >>> [(each.first, each.last, each.step, each.widest) for each in tiles(*ranges, runs_by_a_row(*ranges))]
    [(0, 4, 2, 5)]
    """
    found: list[Tile] = []
    start = 0
    while start < len(low):
        stop = _end_of_tile(low, high, first, start)
        begin = end = stop
        if not isinstance(runs := _runs_between(first, start, stop), slice):
            edges = np.append(runs, stop)
            longest = int(np.argmax(np.diff(edges)))
            if edges[longest + 1] - edges[longest] >= REGULAR_RUN:
                begin, end = int(edges[longest]), int(edges[longest + 1])
        parts = [(start, begin, False), (begin, end, True), (end, stop, False)]
        found += [_tile(low, high, *part) for part in parts if part[0] < part[1]]
        start = stop
    return found


def _runs_between(first: Ints, start: int, stop: int) -> Ints | slice:
    """The first windows of the runs of windows ``start`` to ``stop``; all these windows where runs are short."""
    begin, end = np.searchsorted(first, start, "right"), np.searchsorted(first, stop)
    return slice(start, stop) if LONG_RUN * (end - begin) >= stop - start else np.append(start, first[begin:end])


def _end_of_tile(low: Ints, high: Ints, first: Ints, start: int) -> int:
    """The window before which the tile from ``start`` on ends."""
    windows, rows, stop = TILE_WINDOWS, TILE_ROWS, start
    while True:
        before, stop = stop, min(start + windows, len(low))
        if high[stop - 1] - low[start] > rows:
            stop = start + max(int(np.searchsorted(high[start:stop], low[start] + rows, side="right")), 1)
        runs = _runs_between(first, start, stop)  # all windows of a run have one width
        widest = int((high[runs] - low[runs]).max())
        if stop == before or high[stop - 1] - low[start] >= ROWS_PER_WIDTH * widest:
            return stop
        windows, rows = 2 * windows, max(rows, 2 * ROWS_PER_WIDTH * widest)


def _tile(low: Ints, high: Ints, first: int, last: int, by_a_row: bool) -> Tile:
    """Some windows as one tile; ``by_a_row`` says that they are a run."""
    begin, end, lows, highs = int(low[first]), int(high[last - 1]), low[first:last], high[first:last]
    step = 1 if by_a_row else _step(lows, highs)
    if not step:
        return Tile(first, last, begin, end, 0, int((highs - lows).max()), lows - begin, highs - begin)
    widest, span = int(highs[0] - lows[0]), (last - first - 1) * step + 1
    return Tile(first, last, begin, end, step, widest, slice(0, span, step), slice(widest, widest + span, step))


def _step(low: Ints, high: Ints) -> int:
    """The step in rows of windows of one width; 0 where steps or widths differ."""
    for some in (slice(0, 64), slice(None)):  # differences are mostly among the first
        steps, widths = np.diff(low[some]), high[some] - low[some]
        if (steps != steps[:1]).any() or (widths != widths[0]).any():
            return 0
    return int(steps[0]) if len(steps) else 1


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
            found.append(_begin_runs(lows, highs) + start)
    return np.concatenate(found)


def _begin_runs(low: Ints, high: Ints) -> Ints:
    """The ranges that do not begin and end a row after the one before."""
    first = np.empty(len(low), np.int64)
    return first[: loops.begin_runs(np.ascontiguousarray(low), np.ascontiguousarray(high), first)]


def none_empty(low: Ints, high: Ints, first: Ints) -> bool:
    """Whether no range is empty: in a run by a row, none is if the first one is not.

    >>> none_empty(np.array([0, 1, 5]), np.array([2, 3, 5]), np.array([0, 2]))
    False
    """
    rows = first if LONG_RUN * len(first) < len(low) else slice(None)
    return bool((high[rows] > low[rows]).all())


def ascending(column: Ints, first: Ints | None = None) -> bool:
    """Whether no end of a range is below the one before it; where runs by a row are given, only their first can be.

    >>> ascending(np.array([0, 1, 2, 1]), np.array([0, 3]))
    False
    """
    if first is None or LONG_RUN * len(first) >= len(column):
        return ascends(column)
    return not (column[first[1:]] < column[first[1:] - 1]).any()


class Workspace:
    """Scratch columns by name and type, each valid until the next call for it."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, Any], NDArray[Any]] = {}

    def column(self, name: str, length: int, dtype: Any = np.float64) -> NDArray[Any]:
        """An uninitialized column, shape (length,)."""
        column = self._columns.get((name, dtype))
        if column is None or len(column) < length:
            column = self._columns[name, dtype] = np.empty(length, dtype)
        return column[:length]


def copy_rows(column: NDArray[Any], rows: Ints | slice, out: NDArray[Any]) -> NDArray[Any]:
    """Copy some rows of a column, all of which it has, into ``out``."""
    if isinstance(rows, slice):
        np.copyto(out, column[rows])
        return out
    # With "clip" numpy writes to ``out`` directly, otherwise by way of a buffer.
    return np.take(column, rows, out=out, mode="clip")
