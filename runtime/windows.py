"""Sliding and tumbling windows: which frame an event is in, and which ranges of frames form windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aggregators.errors import DurationError, QueryError
from .times import LIMIT, Duration, TimeColumn, describe, overflow_guard

Ints = NDArray[np.int64]

MOST = 1 << 29
"""More windows than this do not fit one process's memory; the query is refused instead."""


class Ranges(NamedTuple):
    """The windows of a partials table, sorted by key and window: half-open ranges of its rows.

    ``low`` and ``high`` bound the rows of each window, ``row`` is some row of its key, ``number`` says which window
    it is.
    """

    low: Ints
    high: Ints
    row: Ints
    number: Ints


@dataclass(frozen=True)
class Sliding:
    """Windows of one size at a constant step; made by :func:`sliding` and :func:`tumbling`."""

    size: Duration
    every: Duration
    offset: Duration = 0
    closed: Literal["left", "right"] = "left"
    empty: Literal["skip", "emit"] = "skip"

    def __str__(self) -> str:
        words = (
            f"tumbling windows of {self.size}"
            if self.size == self.every
            else f"windows of {self.size} every {self.every}"
        )
        return words + (f", offset by {self.offset}" if self.offset else "")

    def bind(self, time: TimeColumn) -> Grid:
        """The windows on a time column, in its ticks."""
        size, every = time.duration(self.size, "size"), time.duration(self.every, "every")
        for argument, ticks, value in (("size", size, self.size), ("every", every, self.every)):
            if ticks <= 0:
                raise DurationError(f"{argument} is {value!r}; expected a duration above zero")
            if ticks >= LIMIT:
                raise DurationError(f"{argument} is {value!r}; expected a duration that fits int64")
        return Grid(time, size, every, time.duration(self.offset, "offset") % every, self.closed, self.empty)


def sliding(
    size: Duration,
    every: Duration,
    *,
    offset: Duration = 0,
    closed: Literal["left", "right"] = "left",
    empty: Literal["skip", "emit"] = "skip",
) -> Sliding:
    """Windows of one size at a constant step, also called hopping windows.

    Window k is ``[offset + k * every, offset + k * every + size)``. Steps above the size leave gaps, whose events
    are in no window.

    Parameters
    ----------
    size, every
        Durations: a string as Spark writes them (``"1 hour"``), a timedelta, or an integer where the time is an
        integer.
    offset
        Where the grid of windows starts, counted from the epoch in UTC.
    closed
        Which end belongs to a window: ``"left"`` for ``[start, end)``, ``"right"`` for ``(start, end]``.
    empty
        ``"skip"`` leaves out windows without an event; ``"emit"`` gives each key every window from its first event's
        to its last one's.

    Raises
    ------
    QueryError
        If ``closed`` or ``empty`` is none of these. Durations are checked against the time column, in ``.aggregate``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [1, 2, 4]})
    >>> windows = ff.events(events, time="t").window(ff.sliding(4, every=2)).aggregate(n=ff.Count())
    >>> [(w["window"]["start"], w["window"]["end"], w["n"]) for w in windows.to_pylist()]
    [(-2, 2, 1), (0, 4, 2), (2, 6, 2), (4, 8, 1)]
    """
    if closed not in ("left", "right"):
        raise QueryError(f"closed is {closed!r}; expected 'left' for [start, end) or 'right' for (start, end]")
    if empty not in ("skip", "emit"):
        raise QueryError(f"empty is {empty!r}; expected 'skip' or 'emit'")
    return Sliding(size, every, offset, closed, empty)


def tumbling(
    size: Duration,
    *,
    offset: Duration = 0,
    closed: Literal["left", "right"] = "left",
    empty: Literal["skip", "emit"] = "skip",
) -> Sliding:
    """Windows of one size, each starting where the one before ends: :func:`sliding` with a step as long as the size.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 3, 4, 9]})
    >>> ff.events(events, time="t").window(ff.tumbling(4)).aggregate(n=ff.Count())["n"].to_pylist()
    [2, 1, 1]
    """
    return sliding(size, size, offset=offset, closed=closed, empty=empty)


@dataclass(frozen=True)
class Grid:
    """Sliding windows in ticks of a time column.

    The line is cut wherever a window starts or ends: one frame a step where the step divides the size, else two, a
    first part as long as the remainder and the rest (S. Krishnamurthy, C. Wu and M. Franklin, "On-the-fly sharing for
    streamed aggregation", 2006: paired windows).
    """

    time: TimeColumn
    size: int
    every: int
    offset: int
    closed: str
    empty: str

    @property
    def steps(self) -> int:
        """How many whole steps a window has."""
        return self.size // self.every

    @property
    def rest(self) -> int:
        """What is left of a window after its whole steps, in ticks."""
        return self.size % self.every

    @property
    def block(self) -> tuple[int, int]:
        """(origin, width) in ticks: no frame straddles two of ``(ticks - origin) // width``."""
        return self.offset + (self.closed == "right"), self.every

    @property
    def frames_in_window(self) -> int:
        """How many frames a window has."""
        return self.steps if not self.rest else 2 * self.steps + 1

    def frames(self, ticks: Ints) -> tuple[Ints, NDArray[np.bool_] | None]:
        """The frame of each event, and which events are in any window (None: all)."""
        if not len(ticks):
            return ticks, None
        reach = self.size + 2 * self.every
        overflow_guard(int(ticks.min()) - reach, int(ticks.max()) + reach, self.time)
        shifted = ticks - (self.offset + (self.closed == "right"))
        step = shifted // self.every
        if not self.rest:
            return step, None
        second = shifted - step * self.every >= self.rest
        return 2 * step + second, None if self.steps else ~second

    def windows_of(self, frames: Ints) -> tuple[Ints, Ints]:
        """The numbers of the first and the last window that take in each frame."""
        if not self.rest:
            return frames - self.steps + 1, frames
        step, second = frames >> 1, frames & 1
        return step - self.steps + second, step

    def ranges(self, frames: Ints, starts: Ints) -> Ranges:
        """The windows over partials sorted by key and frame, as :func:`ranges` has them."""
        return ranges(self, *self.windows_of(frames), starts)

    def bounds(self, number: Ints) -> tuple[Ints, Ints]:
        """Start and end of windows, in ticks."""
        start = number * self.every + self.offset
        return start, start + self.size

    def describe_ends(self) -> str:
        """Which end belongs to a window, and what becomes of empty ones, in words."""
        ends = "[start, end)" if self.closed == "left" else "(start, end]"
        return f"{ends}, windows without an event are {'left out' if self.empty == 'skip' else 'given too'}"

    def describe(self) -> str:
        """The windows in words."""
        size, every = (describe(ticks, self.time.type) for ticks in (self.size, self.every))
        return f"{size} every {every}, {self.describe_ends()}"

    def describe_frames(self) -> str:
        """How the line is cut, in words."""
        every, type = describe(self.every, self.time.type), self.time.type
        if not self.rest:
            return f"one frame every {every}; {self.frames_in_window} to a window"
        first, second = describe(self.rest, type), describe(self.every - self.rest, type)
        if not self.steps:
            return f"one frame of {first} every {every}; the {second} after it are in no window"
        return f"two frames every {every}, of {first} and {second}; {self.frames_in_window} to a window"


def ranges(grid: Grid, first: Ints, last: Ints, starts: Ints) -> Ranges:
    """The windows over partials sorted by key and frame.

    Both ends of all ranges come from counting, without any search: a frame is the first one in the windows that
    take it in but not the frame before it, and the last one in those that do not take in the next.

    Parameters
    ----------
    first, last
        The first and the last window that take in each row's frame; where none does, ``first`` is ``last + 1``.
    starts
        The first row of each key.
    """
    rows = len(first)
    if not rows:
        none = np.empty(0, np.int64)
        return Ranges(none, none, none, none)
    ends = np.append(starts[1:], rows) - 1
    begin = np.empty_like(first)  # the first window that no earlier frame is in
    begin[1:] = last[:-1] + 1
    begin[starts] = first[starts]
    stop = np.empty_like(last)  # the first window that a later frame is in
    stop[:-1] = first[1:]
    stop[ends] = last[ends] + 1
    if grid.empty == "skip":
        begin, stop = np.maximum(begin, first), np.minimum(stop, last + 1)
    entering, leaving = last + 1 - begin, stop - first
    total = float((last.astype(np.float64) + 1 - begin).sum())  # int64 may wrap where it is far too much
    if total > MOST:
        raise QueryError(
            f"windows of {describe(grid.size, grid.time.type)} every {describe(grid.every, grid.time.type)} are "
            f"{total:.2g} over {rows} frames, more than one process can hold; expected a longer step, or "
            "empty='skip' where it is 'emit'"
        )
    low = np.repeat(np.arange(rows), entering)
    high = np.repeat(np.arange(1, rows + 1), leaving)
    before = np.cumsum(entering) - entering
    number = np.arange(len(low)) - np.repeat(before - begin, entering)
    return Ranges(np.minimum(low, high), high, low, number)
