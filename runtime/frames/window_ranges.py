"""Windows as ranges of rows of partials, or as what each row is in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...aggregators import loops
from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Bools, Ints
from .partials_view import PartialsView

MAX_WINDOWS = 1 << 29
"""More windows than this do not fit one process's memory; the query is refused instead."""


UNTIMED: Ints = np.empty(0, np.int64)
"""The bounds of windows for which nobody asks."""

EVERY = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""The numbers of the first and the last window that there may be."""


class Ranges(NamedTuple):
    """The windows of a partials table, sorted by key and window (or by ``at``): half-open ranges of its rows.

    ``low`` and ``high`` bound the rows of each window. ``row`` is a row of its key (its own row, where windows have a
    row span). ``start`` and ``end`` are its bounds in ticks, ``at`` is the time of its result, where results have one.
    ``of`` is the row of another table that it belongs to, where windows are from one. Bounds may be :data:`UNTIMED`.
    """

    low: Ints
    high: Ints
    row: Ints
    start: Ints
    end: Ints
    at: Ints | None = None
    of: Ints | None = None

    def where(self, rows: Any) -> Ranges:
        """Some of the windows."""
        low, high, row, start, end = (column if column is UNTIMED else column[rows] for column in self[:5])
        at, of = (None if column is None else column[rows] for column in self[5:])
        return Ranges(low, high, row, start, end, at, of)

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
    rows = len(first)
    if not rows:
        return RangesById(first, first, first, first)
    columns = map(np.ascontiguousarray, (first, last, partials.starts.astype(np.int64, copy=False)))
    of = *columns, empty == "emit", *(partials.within or EVERY)
    total, covered = loops.count_windows(*of)
    if not covered:
        some = np.flatnonzero(first <= last)
        found = ranges_by_id(windows, partials.only(some), first[some], last[some], empty)
        return RangesById(*_among(found.low, found.high, some, rows), some[found.row], found.number)
    if total > MAX_WINDOWS:
        raise QueryError(
            f"{windows} are {total:.2g} over {rows} frames, more than one process can hold; expected a longer step, "
            + ("empty='skip', " if empty == "emit" else "")
            + "or no events that far apart, such as one of a wrong time"
        )
    high, row, number = (np.empty(int(total), np.int64) for _ in range(3))
    loops.ranges_of_windows(*of, high, row, number)
    return RangesById(row if empty == "skip" else np.minimum(row, high), high, row, number)


def _among(low: Ints, high: Ints, rows: Ints, count: int) -> tuple[Ints, Ints]:
    """Ranges over some of ``count`` rows as ranges over all of them."""
    rows = np.append(rows, count)
    low, filled = rows[low], high > low
    return low, np.where(filled, rows[high - 1] + 1, low)
