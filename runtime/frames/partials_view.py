"""What windows see of partials, and what they give: ranges of rows, or the windows that each row is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.errors import QueryError
from ..columns.key_codes import pack, span

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

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

    def where(self, kept: Any) -> Ranges:
        """Some of the windows."""
        low, high, row, start, end = (column[kept] for column in self[:5])
        return Ranges(low, high, row, start, end, None if self.at is None else self.at[kept])


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

    def where(self, kept: Ints) -> Coverage:
        """Some of the windows, by their places in ascending order."""
        first = np.searchsorted(kept, self.first)
        last = np.searchsorted(kept, self.last, side="right") - 1
        row, start, end = (column[kept] for column in self[2:5])
        return Coverage(first, last, row, start, end, None if self.at is None else self.at[kept])


class WindowIds(NamedTuple):
    """The numbers of the first and the last window that take in each frame."""

    first: Ints
    last: Ints


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
        What the windows asked to know of each row, by name; see :attr:`Windows.window_inputs`.
    keys
        The key columns, with one value for each key.
    within
        The first and the last window that are wanted, by their numbers, where these are not all; see
        :meth:`Windows.window_ids`.
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
    inside: Mask | None = None
    ids: WindowIds | None = None

    def part(self, keys: slice, rows: slice, within: tuple[int, int] | None = None) -> PartialsView:
        """The view of some keys, and the rows of these, or some rows of one key."""
        return PartialsView(
            self.frames[rows],
            (self.starts[keys] - rows.start).clip(0),
            {name: values[rows] for name, values in self.window_inputs.items()},
            tuple(key[keys] for key in self.keys),
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


class LiveFrames(NamedTuple):
    """The frames in which interval events live, in one list sorted by key and time, and the events' places in it.

    ``first`` and ``last`` are the frames in which the events of each partial start and end, ``frames`` are these frames
    as windows see them, and ``ticks`` says how long each is (None where that is not known).
    """

    first: Ints
    last: Ints
    frames: PartialsView
    ticks: Ints | None


def changed(first: Ints, last: Ints, key: Ints) -> Ints:
    """The windows that have not the same events as the one before, where each row is in a run of windows.

    ``first`` and ``last`` are the runs of rows, and ``key`` is that of each window.
    """
    fresh = np.zeros(len(key) + 1, bool)
    inside = first <= last
    fresh[first[inside]] = fresh[last[inside] + 1] = True  # a run begins with this window, or ended with that one
    fresh[1:-1] |= key[1:] != key[:-1]
    fresh[0] = True
    return np.flatnonzero(fresh[:-1])


class RangesById(NamedTuple):
    """Windows by their numbers: ranges of rows, some row of the key, the number."""

    low: Ints
    high: Ints
    row: Ints
    number: Ints

    def where(self, kept: Any) -> RangesById:
        """Some of the windows."""
        return RangesById(*(column[kept] for column in self))


def ranges_by_id(windows: str, partials: PartialsView, first: Ints, last: Ints, empty: str = "skip") -> RangesById:
    """The windows over partials, where each frame is in a run of windows of consecutive numbers.

    Both ends of all ranges come from counting, without any search: a frame is the first one in the windows that
    take it in but not the frame before it, and the last one in those that do not take in the next.

    Parameters
    ----------
    windows
        What they are, for a message.
    partials
        The partials.
    first, last
        The first and the last window that take in each row's frame, both ascending in each key; where none does,
        ``first`` is above ``last``.
    empty
        ``"emit"`` for all windows from a key's first to its last, ``"skip"`` for those with events.
    """
    covered = np.flatnonzero(first <= last)
    if len(covered) == len(first):
        return _ranges_by_id(windows, WindowIds(first, last), partials.starts, empty, partials.within)
    key = partials.key[covered]
    anew = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
    found = _ranges_by_id(windows, WindowIds(first[covered], last[covered]), anew, empty, partials.within)
    rows = np.append(covered, len(first))
    low, filled = rows[found.low], found.high > found.low
    high = np.where(filled, rows[found.high - 1] + 1, low)
    return RangesById(low, high, rows[found.row], found.number)


def _ranges_by_id(windows: str, of: WindowIds, starts: Ints, empty: str, within: tuple[int, int] | None) -> RangesById:
    rows = len(of.first)
    if not rows:
        none = np.empty(0, np.int64)
        return RangesById(none, none, none, none)
    first, last, begin = of.first, of.last, entering(of, starts, empty)
    ends = np.append(starts[1:], rows) - 1
    stop = np.empty_like(last)  # the first window that a later frame is in
    stop[:-1] = first[1:]
    stop[ends] = last[ends] + 1
    if empty == "skip":
        stop = np.minimum(stop, last + 1)
    if within is not None:
        begin, first = np.maximum(begin, within[0]), np.maximum(first, within[0])
        last, stop = np.minimum(last, within[1]), np.minimum(stop, within[1] + 1)
    total = float((last.astype(np.float64) + 1 - begin).clip(0).sum())  # int64 may wrap where it is far too much
    if total > MAX_WINDOWS:
        raise QueryError(
            f"{windows} are {total:.2g} over {rows} frames, more than one process can hold; expected a longer step, or "
            "empty='skip' where it is 'emit'"
        )
    count, leaving = np.maximum(last + 1 - begin, 0), np.maximum(stop - first, 0)
    low = np.repeat(np.arange(rows), count)
    high = np.repeat(np.arange(1, rows + 1), leaving)
    before = np.cumsum(count) - count
    number = np.arange(len(low)) - np.repeat(before - begin, count)
    return RangesById(np.minimum(low, high), high, low, number)


def entering(of: WindowIds, starts: Ints, empty: str) -> Ints:
    """The first window that takes in each row's frame and no earlier one; above the row's last where there is none.

    With ``empty="emit"`` the windows between two frames, which take in neither, go with the later one.
    """
    begin = np.empty_like(of.first)
    begin[1:] = of.last[:-1] + 1
    begin[starts] = of.first[starts]
    return np.maximum(begin, of.first) if empty == "skip" else begin


def join_intervals(windows: str, partials: PartialsView, begin: Ints, end: Ints) -> LiveFrames:
    """The frames in which events live that start in the frames ``begin`` (ascending in each key) and end in ``end``."""
    key = partials.key
    packed, _ = pack([(key, len(partials.starts)), span(end)], len(end))
    longest = np.maximum.accumulate(packed)
    fresh = np.ones(len(begin), bool)
    reached = end[np.maximum.accumulate(np.where(packed == longest, np.arange(len(end)), 0))]
    fresh[1:] = (key[1:] != key[:-1]) | (begin[1:] > reached[:-1])
    heads = np.flatnonzero(fresh)
    lengths = reached[np.append(heads[1:], len(end))[: len(heads)] - 1] - begin[heads] + 1
    if float(lengths.astype(np.float64).sum()) > MAX_WINDOWS:
        raise QueryError(
            f"{windows}: the events live in {float(lengths.astype(np.float64).sum()):.2g} frames, more than one "
            "process can hold; expected a longer step, or shorter lives"
        )
    offsets = np.cumsum(lengths) - lengths
    frames = np.repeat(begin[heads] - offsets, lengths) + np.arange(int(lengths.sum()))
    starts = offsets[np.searchsorted(key[heads], np.arange(len(partials.starts)))].astype(np.int64)
    shift = (offsets - begin[heads])[np.cumsum(fresh) - 1]
    return LiveFrames(begin + shift, end + shift, PartialsView(frames, starts, {}, partials.keys), None)
