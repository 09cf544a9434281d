"""Window ranges in tiles, whose rows with the scratch columns of kernels fit the cache.

Kernels pass over a tile several times; all passes but the first find its rows in the cache (M. S. Lam, E. E.
Rothberg and M. E. Wolf, "The cache performance and optimizations of blocked algorithms", 1991).
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...aggregators.states.arrays import Index, Ints
from ..columns.sorting import differs, stable_order
from ..tuning import LONG_RUN_OF_WINDOWS, REGULAR_RUN, ROWS_PER_WIDTH, TILE_ROWS, TILE_WINDOWS


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


def tiles(low: Ints, high: Ints, first: Ints) -> list[Tile]:
    """The tiles of ranges, in order.

    Parameters
    ----------
    low, high
        The half-open ranges of rows, shape (ranges,): both ascend, none is empty.
    first
        The first windows of their runs, of :func:`~framefold.runtime.sliding.range_facts.runs_by_a_row`.

    Examples
    --------
    >>> ranges = np.array([0, 2, 4, 6]), np.array([5, 7, 9, 11])
    >>> [(each.first, each.last, each.step, each.widest) for each in tiles(*ranges, np.arange(4))]
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


def tiles_in_any_order(low: Ints, high: Ints) -> tuple[Index | None, list[Tile]]:
    """The tiles of ranges that do not ascend, and the order of the ranges in them; None: as they are, in one tile.

    Parameters
    ----------
    low, high
        The half-open ranges of rows, shape (ranges,): in any order, none is empty.

    Examples
    --------
    >>> order, found = tiles_in_any_order(np.array([2, 0, 1]), np.array([5, 9, 2]))
    >>> order, [(each.begin, each.end, each.widest) for each in found]
    (None, [(0, 9, 9)])
    """
    begin, rows = int(low.min()), max(TILE_ROWS, ROWS_PER_WIDTH * int((high - low).max()))
    if int(high.max()) - begin <= 2 * rows:
        return None, [_tile_in_any_order(low, high, 0, len(low))]
    number = (low - begin) // rows
    order = stable_order(number, int(number.max()) + 1)
    cuts = [*np.flatnonzero(differs(number[order])).tolist(), len(low)]
    low, high = low[order], high[order]
    return order, [_tile_in_any_order(low, high, first, last) for first, last in itertools.pairwise(cuts)]


def _tile_in_any_order(low: Ints, high: Ints, first: int, last: int) -> Tile:
    """Some ranges, which need not ascend, as one tile."""
    lows, highs = low[first:last], high[first:last]
    begin, end, widest = int(lows.min()), int(highs.max()), int((highs - lows).max())
    return Tile(first, last, begin, end, 0, widest, lows - begin, highs - begin)


def _runs_between(first: Ints, start: int, stop: int) -> Ints | slice:
    """The first windows of the runs of windows ``start`` to ``stop``; all these windows where runs are short."""
    begin, end = np.searchsorted(first, start, "right"), np.searchsorted(first, stop)
    return (
        slice(start, stop)
        if LONG_RUN_OF_WINDOWS * (end - begin) >= stop - start
        else np.append(start, first[begin:end])
    )


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


class Workspace:
    """Scratch columns by name and type, which each tile uses again: each is valid until the next call for it."""

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
