"""Two-stacks for long runs of windows that begin a row after one another and are of one width, side by side.

The block scan of M. van Herk (1992) and of J. Gil and M. Werman (1993): blocks of as many rows as a window has, and for
each the states of its ends and of the beginnings of the rows after it; one combine of both is a window. Step by step,
one call goes over thousands of blocks, no more than the cache holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..aggregators.binding import Bound, length
from ..aggregators.fields import Plain
from ..aggregators.operation import State
from .cut import breaks
from .scan import join, take

Ints = NDArray[np.int64]

BLOCKS = 1 << 13
"""So many blocks go on side by side: enough for calls to cost little, and few enough for the cache."""

CACHED = 1 << 15
"""Ranges are looked through so many at a time."""

AT_A_TIME = 1 << 16
"""Of fewer blocks, several steps are read and written at a time."""

LEAST = 1 << 15
"""Fewer windows are slid in the general way."""

BLOCKS_OF_A_RUN = 16
"""So many blocks a run has at least; the windows that are left of it, less than a block, slide in the general way."""


class SideBySide(NamedTuple):
    """Blocks of windows: their first windows, these windows' first rows, the width of all; the other windows."""

    window: Ints
    row: Ints
    width: int
    others: Ints


def side_by_side(operation: Bound, low: Ints, high: Ints, least: int = LEAST) -> SideBySide | None:
    """The blocks of long runs of ascending ranges, of the width that has most of them; None where they are too few."""
    if len(low) < least or not all(isinstance(kind, Plain) for kind in operation.fields.values()):
        return None
    first = _runs(low, high)
    if len(first) * BLOCKS_OF_A_RUN > len(low):
        return None
    lengths = np.diff(np.append(first, len(low)))
    widths = high[first] - low[first]
    long = (lengths >= BLOCKS_OF_A_RUN * widths) & (widths > 1)
    if lengths[long].sum() < max(least, len(low) // 2):
        return None
    first, lengths, widths = first[long], lengths[long], widths[long]
    each, which = np.unique(widths, return_inverse=True)
    width = int(each[np.argmax(np.bincount(which, weights=lengths))])
    first, blocks = first[widths == width], lengths[widths == width] // width
    begin, end = np.append(0, first + blocks * width), np.append(first, len(low))
    window = _counted(first, blocks, width)
    return SideBySide(window, low[window], width, _counted(begin, end - begin, 1))


def _runs(low: Ints, high: Ints) -> Ints:
    """The first windows of runs in which both ends ascend by one row."""
    found = [np.zeros(1, np.int64)]
    for start in range(0, len(low) - 1, CACHED):
        some = slice(start, start + 1 + CACHED)
        found.append(breaks(low[some], high[some]) + start)
    return np.concatenate(found)


def _counted(first: Ints, counts: Ints, step: int) -> Ints:
    """From each first number on, so many in steps."""
    before = np.cumsum(counts) - counts
    counted: Ints = np.repeat(first - step * before, counts) + step * np.arange(counts.sum())
    return counted


def by_stacks_side_by_side(operation: Bound, states: State, of: SideBySide, slid: State) -> None:
    """Write the windows of blocks into ``slid``; 3 - 4/width element operations a window.

    Parameters
    ----------
    operation
        What combines; all its fields are numpy arrays.
    states
        One state a row.
    of
        The blocks.
    slid
        Columns with room for all windows.
    """
    count, width = len(of.window), of.width
    for batch in np.array_split(np.arange(count), -(-count // BLOCKS)):
        rows, windows = of.row[batch], of.window[batch]
        _slide_batch(operation, Steps(states, rows, width), Steps(slid, windows, width), len(batch), width)


class Steps:
    """Rows that lie a number of steps after each of several first ones.

    Where these are ``width`` rows apart the columns are matrices, of which steps are columns; otherwise rows are
    looked up.
    """

    def __init__(self, states: State, first: Ints, width: int) -> None:
        self.first = first
        self.columns = {key: cast(NDArray[Any], column) for key, column in states.items()}
        self.width = width if (np.diff(first) == width).all() else 0

    def read(self, step: int, count: int) -> State:
        """The states of so many steps, one step after the other."""
        if not self.width:
            rows = self._rows(step, count)
            return {key: column[rows] for key, column in self.columns.items()}
        return {key: self._matrix(column, step, count).T.ravel() for key, column in self.columns.items()}

    def write(self, step: int, count: int, states: State) -> None:
        """Set the states of so many steps."""
        rows = None if self.width else self._rows(step, count)
        for key, column in self.columns.items():
            values = cast(NDArray[Any], states[key])
            if rows is None:
                self._matrix(column, step, count)[:] = values.reshape(count, -1).T
            else:
                column[rows] = values

    def _rows(self, step: int, count: int) -> Ints:
        return (self.first + np.arange(step, step + count)[:, None]).ravel()

    def _matrix(self, column: NDArray[Any], step: int, count: int) -> NDArray[Any]:
        start, size = int(self.first[0]) + step, column.itemsize
        shape, strides = (len(self.first), count), (self.width * size, size)
        return np.lib.stride_tricks.as_strided(column[start:], shape, strides)


def _slide_batch(operation: Bound, rows: Steps, windows: Steps, size: int, width: int) -> None:
    """Ends of blocks, from the last row on; then beginnings of what follows each block, and windows of both."""
    steps = max(1, AT_A_TIME // size)
    ends: list[State] = [{}] * width
    end: State | None = None
    for start in reversed(range(0, width, steps)):
        parts = _parted(rows.read(start, min(steps, width - start)), size)
        for step, part in reversed(list(enumerate(parts))):
            end = part if end is None else operation.combine(part, end)
            ends[start + step] = end
    windows.write(0, 1, ends[0])
    beginning: State | None = None
    for start in range(1, width, steps):
        beginnings = []
        for part in _parted(rows.read(width + start - 1, min(steps, width - start)), size):
            beginning = part if beginning is None else operation.combine(beginning, part)
            beginnings.append(beginning)
        count = len(beginnings)
        windows.write(start, count, operation.combine(join(ends[start : start + count]), join(beginnings)))


def _parted(states: State, size: int) -> list[State]:
    """States in parts of one size."""
    return [take(states, slice(start, start + size)) for start in range(0, length(states), size)]
