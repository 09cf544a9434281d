"""Partials as windows see them, windows at a constant step, and windows as ranges of rows or as coverage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.errors import QueryError
from ...aggregators.numeric.native import loops
from ...aggregators.states.arrays import Bools, Ints
from ..columns.key_codes import pack, span

MAX_WINDOWS = 1 << 29
"""More windows than this do not fit one process's memory; the query is refused instead."""


class Ranges(NamedTuple):
    """The windows of a partials table, sorted by key and window (or by ``at``): half-open ranges of its rows.

    ``low`` and ``high`` bound the rows of each window. ``row`` is a row of its key (its own row, where windows have a
    row span). ``start`` and ``end`` are its bounds in ticks, ``at`` is the time of its result, where results have one.
    """

    low: Ints
    high: Ints
    row: Ints
    start: Ints
    end: Ints
    at: Ints | None = None

    def where(self, rows: Any) -> Ranges:
        """Some of the windows."""
        low, high, row, start, end = (column[rows] for column in self[:5])
        return Ranges(low, high, row, start, end, None if self.at is None else self.at[rows])

    def covered(self, count: int) -> Bools:
        """Which of ``count`` rows are in any window."""
        edges = np.zeros(count + 1, np.int64)
        np.add.at(edges, self.low, 1)
        np.add.at(edges, self.high, -1)
        inside: Bools = np.cumsum(edges)[:-1] > 0
        return inside

    def among(self, rows: Ints, count: int) -> Ranges:
        """Windows over some of ``count`` rows as windows over all of them."""
        low, high = _among(self.low, self.high, rows, count)
        return self._replace(low=low, high=high, row=rows[self.row])


class Coverage(NamedTuple):
    """Windows that are no ranges of rows: each row is in a run of windows.

    ``first`` and ``last`` are the first and the last window of each row's run, by their place among all of them; where
    a row is in none, ``first`` is above ``last``. The other columns are those of :class:`Ranges`.
    """

    first: Ints
    last: Ints
    row: Ints
    start: Ints
    end: Ints
    at: Ints | None = None

    def where(self, rows: Ints) -> Coverage:
        """Some of the windows, by their places in ascending order."""
        first = np.searchsorted(rows, self.first)
        last = np.searchsorted(rows, self.last, side="right") - 1
        row, start, end = (column[rows] for column in self[2:5])
        return Coverage(first, last, row, start, end, None if self.at is None else self.at[rows])

    def among(self, rows: Ints, count: int) -> Coverage:
        """Windows over some of ``count`` rows as windows over all of them."""
        first, last = np.ones(count, np.int64), np.zeros(count, np.int64)
        first[rows], last[rows] = self.first, self.last
        return self._replace(first=first, last=last, row=rows[self.row])


class WindowIds(NamedTuple):
    """The numbers of the first and the last window that take in each frame."""

    first: Ints
    last: Ints


def of_column(name: str) -> str:
    """The name of a window input that is the value of a column; those of others do not begin with ``#``."""
    return f"#{name}"


def is_column(window_input: str) -> bool:
    """Whether a window input is the value of a column."""
    return window_input.startswith("#")


@dataclass(frozen=True)
class PartialsView:
    """Partials as windows see them, sorted by key and frame.

    Parameters
    ----------
    frames
        The frame of each row; a row may be only a part of its frame, so numbers can repeat.
    starts
        The first row of each key.
    window_inputs
        What the windows need of each row, by name; see :attr:`Windows.window_inputs`.
    keys
        The key columns, with one value for each key.
    within
        The numbers of the first and the last window to compute; None: all; see :meth:`Windows.window_ids`.
    inside
        Which rows are in any window of this kind; None: all.
    ids
        The windows of each row, where they are known already.
    """

    frames: Ints
    starts: Ints
    window_inputs: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    keys: tuple[pa.Array, ...] = ()
    within: tuple[int, int] | None = None
    inside: Bools | None = None
    ids: WindowIds | None = None

    def part(self, keys: slice, rows: slice, within: tuple[int, int] | None = None) -> PartialsView:
        """The view of some keys, and the rows of these, or some rows of one key."""
        return self._of(rows, (self.starts[keys] - rows.start).clip(0), (key[keys] for key in self.keys), within)

    def only(self, rows: Ints) -> PartialsView:
        """The view of some rows, in their order."""
        key = self.key[rows]
        starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
        return self._of(rows, starts, (column.take(pa.array(key[starts])) for column in self.keys), self.within)

    def _of(
        self, rows: slice | Ints, starts: Ints, keys: Iterable[pa.Array], within: tuple[int, int] | None
    ) -> PartialsView:
        return PartialsView(
            self.frames[rows],
            starts,
            {name: values[rows] for name, values in self.window_inputs.items()},
            tuple(keys),
            within,
            None if self.inside is None else self.inside[rows],
            None if self.ids is None else WindowIds(self.ids.first[rows], self.ids.last[rows]),
        )

    @cached_property
    def ends(self) -> Ints:
        """The row after the last one of each key."""
        return np.append(self.starts[1:], len(self.frames)).astype(np.int64)[: len(self.starts)]

    @cached_property
    def key(self) -> Ints:
        """The number of each row's key."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts)

    def locate(self, keys: Ints, positions: Ints, of: Ints | None = None) -> Ints:
        """The first row of each key (by number) whose frame, or other ascending number, is not below a position."""
        rows = self.frames if of is None else of
        numbers, size = span(np.concatenate([rows, positions]))
        packed, _ = pack([(np.concatenate([self.key, keys]), len(self.starts)), (numbers, size)], len(numbers))
        return np.searchsorted(packed[: len(rows)], packed[len(rows) :], side="left").astype(np.int64)

    def from_place(self, place: Ints) -> Bools:
        """Which rows stand in their key at a place or after it, and the last one of each key in any case."""
        first = np.minimum(self.starts + place.clip(0), self.ends - 1)
        found: Bools = np.arange(len(self.frames)) >= first[self.key]
        return found

    def first_of(self, mask: Bools) -> Ints:
        """The first of some rows of each key; the row after its last one where it has none."""
        rows = np.where(mask, np.arange(len(mask)), np.iinfo(np.int64).max)
        return np.minimum(np.minimum.reduceat(rows, self.starts), self.ends)


class RangesById(NamedTuple):
    """Windows by their numbers: ranges of rows, some row of the key, the number."""

    low: Ints
    high: Ints
    row: Ints
    number: Ints

    def where(self, rows: Any) -> RangesById:
        """Some of the windows."""
        return RangesById(*(column[rows] for column in self))


def ranges_by_id(windows: str, partials: PartialsView, first: Ints, last: Ints, empty: str = "skip") -> RangesById:
    """The windows over partials, where each frame is in a run of windows of consecutive numbers.

    Both ends come from counting: a frame is the first one in the windows that take it in but not the one before it,
    and the last one in those that do not take in the next.

    Parameters
    ----------
    windows
        The kind of windows, for messages.
    partials
        The partials.
    first, last
        The first and the last window that take in each row's frame, both ascending in each key; where none does,
        ``first`` is above ``last``.
    empty
        ``"emit"`` for all windows from a key's first to its last, ``"skip"`` for those with events.
    """
    rows, starts, within = len(first), partials.starts, partials.within
    if not rows:
        return RangesById(first, first, first, first)
    if not (first <= last).all():
        covered = np.flatnonzero(first <= last)
        found = ranges_by_id(windows, partials.only(covered), first[covered], last[covered], empty)
        return RangesById(*_among(found.low, found.high, covered, rows), covered[found.row], found.number)
    begin = entering(WindowIds(first, last), starts, empty == "emit")
    ends = np.append(starts[1:], rows) - 1
    stop = np.empty_like(last)  # the first window that a later frame is in
    stop[:-1] = first[1:]
    stop[ends] = last[ends] + 1
    if empty == "skip":
        stop = np.minimum(stop, last + 1)
    if within is not None:
        begin, first = np.maximum(begin, within[0]), np.maximum(first, within[0])
        last, stop = np.minimum(last, within[1]), np.minimum(stop, within[1] + 1)
    counts = last + 1.0  # int64 may wrap
    counts -= begin
    if (total := float(np.maximum(counts, 0.0, out=counts).sum())) > MAX_WINDOWS:
        raise QueryError(
            f"{windows} are {total:.2g} over {rows} frames, more than one process can hold; expected a longer step"
            + (", or empty='skip'" if empty == "emit" else "")
        )
    count, leaving = np.maximum(last + 1 - begin, 0), np.maximum(stop - first, 0)
    if loops is not None:
        found = RangesById(*(np.empty(count.sum(), np.int64) for _ in range(4)))
        loops.ranges_of_windows(*map(np.ascontiguousarray, (begin, count, leaving)), *found)
        return found
    row, high = np.repeat(np.arange(rows), count), np.repeat(np.arange(1, rows + 1), leaving)
    number = np.arange(len(row)) - np.repeat(np.cumsum(count) - count - begin, count)
    return RangesById(np.minimum(row, high), high, row, number)


def _among(low: Ints, high: Ints, rows: Ints, count: int) -> tuple[Ints, Ints]:
    """Ranges over some of ``count`` rows as ranges over all of them."""
    rows = np.append(rows, count)
    low, filled = rows[low], high > low
    return low, np.where(filled, rows[high - 1] + 1, low)


def entering(of: WindowIds, starts: Ints, emits_empty: bool) -> Ints:
    """First window with this row's frame but not the previous row's; beyond the row's last window if none starts here.

    With ``empty="emit"`` the windows between two frames, which take in neither, go with the later one.
    """
    begin = np.empty_like(of.first)
    begin[1:] = of.last[:-1] + 1
    begin[starts] = of.first[starts]
    return begin if emits_empty else np.maximum(begin, of.first)


@dataclass(frozen=True)
class Steps:
    """Windows ``[offset + k * every, offset + k * every + size)`` for every integer k.

    The axis is cut wherever a window starts or ends: one frame a step where the step divides the size, else two, a
    first part as long as the remainder and the rest (S. Krishnamurthy, C. Wu and M. Franklin, "On-the-fly sharing for
    streamed aggregation", 2006: paired windows).
    """

    size: int
    every: int
    offset: int = 0

    @property
    def steps(self) -> int:
        """The number of whole steps in a window."""
        return self.size // self.every

    @property
    def rest(self) -> int:
        """The remainder of a window after its whole steps."""
        return self.size % self.every

    @property
    def frames_in_window(self) -> int:
        """The number of frames in a window."""
        return self.steps if not self.rest else 2 * self.steps + 1

    def frames(self, positions: Ints) -> tuple[Ints, Bools | None]:
        """The frame of each position, and which positions are in any window (None: all)."""
        shifted = positions - self.offset if self.offset else positions
        step = shifted // self.every
        if not self.rest:
            return step, None
        second = shifted - step * self.every >= self.rest
        return 2 * step + second, None if self.steps else ~second

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        """Where each frame starts and ends."""
        if not self.rest:
            start = frames * self.every + self.offset
            return start, start + self.every
        step, second = frames >> 1, frames & 1
        start = step * self.every + self.offset + second * self.rest
        return start, np.where(second, (step + 1) * self.every + self.offset, start + self.rest)

    def windows_of(self, frames: Ints) -> WindowIds:
        """The numbers of the first and the last window that take in each frame."""
        if not self.rest:
            return WindowIds(frames - self.steps + 1, frames)
        step, second = frames >> 1, frames & 1
        return WindowIds(step - self.steps + second, step)

    def ranges_by_id(self, windows: str, partials: PartialsView, empty: str, min_fill: str) -> RangesById:
        """The windows over partials; with ``min_fill="full"`` those that begin with the key's first step or later."""
        found = ranges_by_id(windows, partials, *(partials.ids or self.windows_of(partials.frames)), empty)
        if min_fill == "full" and len(found.number):
            first = partials.frames[partials.starts] >> int(self.rest > 0)
            found = found.where(found.number >= first[partials.key[found.row]])
        return found

    def bounds(self, number: Ints) -> tuple[Ints, Ints]:
        """Start and end of windows."""
        start = number * self.every + self.offset
        return start, start + self.size
