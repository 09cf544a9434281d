"""Window ranges cut into blocks that fit the cache, each with its step and width where these are regular.

Kernels pass over columns several times: in blocks of some ten thousand windows all passes but the first find their
rows in the cache (M. S. Lam, E. E. Rothberg and M. E. Wolf, "The cache performance and optimizations of blocked
algorithms", 1991).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .native import loops

Ints = NDArray[np.int64]

WINDOWS, ROWS = 3 << 14, 3 << 15
"""A block has at most so many windows, and so many rows, unless a window alone has more than a fourth of these."""

FOLDS = 4
"""Rows that two blocks have in common are passed over twice: so a block has so many times the rows of a window."""

STRETCH = 1 << 12
"""Among irregular windows, so many regular ones are worth a block of their own."""

CACHED = 1 << 15
"""Ranges are looked through so many at a time."""

FEW = 8
"""Runs of more windows than these, on average, are asked at their first ones; others window by window."""


class Block(NamedTuple):
    """Windows ``first`` to ``last`` (half-open), over rows ``begin`` to ``end``, none wider than ``widest`` rows.

    ``step`` is how many rows further each window begins than the one before it, if that is the same for all of them
    and they are of one width; otherwise 0.
    """

    first: int
    last: int
    begin: int
    end: int
    step: int
    widest: int


def blocks(low: Ints, high: Ints) -> list[Block] | None:
    """The blocks of ranges, in order; None where a range is empty, or an end is below one before it.

    Parameters
    ----------
    low, high
        The half-open ranges of rows, shape (ranges,).

    Examples
    --------
    >>> blocks(np.array([0, 2, 4, 6]), np.array([5, 7, 9, 11]))
    [Block(first=0, last=4, begin=0, end=11, step=2, widest=5)]
    >>> blocks(np.array([0, 0, 1]), np.array([1, 2, 2]))
    [Block(first=0, last=3, begin=0, end=2, step=0, widest=2)]
    >>> blocks(np.array([0, 1]), np.array([3, 2])) is None
    True
    """
    found: list[Block] = []
    for first in range(0, len(low), WINDOWS):
        block = _survey(low, high, first, min(first + WINDOWS, len(low)))
        if block is None:
            return None
        if found and found[-1].end - found[-1].begin < FOLDS * found[-1].widest:
            found[-1] = _joined(found[-1], block, low)
        elif block.step:
            found.append(block)
        else:
            found += _stretched(block, low, high)
    return [part for block in found for part in _parts(block, low, high)]


def _survey(low: Ints, high: Ints, first: int, last: int) -> Block | None:
    """Windows as one block; None if they are none of ours."""
    begin, end, width = int(low[first]), int(high[last - 1]), int(high[first] - low[first])
    # With the last window before them: the ends must ascend from block to block, too.
    if first and (begin < low[first - 1] or high[first] < high[first - 1]):
        return None
    lows, highs = low[first:last], high[first:last]
    if width > 0 and a_row_each(lows, highs):
        return Block(first, last, begin, end, 1, width)
    widths, steps = highs - lows, lows[1:] - lows[:-1]
    step = int(steps[0]) if len(steps) else 1
    if step > 0 and width > 0 and (widths == width).all() and (steps == step).all():
        return Block(first, last, begin, end, step, width)
    if int(widths.min()) <= 0 or (steps < 0).any() or (highs[1:] < highs[:-1]).any():
        return None
    return Block(first, last, begin, end, 0, int(widths.max()))


def a_row_each(low: Ints, high: Ints) -> bool:
    """Whether both ends of some ranges, of which there is one at least, ascend by a row each.

    >>> a_row_each(np.array([0, 1, 2]), np.array([2, 3, 4])), a_row_each(np.array([0, 1, 2]), np.array([2, 2, 4]))
    (True, False)
    """
    steps = len(low) - 1
    if low[-1] - low[0] != steps or high[-1] - high[0] != steps:
        return False
    if loops is not None:
        return bool(loops.steps_of_one(np.ascontiguousarray(low), np.ascontiguousarray(high)))
    # Whatever ascends in so many steps, and by so many rows, ascends by a row each.
    return bool((low[1:] > low[:-1]).all() and (high[1:] > high[:-1]).all())


def breaks(low: Ints, high: Ints) -> Ints:
    """The windows that do not begin and end a row after the one before them.

    >>> breaks(np.array([0, 1, 4, 5]), np.array([2, 3, 6, 8]))
    array([2, 3])
    """
    return np.flatnonzero((np.diff(low) != 1) | (np.diff(high) != 1)) + 1


def runs_by_a_row(low: Ints, high: Ints) -> Ints:
    """The first windows of runs, in each of which both ends ascend by a row; there is a window at least.

    >>> runs_by_a_row(np.array([0, 1, 4, 5]), np.array([2, 3, 6, 8]))
    array([0, 2, 3])
    """
    found = [np.zeros(1, np.int64)]
    for start in range(0, len(low) - 1, CACHED):
        some = slice(start, start + 1 + CACHED)
        if not a_row_each(low[some], high[some]):
            found.append(breaks(low[some], high[some]) + start)
    return np.concatenate(found)


def holding(low: Ints, high: Ints, first: Ints) -> bool:
    """Whether no range is empty: in a run by a row, none is if the first one is not.

    >>> holding(np.array([0, 1, 5]), np.array([2, 3, 5]), np.array([0, 2]))
    False
    """
    rows = first if FEW * len(first) < len(low) else slice(None)
    return bool((high[rows] > low[rows]).all())


def ascending(column: Ints, first: Ints | None = None) -> bool:
    """Whether no end of a range is below the one before it; if runs by a row are given, none but their first can be.

    >>> ascending(np.array([0, 1, 2, 1]), np.array([0, 3]))
    False
    """
    if first is None or FEW * len(first) >= len(column):
        return not (column[1:] < column[:-1]).any()
    return not (column[first[1:]] < column[first[1:] - 1]).any()


def _stretched(block: Block, low: Ints, high: Ints) -> list[Block]:
    """An irregular block in three: the longest stretch in which both ends ascend by a row, what is before and after."""
    windows = slice(block.first, block.last)
    edges = np.append(runs_by_a_row(low[windows], high[windows]) + block.first, block.last)
    longest = int(np.argmax(np.diff(edges)))
    start, stop = int(edges[longest]), int(edges[longest + 1])
    if stop - start < STRETCH:
        return [block]
    parts = [(block.first, start, 0), (start, stop, 1), (stop, block.last, 0)]
    return [
        Block(first, last, int(low[first]), int(high[last - 1]), step, int((high[first:last] - low[first:last]).max()))
        for first, last, step in parts
        if last > first
    ]


def _joined(block: Block, other: Block, low: Ints) -> Block:
    """Two blocks of which one follows the other, as one."""
    regular = (
        block.step == other.step
        and block.widest == other.widest
        and other.begin - int(low[block.last - 1]) == block.step
    )
    step = block.step if regular else 0
    return Block(block.first, other.last, block.begin, other.end, step, max(block.widest, other.widest))


def _parts(block: Block, low: Ints, high: Ints) -> Iterator[Block]:
    """A block that has too many rows in parts that have not."""
    most = max(ROWS, 2 * FOLDS * block.widest)
    first = block.first
    while int(high[block.last - 1]) - int(low[first]) > most:
        begin = int(low[first])
        last = first + max(int(np.searchsorted(high[first : block.last], begin + most, side="right")), 1)
        yield Block(first, last, begin, int(high[last - 1]), block.step, block.widest)
        first = last
    yield block._replace(first=first, begin=int(low[first]))


class Places:
    """Where the windows of a block begin and end among its rows: slices if they are regular, rows otherwise."""

    __slots__ = ("begin", "end", "length", "widest")

    def __init__(self, block: Block, low: Ints, high: Ints) -> None:
        self.length = block.last - block.first
        self.widest = block.widest
        self.begin: Ints | slice
        self.end: Ints | slice
        if block.step:
            reach = (self.length - 1) * block.step + 1
            self.begin = slice(0, reach, block.step)
            self.end = slice(block.widest, block.widest + reach, block.step)
        else:
            windows = slice(block.first, block.last)
            self.begin, self.end = low[windows] - block.begin, high[windows] - block.begin

    def ranges(self) -> tuple[Ints, Ints]:
        """The rows at which windows begin and end, regular or not."""
        if isinstance(self.begin, slice) or isinstance(self.end, slice):
            assert isinstance(self.begin, slice)
            begin = np.arange(self.begin.start, self.begin.stop, self.begin.step)
            return begin, begin + self.widest
        return self.begin, self.end

    @property
    def regular(self) -> bool:
        """Whether all windows have the width ``widest`` and begin a step after one another."""
        return isinstance(self.begin, slice)

    @property
    def every_row(self) -> bool:
        """Whether a window of the width ``widest`` begins at every row that is not too near to the block's end."""
        return isinstance(self.begin, slice) and self.begin.step == 1


class Workspace:
    """Columns that are used again for every block, so that they stay in the cache."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, Any], NDArray[Any]] = {}

    def column(self, name: str, dtype: Any, length: int) -> NDArray[Any]:
        """A column of this length; it holds what whoever used this name last has left there."""
        column = self._columns.get((name, dtype))
        if column is None or len(column) < length:
            column = self._columns[name, dtype] = np.empty(length, dtype)
        return column[:length]

    def scratch(self, dtype: Any, length: int) -> NDArray[Any]:
        """A column of this length, the same bytes for all who ask: for what is of no use a moment later."""
        size = np.dtype(dtype).itemsize
        column: NDArray[Any] = self.column("scratch", np.int64, -(-length * size // 8)).view(dtype)[:length]
        return column

    def floats(self, name: str, length: int) -> NDArray[np.float64]:
        """A column of floats."""
        return self.column(name, np.float64, length)


def taken(column: NDArray[Any], rows: Ints | slice, out: NDArray[Any]) -> NDArray[Any]:
    """Some rows of a column, which has them all."""
    if isinstance(rows, slice):
        np.copyto(out, column[rows])
        return out
    # Clipped, numpy writes them where they belong; otherwise into a column of its own first.
    return np.take(column, rows, out=out, mode="clip")
