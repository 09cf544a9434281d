"""Windows around each event, by rows or by time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ...aggregators import loops
from ...aggregators.durations import Length, written
from ...aggregators.errors import QueryError
from ...aggregators.states.alike import are_ones, numbers
from ...aggregators.states.arrays import Bools, Ints
from ..columns.sorting import differs
from ..columns.ticks import NEVER, Duration, TimeColumn, describe, overflow_guard
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import UNTIMED, Coverage, Ranges
from ..frames.windows import RowsBack, TypeOf, Windows
from .calendar import Reach, reach_of
from .spec import BOUNDS, Bounds, MinFill, Spec, check_words, of_rows, one_of, samples


@dataclass(frozen=True)
class Around(Spec):
    """Windows around each event; made by :func:`around`."""

    rows: tuple[int, int] | None
    time: tuple[Duration, Duration] | None
    closed: str = "both"
    min_fill: str = "full"
    min_samples: int = 0
    timezone: str | None = None

    def __str__(self) -> str:
        first, last = self.rows or self.time or (0, 0)
        return f"from {first} to {last}" + (" rows" if self.rows else "") + " around each event"

    def bind(self, time: TimeColumn, type_of: TypeOf) -> AroundRows | AroundTime:
        if self.rows is not None:
            first, last = self.rows
            first, last = first + (self.closed in ("right", "neither")), last - (self.closed in ("left", "neither"))
            if first > last:
                raise QueryError(f"rows is {self.rows!r} with closed={self.closed!r}, which has no row; expected some")
            fill = self.min_fill == "partial"
            return AroundRows(time=time, first=first, last=last, partial=fill, min_samples=self.min_samples)
        assert self.time is not None
        start, end = (reach_of(time, value, "time", self.timezone) for value in self.time)
        if start.calendar is end.calendar is None:
            check_ascending("time", self.time, start.ticks, end.ticks, partial(in_words, type=time.type))
        elif start.least > end.most or (start.calendar == end.calendar and start.units > end.units):
            raise QueryError(f"time is {self.time!r}, whose first bound is after its last; expected it before")
        return AroundTime(time=time, start=start, end=end, closed=self.closed, min_samples=self.min_samples)


def around(
    *,
    rows: Sequence[int] | None = None,
    time: Sequence[Duration] | None = None,
    closed: Bounds = "both",
    min_fill: MinFill | None = None,
    min_samples: int = 0,
    timezone: str | None = None,
) -> Around:
    """A window around each event, relative to it: the past, the future, or both.

    Every event gives one result, stamped with its time ``at``. Rows are those of its key, in the order of their time,
    then of the columns that ``ff.events(ties=)`` names, then as they came.

    Parameters
    ----------
    rows
        The first and the last row, counted from the event's own, which is 0: ``(-2, 0)`` for it and the two before,
        ``(0, 2)`` for it and the two after. ``window`` then has the times of the first and the last row.
    time
        The same in durations: ``("-2 seconds", "1 second")``; always given, even where there is no event. A day is 24
        hours; months, quarters and years go by the calendar, from a day to the same day of another month, or its last,
        and business days from one business day to another: see :func:`business_days`.
    closed
        Which ends belong to the window: ``"both"``, ``"left"``, ``"right"`` or ``"neither"``.
    min_fill
        ``"full"``, the default of rows, leaves out windows that reach beyond the first or last row; ``"partial"`` gives
        them as far as they go. Windows of time are never left out.
    min_samples
        As for :func:`sliding`.
    timezone
        The zone in which months are counted, as for :func:`sliding`.

    Raises
    ------
    QueryError
        If neither or both of ``rows`` and ``time`` are given, or they are no pairs, or the first is after the last.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = ff.events(pa.table({"t": [1, 2, 4, 9], "x": [1, 2, 3, 4]}), time="t")
    >>> events.window(ff.around(rows=(-1, 0))).aggregate(x=ff.Sum("x")).select(["at", "x"]).to_pydict()
    {'at': [2, 4, 9], 'x': [3, 5, 7]}
    >>> events.window(ff.around(time=(-2, 2))).aggregate(x=ff.Sum("x")).select(["at", "x"]).to_pydict()
    {'at': [1, 2, 4, 9], 'x': [3, 6, 5, 4]}
    """
    if (rows is None) == (time is None):
        given = "both rows and time" if rows is not None else "neither rows nor time"
        raise QueryError(f"around() is given {given}; expected one of them, such as rows=(-2, 0)")
    one_of("closed", closed, BOUNDS)
    argument, bounds = ("rows", rows) if rows is not None else ("time", time)
    pair: Any = tuple(bounds) if isinstance(bounds, (tuple, list)) else ()
    if len(pair) != 2:
        raise QueryError(f"{argument} is {bounds!r}; expected a pair, such as (-2, 0)")
    if rows is not None and any(isinstance(row, bool) or not isinstance(row, (int, np.integer)) for row in pair):
        raise QueryError(f"rows is {rows!r}; expected two integers, such as (-2, 0)")
    if min_fill is not None:
        check_words(min_fill=min_fill)
    if time is not None:
        if min_fill == "full":
            raise QueryError("min_fill is 'full', but windows of time are always given; expected it only with rows=")
        ends = [written(value, "time") for value in pair]
        integers = [end for end in ends if isinstance(end, int)]
        times = [end.microseconds for end in ends if isinstance(end, Length) and not end.calendar]
        for known, kind in ((integers, pa.int64()), (times, pa.timestamp("us"))):
            if len(known) == 2:
                check_ascending("time", pair, known[0], known[1], partial(in_words, type=kind))
        return Around(None, pair, closed, min_samples=samples(min_samples), timezone=timezone)
    first, last = (of_rows("rows", int(row), rows) for row in pair)
    least = samples(min_samples, abs(last - first) + 1)
    check_ascending("rows", pair, first, last, str)
    return Around((first, last), None, closed, min_fill or "full", least)


def check_ascending(argument: str, given: Any, first: int, last: int, words: Callable[[int], str]) -> None:
    """QueryError where the first of two bounds is after the last: it could be meant before the event, or after it."""
    if first <= last:
        return
    ways = dict.fromkeys([(last, first), (-first, -last)])
    written = []
    for ends in ways:
        pair = ", ".join(word if word.lstrip("-").isdigit() else repr(word) for word in map(words, ends))
        after, before = ends[0] >= 0, ends[1] <= 0
        side = " for what comes after the event" * after or " for what comes before it" * before
        written.append(f"{argument}=({pair}){side}")
    raise QueryError(f"{argument} is {given!r}, whose first bound is after its last; expected {' or '.join(written)}")


def in_words(ticks: int, type: pa.DataType) -> str:
    """The ticks of a duration, for times of a type, as it can be written."""
    if pa.types.is_integer(type):
        return str(ticks)
    words = describe(abs(ticks), type) if ticks else "0 days" if pa.types.is_date(type) else "0 seconds"
    return re.sub(r"(\d+)", r"-\1", words) if ticks < 0 else words


@dataclass(frozen=True, kw_only=True)
class AroundRows(Windows):
    """Rows before and after each row: a frame a row."""

    first: int
    last: int
    partial: bool
    unit = "rows"
    window_inputs = frozenset({"first"})
    counts_rows = True
    one_for_each = "event"
    stamp: str = "own"
    closed: str = "both"

    @property
    def row_span(self) -> tuple[int, int]:
        return max(-self.first, 0), max(self.last, 0)

    @property
    def rows_back(self) -> RowsBack | None:
        return RowsBack(-self.first, -self.last, not self.partial) if self.last <= 0 and self.emit == "every" else None

    def cuts_as(self, other: Windows) -> bool:
        return isinstance(other, AroundRows)

    def ranges(self, partials: PartialsView) -> Ranges:
        low, high, filled = partials.around(self.first, self.last)
        found = Ranges(low, high, numbers(len(low)), UNTIMED, UNTIMED)
        if not filled or not self.partial:
            least = 1 if self.partial else self.last - self.first + 1
            found = found.where(np.flatnonzero(high - low >= least))
        if partials.untimed:
            return found
        at = partials.window_inputs["first"]
        return found._replace(start=at[found.low], end=at[found.high - 1], at=at[found.row])

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        ticks = view.window_inputs["first"]
        last = ranges.row + max(self.last, 0)
        there = last < view.ends[view.key[ranges.row]]
        return np.where(there, ticks[np.minimum(last, len(ticks) - 1)] + 1, NEVER)

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        return ticks + 1

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        return view.from_place(view.ends - view.starts - max(self.last, 0) + min(self.first, 0))

    def describe(self) -> str:
        fill = "as far as they go" if self.partial else "where all of them are there"
        return f"rows {self.first} to {self.last} around each row, {fill}{self.samples_in_words}"


@dataclass(frozen=True, kw_only=True)
class AroundTime(Windows):
    """Time before and after each event: a frame a time."""

    start: Reach
    end: Reach
    window_inputs = frozenset({"rows"})
    stamp: str = "own"
    block = (0, 1)
    counts_rows = True
    one_for_each = "event"

    @property
    def tick_span(self) -> tuple[int, int]:
        return max(-self.start.least, 0), max(self.end.most, 0)

    @property
    def ticks_around(self) -> tuple[int, int] | None:
        if not self.forward:
            return None
        begin = self.start.ticks + self.after_start
        return begin, max(begin, self.end.ticks + self.after_end)

    def cuts_as(self, other: Windows) -> bool:
        return isinstance(other, AroundTime)

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        before, after = self.tick_span
        overflow_guard(ticks, 1 + before, 1 + after, self.time)
        return ticks, None

    def ranges(self, partials: PartialsView) -> Ranges:
        """Every window over partials, as often as events share its time."""
        at, row = partials.frames, numbers(len(partials.frames))
        start, end = self.start.of(at), self.end.of(at)
        shifts = self.after_start, self.after_end
        low, high = (
            reach(partials, far.ticks + shift) if far.calendar is None else partials.locate(partials.key, bound + shift)
            for far, bound, shift in zip((self.start, self.end), (start, end), shifts, strict=True)
        )
        if self.start.most + shifts[0] > self.end.least + shifts[1]:
            high = np.maximum(low, high)
        found = Ranges(low, high, row, UNTIMED, UNTIMED) if partials.untimed else Ranges(low, high, row, start, end, at)
        rows = partials.window_inputs["rows"]
        return found if are_ones(rows) else found.where(np.repeat(row, rows))

    @property
    def forward(self) -> bool:  # type: ignore[override]  # the last days of a month come before its first ones
        return self.start.calendar is self.end.calendar is None

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        assert ranges.at is not None
        return np.maximum(ranges.at + 1, ranges.end + self.after_end)

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        return ticks + max(1, self.end.most + self.after_end)

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        """Partials in reach of events to come, or of events whose windows have not closed."""
        found = self.ranges(view)
        still = np.flatnonzero(self.closing_ticks(found, view) > watermark)
        keys = np.arange(len(view.starts))
        cut = view.locate(keys, np.full(len(keys), watermark + self.start.least))
        np.minimum.at(cut, view.key[found.row[still]], np.minimum(found.low, found.row)[still])
        return view.from_place(cut - view.starts)

    def describe(self) -> str:
        start, end = (far.words(self.time) for far in (self.start, self.end))
        return f"{start} to {end} around each event, closed={self.closed!r}{self.samples_in_words}"


def reach(partials: PartialsView, distance: int) -> Ints:
    """The first row of each row's key whose frame is not below its own plus a distance."""
    if distance in (0, 1) and differs(partials.frames).all():  # its own row, or the next one
        return numbers(len(partials.frames) + distance)[distance:]
    found = np.empty(len(partials.frames), np.int64)
    loops.reach(np.ascontiguousarray(partials.frames), partials.starts.astype(np.int64), distance, found)
    return found
