"""Two-stacks for long runs of windows that begin a row after one another and are of one width, side by side.

The block scan of M. van Herk (1992) and of J. Gil and M. Werman (1993): blocks of as many rows as a window has, and for
each the states of its ends and of the beginnings of the rows after it; one combine of both is a window. Step by step,
one call goes over thousands of blocks, no more than the cache holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..aggregators.binding import Bound
from ..aggregators.fields import Plain
from ..aggregators.operation import State
from .compiled import loops

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

BLOCKS = 1 << 13
"""So many blocks go on side by side: enough for calls to cost little, and few enough for the cache."""

AT_A_TIME = 1 << 17
"""Of fewer blocks, several steps are read and written at a time."""

WORDS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""What the compiled loop takes elements of so many bytes for."""

GAP = 8
"""So many elements lie between blocks that are to be transposed."""

LEAST = 1 << 15
"""Fewer windows are slid in the general way."""

BLOCKS_OF_A_RUN = 8
"""So many blocks a run has at least; the windows that are left of it, less than a block, slide in the general way."""


class SideBySide(NamedTuple):
    """Blocks of windows: their first windows, these windows' first rows, the width of all; the other windows."""

    window: Ints
    row: Ints
    width: int
    others: Ints


def has_columns(operation: Bound) -> bool:
    """Whether all fields of an operation are numpy arrays, so that it can slide side by side."""
    return all(isinstance(kind, Plain) for kind in operation.fields.values())


def side_by_side(operation: Bound, low: Ints, high: Ints, first: Ints, least: int = LEAST) -> SideBySide | None:
    """The blocks of long runs of ascending ranges, of the width that has most of them; None where they are too few.

    Runs are those of :func:`framefold.runtime.cut.runs_by_a_row`, of which the first windows are given.
    """
    if len(low) < least or not has_columns(operation):
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
    with np.errstate(all="ignore"):
        for batch in np.array_split(np.arange(count), -(-count // BLOCKS)):
            given = Steps(_columns(states), of.row[batch], width)
            made = Steps(_columns(slid), of.window[batch], width)
            _slide_batch(operation, given, made, len(batch), width)


class Steps:
    """Rows that lie a number of steps after each of several first ones.

    Where these are ``width`` rows apart the columns are matrices, of which steps are columns; otherwise rows are
    looked up.
    """

    def __init__(self, columns: Columns, first: Ints, width: int) -> None:
        self.first = first
        self.columns = columns
        self.width = width if (np.diff(first) == width).all() else 0

    def read(self, step: int, into: Columns) -> None:
        """Copy the states of as many steps as ``into`` has rows, a step a row."""
        for key, room in into.items():
            column = self.columns[key]
            if self.width:
                transpose(self._matrix(column, step, len(room)), room)
            else:
                np.take(column, self._rows(step, len(room)), out=room, mode="clip")

    def write(self, step: int, count: int, states: Columns) -> None:
        """Set the states of so many steps."""
        rows = None if self.width else self._rows(step, count)
        for key, column in self.columns.items():
            values = states[key].reshape(count, -1)
            if rows is None:
                transpose(values, self._matrix(column, step, count))
            else:
                column[rows] = values

    def _rows(self, step: int, count: int) -> Ints:
        return cast(Ints, self.first + np.arange(step, step + count)[:, None])

    def _matrix(self, column: NDArray[Any], step: int, count: int) -> NDArray[Any]:
        start, size = int(self.first[0]) + step, column.itemsize
        shape, strides = (len(self.first), count), (self.width * size, size)
        return np.lib.stride_tricks.as_strided(column[start:], shape, strides)


def transpose(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy a matrix to one that has its columns as rows; in one of them these lie far apart."""
    word = WORDS.get(source.itemsize)
    if loops is not None and word is not None and not source.dtype.hasobject:
        if source.strides[1] != source.itemsize:
            source = np.ascontiguousarray(source)
        loops.transpose(source.view(word), target.view(word))
        return
    # Room with a gap between rows: what lies a power of two apart shares a cache's lines.
    long, short = max(source.shape), min(source.shape)
    turned = np.empty((long, short + GAP), source.dtype)[:, :short]
    wide = source.shape == turned.shape
    np.copyto(turned, source if wide else source.T)
    np.copyto(target, turned.T if wide else turned)


class Grid:
    """States of several steps of all blocks, a step a row; what an operation is given of them it cannot change."""

    def __init__(self, like: Columns, steps: int, size: int) -> None:
        self.columns = {key: np.empty((steps, size), column.dtype) for key, column in like.items()}
        self.locked = {key: column.view() for key, column in self.columns.items()}
        for column in self.locked.values():
            column.setflags(write=False)

    def step(self, step: int) -> State:
        """The states of a step."""
        return {key: column[step] for key, column in self.locked.items()}

    def steps(self, start: int, stop: int) -> State:
        """The states of some steps, one step after the other."""
        return {key: column[start:stop].reshape(-1) for key, column in self.locked.items()}

    def some(self, start: int, stop: int) -> Columns:
        """The rows of some steps, to be written."""
        return {key: column[start:stop] for key, column in self.columns.items()}

    def keep(self, step: int, states: State) -> None:
        """Copy states to the place of a step, where they are nobody's but ours."""
        for key, column in self.columns.items():
            column[step] = states[key]


def _slide_batch(operation: Bound, rows: Steps, windows: Steps, size: int, width: int) -> None:
    """Ends of blocks, from the last row on; then beginnings of what follows each block, and windows of both."""
    most = min(max(1, AT_A_TIME // size), width)
    ends, beginnings = Grid(rows.columns, width, size), Grid(rows.columns, most, size)
    for start in reversed(range(0, width, most)):
        stop = min(start + most, width)
        rows.read(start, ends.some(start, stop))
        for step in reversed(range(start, min(stop, width - 1))):
            ends.keep(step, operation.combine_locked(ends.step(step), ends.step(step + 1)))
    windows.write(0, 1, _columns(ends.step(0)))
    last = Grid(rows.columns, 1, size)
    for start in range(1, width, most):
        count = min(most, width - start)
        rows.read(width + start - 1, beginnings.some(0, count))
        for step in range(start == 1, count):
            before = beginnings.step(step - 1) if step else last.step(0)
            beginnings.keep(step, operation.combine_locked(before, beginnings.step(step)))
        joined = operation.combine_locked(ends.steps(start, start + count), beginnings.steps(0, count))
        windows.write(start, count, _columns(joined))
        last.keep(0, beginnings.step(count - 1))


def _columns(states: State) -> Columns:
    """States all of whose fields are numpy arrays."""
    return cast(Columns, states)
