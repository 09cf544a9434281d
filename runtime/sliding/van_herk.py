"""Van Herk's two-stacks for long runs of windows of one width: thousands of segments side by side.

The algorithm of M. van Herk (1992) and of J. Gil and M. Werman (1993). A segment has as many rows as a window. A window
is one combine of an end of its first segment and a beginning of the next one. Each call makes one step of all segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Ints
from ...aggregators.states.fields import Plain
from ..tuning import MAX_SEGMENTS, MAX_STATES, MIN_SEGMENTS_ALONE, MIN_SEGMENTS_OF_RUN, MIN_WINDOWS
from .tiles import Workspace

Columns = dict[str, NDArray[Any]]


class SideBySide(NamedTuple):
    """Segments of windows: their first windows, these windows' first rows, the width of all; the other windows."""

    window: Ints
    row: Ints
    width: int
    others: Ints


def has_columns(operation: BoundAggregate) -> bool:
    """Whether all fields of an operation are numpy arrays, so that it can slide side by side."""
    return all(isinstance(kind, Plain) for kind in operation.fields.values())


def side_by_side(
    operation: BoundAggregate, low: Ints, high: Ints, first: Ints, least: int = MIN_WINDOWS
) -> SideBySide | None:
    """The segments of long runs of ascending ranges, of the width that has most of them; None where they are too few.

    ``first`` are the first windows of their runs, of :func:`~framefold.runtime.sliding.range_facts.runs_by_a_row`.
    """
    if len(low) < least or not has_columns(operation):
        return None
    lengths = np.diff(np.append(first, len(low)))
    widths = high[first] - low[first]
    long = (lengths >= MIN_SEGMENTS_OF_RUN * widths) & (widths > 1)
    if lengths[long].sum() < max(least, len(low) // 2):
        return None
    first, lengths, widths = first[long], lengths[long], widths[long]
    each, which = np.unique(widths, return_inverse=True)
    width = int(each[np.argmax(np.bincount(which, weights=lengths))])
    first, segments = first[widths == width], lengths[widths == width] // width
    begin, end = np.append(0, first + segments * width), np.append(first, len(low))
    window = _counted(first, segments, width)
    return SideBySide(window, low[window], width, _counted(begin, end - begin, 1))


def _counted(first: Ints, counts: Ints, step: int) -> Ints:
    """Runs of numbers from each first one on, of ``counts`` each, ``step`` apart."""
    before = np.cumsum(counts) - counts
    counted: Ints = np.repeat(first - step * before, counts) + step * np.arange(counts.sum())
    return counted


def by_stacks_side_by_side(operation: BoundAggregate, states: State, of: SideBySide, slid: State) -> None:
    """Write the windows of segments into ``slid``; 3 - 4/width element operations a window.

    Parameters
    ----------
    operation
        What combines; all its fields are numpy arrays.
    states
        One state a row.
    of
        The segments.
    slid
        Columns of all windows, shape (windows,).
    """
    work = Workspace()
    with np.errstate(all="ignore"):
        for batch in _batches(of):
            rows, windows = (
                StridedRows(_columns(columns), first[batch], of.width)
                for columns, first in ((states, of.row), (slid, of.window))
            )
            _slide_batch(operation, rows, windows, work)


def _batches(of: SideBySide) -> Iterator[slice]:
    """Segments that slide side by side, in order: those of a long run by themselves, as their rows are contiguous."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(of.row) != of.width) + 1, [len(of.row)]])
    long = np.diff(edges) >= MIN_SEGMENTS_ALONE
    edges = edges[np.concatenate([[True], long[1:] | long[:-1], [True]])]
    for first, last in pairwise(edges.tolist()):
        for start in range(first, last, MAX_SEGMENTS):
            yield slice(start, min(start + MAX_SEGMENTS, last))


class StridedRows:
    """The rows 0, 1, 2, ... steps after each of several first rows, in columns of all rows.

    Where first rows are ``width`` rows apart, each column is a matrix (first rows, steps); otherwise rows are indexed.
    """

    def __init__(self, columns: Columns, first: Ints, width: int) -> None:
        self.columns = columns
        self.first = first
        self.width = width
        self.following = bool((np.diff(first) == width).all())

    def read(self, start: int, into: Columns) -> None:
        """Copy the states from a step on, of as many steps as ``into`` has rows, a step a row."""
        for key, room in into.items():
            if self.following:
                transpose(self._matrix(key, start, len(room)), room)
            else:
                room[:] = self.columns[key][self._rows(start, len(room))]

    def write(self, start: int, states: Columns) -> None:
        """Set the states from a step on, of as many steps as ``states`` has rows."""
        for key, values in states.items():
            if self.following:
                transpose(values, self._matrix(key, start, len(values)))
            else:
                self.columns[key][self._rows(start, len(values))] = values

    def _rows(self, start: int, count: int) -> Ints:
        return cast(Ints, self.first + np.arange(start, start + count)[:, None])

    def _matrix(self, key: str, start: int, count: int) -> NDArray[Any]:
        column = self.columns[key][int(self.first[0]) + start :]
        shape, strides = (len(self.first), count), (self.width * column.strides[0], column.strides[0])
        return np.lib.stride_tricks.as_strided(column, shape, strides)


def transpose(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Set ``target`` (columns, rows) to the transpose of ``source`` (rows, columns)."""
    word = f"i{source.itemsize}"
    if source.itemsize not in (1, 2, 4, 8) or source.dtype.hasobject:
        np.copyto(target, source.T)
        return
    if source.strides[1] != source.itemsize:
        source = np.ascontiguousarray(source)
    loops.transpose(source.view(word), target.view(word))


class StepMatrix:
    """States of several steps of all segments, shape (steps, segments), uninitialized; read-only to operations."""

    def __init__(self, steps: int, size: int, like: Columns, work: Workspace, name: str) -> None:
        self.columns = {
            key: work.column(f"{name}: {key}", steps * size, column.dtype).reshape(steps, size)
            for key, column in like.items()
        }
        self.locked = {key: column.view() for key, column in self.columns.items()}
        for column in self.locked.values():
            column.setflags(write=False)

    def upto(self, count: int) -> Columns:
        """The first steps."""
        return {key: column[:count] for key, column in self.columns.items()}

    def step(self, step: int) -> State:
        """The states of a step."""
        return {key: column[step] for key, column in self.locked.items()}

    def steps(self, start: int, count: int) -> State:
        """The states of some steps, one step after the other."""
        found = {key: column[start : start + count].reshape(-1) for key, column in self.locked.items()}
        for column in found.values():  # some may be copies
            column.setflags(write=False)
        return found

    def keep(self, step: int, states: State) -> None:
        """Copy states to a step."""
        for key, column in self.columns.items():
            column[step] = states[key]


def _slide_batch(operation: BoundAggregate, states: StridedRows, slid: StridedRows, work: Workspace) -> None:
    """States of segment ends, from the last row on; then of beginnings of the next rows, and windows of both."""
    size, width = len(slid.first), slid.width
    some = min(max(1, MAX_STATES // size), width)
    ends, rows, beginnings = (
        StepMatrix(steps, size, slid.columns, work, name)
        for steps, name in ((width, "ends"), (some, "rows"), (some, "beginnings"))
    )
    for start in reversed(range(0, width, some)):
        count = min(some, width - start)
        states.read(start, rows.upto(count))
        for step in reversed(range(count)):
            end = rows.step(step)
            if start + step + 1 < width:
                end = operation.combine_locked(end, ends.step(start + step + 1))
            ends.keep(start + step, end)
    slid.write(0, ends.upto(1))
    # The last row of what follows a segment is in none of its windows, and may not exist.
    following = StridedRows(states.columns, states.first + width, width)
    for start in range(1, width, some):
        count = min(some, width - start)
        following.read(start - 1, rows.upto(count))
        for step in range(count):
            beginning = rows.step(step)
            if start + step > 1:  # step -1 is the last one of the steps before
                beginning = operation.combine_locked(beginnings.step(step - 1), beginning)
            beginnings.keep(step, beginning)
        joined = operation.combine_locked(ends.steps(start, count), beginnings.steps(0, count))
        slid.write(start, {key: column.reshape(count, size) for key, column in _columns(joined).items()})


def _columns(states: State) -> Columns:
    """States all of whose fields are numpy arrays."""
    return cast(Columns, states)
