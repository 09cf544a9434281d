"""Windows of one size at a constant step: sliding, tumbling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
import pyarrow as pa

from ...aggregators.durations import positive
from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import Duration, TimeColumn, describe, overflow_guard
from ..frames.filling import Filling
from ..frames.months_back import MonthsBack
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView, WindowIds
from ..frames.steps import Steps
from ..frames.window_ranges import Ranges
from ..frames.windows import Numbering, Pattern, RowOrder, TypeOf, WithValidity
from ..frames.words import describe_gaps, describe_steps
from .calendar import Calendar, calendar, in_weeks, monday, moved
from .choices import Slid, Tumbled, with_named
from .grid import Grid, Offset, offset_ticks
from .spec import Spec, checked


@dataclass(frozen=True)
class Sliding(Spec):
    """Windows of one size at a constant step; made by :func:`sliding` and :func:`tumbling`."""

    size: Duration
    every: Duration
    offset: Offset = 0
    closed: str = "left"
    timezone: str | None = None
    empty: str = "skip"
    min_fill: str = "partial"
    emit: str = "every"
    stamp: str = "interval"
    gaps: str = field(default="warn", compare=False)
    min_samples: int = 0
    filling: Filling | None = None
    intervals = "also"

    def __str__(self) -> str:
        words = (
            f"tumbling windows of {self.size}"
            if self.size == self.every
            else f"windows of {self.size} every {self.every}"
        )
        words += f", offset by {self.offset}" if self.offset else ""
        return words + (f", in {self.timezone}" if self.timezone else "")

    def bind(self, time: TimeColumn, type_of: TypeOf) -> TickSteps:
        """The windows on a time column, in its ticks or in calendar units.

        Raises
        ------
        DurationError
            If a duration does not fit the column, or is not above zero.
        """
        names = ("closed", "emit", "stamp", "min_fill", "min_samples", "empty", "gaps")
        choices = {name: getattr(self, name) for name in names}
        of_calendar = calendar(time, self.size, self.every, self.offset, self.timezone)
        choices["fill"] = None if self.filling is None else self.filling.bind(time, self.closed, self.timezone)
        choices["moved"] = moved(time, self.every, self.offset, self.timezone)
        if of_calendar is not None:
            steps, units = of_calendar
            if isinstance(steps, MonthsBack):  # earlier versions had none
                choices["moved"] = ""
            return TickSteps(time=time, steps=steps, calendar=units, **choices)
        size, every = time.length(self.size, "size"), time.length(self.every, "every")
        offset = (offset_ticks(time, self.offset) + monday(time, self.every, self.offset)) % every
        weeks = in_weeks(self.every) and not pa.types.is_integer(time.type)
        return TickSteps(time=time, steps=Steps(size, every, offset), weeks=weeks, **choices)


@with_named(Slid)
def sliding(size: Duration, every: Duration | None = None, **options: Unpack[Slid]) -> Sliding:
    """Windows of one size at a constant step, also called hopping windows.

    Window k is ``[offset + k * every, offset + k * every + size)``. Steps above the size leave gaps, whose events
    are in no window; a :class:`~framefold.GapsWarning` says how much that is.

    Parameters
    ----------
    size, every
        Durations: a string as Spark writes them (``"1 hour"``), a timedelta, or an integer where the time is an
        integer. Both may be calendar units: months, quarters and years, or days and weeks, which begin on a Monday.
        Months every few days end on days of the grid, and begin on the same day of an earlier month, or the last one
        of a shorter month: ``sliding("1 month", every="1 day")`` has ``[28 February, 30 March)``. Both may be business
        days: ``"5 business days"``, or :func:`business_days` with holidays. A day off counts with the one before it.
    offset
        Where the grid of windows starts, counted from the epoch in UTC, for weeks from a Monday; or a time in UTC at
        which some window starts. Days, weeks and months count from the beginning of 1970 in their time zone:
        ``"9 hours"`` is nine o'clock there on every day, whether clocks change or not. Months take days and hours,
        too: those of ``"14 days"`` begin on the 15th, years of ``"3 months 5 days"`` on 6 April. A shorter month
        begins on its last day: ``"30 days"`` is the 31st of January, and the 28th or 29th of February. Business days
        count from the day after a weekend; they take business days, or hours: ``"-7 hours"`` begins them at 17:00 on
        the day before.
    closed
        Which end belongs to a window: ``"left"`` for ``[start, end)``, ``"right"`` for ``(start, end]``.
    timezone
        The zone whose days, weeks and months calendar windows are, such as ``"Europe/Berlin"``: a day there has 23 or
        25 hours when clocks change. That of the time column where None, or UTC where it has none; of Spark's
        timestamps UTC, whatever the session's zone.
    empty
        ``"skip"`` leaves out windows without an event; ``"emit"`` gives each key every window from its first event's
        to its last one's.
    fill_from, fill_to
        With ``empty="emit"``, the times between which each key has all windows too, wherever its events are.
    fill_keys
        A table with the columns of ``by=``: its keys have these windows even where they have no event.
    min_fill
        ``"full"`` leaves out the half-filled windows at the start, which begin before the step of the key's first
        event; ``"partial"`` gives them as they are.
    min_samples
        The least number of events in a window below which an output is null, as in pandas (``min_periods``) and Polars:
        events that have a null in a column of the output are none of them, but for ``Count``, which counts rows.
    emit
        ``"on_change"`` leaves out a window with the same events as the one before it; ``"every"`` repeats the result.
    stamp
        ``"end"`` (or ``"start"``) adds a column ``at`` with that end of the window: the result as a point in time.
        With ``"interval"`` it lives as long as the window.
    gaps
        ``"allow"`` for gaps without a warning.

    Raises
    ------
    QueryError
        If one of these words is unknown, or a duration none. Whether durations fit the time column is checked in
        ``.aggregate``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [1, 2, 4]})
    >>> windows = ff.events(events, time="t").window(ff.sliding(4, every=2)).aggregate(n=ff.Count())
    >>> [(w["window"]["start"], w["window"]["end"], w["n"]) for w in windows.to_pylist()]
    [(-2, 2, 1), (0, 4, 2), (2, 6, 2), (4, 8, 1)]
    """
    positive(size, "size", calendar=True)
    if every is None:
        raise QueryError(
            f"every= of sliding({size!r}) is missing; expected the step, or ff.tumbling({size!r}) for one as long"
        )
    positive(every, "every", calendar=True)
    return Sliding(size, every, **checked(options))


@with_named(Tumbled)
def tumbling(size: Duration, **options: Unpack[Tumbled]) -> Sliding:
    """Windows of one size, each starting where the one before ends: :func:`sliding` with a step as long as the size.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 3, 4, 9]})
    >>> ff.events(events, time="t").window(ff.tumbling(4)).aggregate(n=ff.Count())["n"].to_pylist()
    [2, 1, 1]
    """
    return sliding(size, size, **options)


@dataclass(frozen=True, kw_only=True)
class TickSteps(NumberedWindows, WithValidity):
    """Sliding windows along a time column: steps are in ticks, or in calendar units; ``weeks`` is for words."""

    steps: Steps
    min_fill: str = "partial"
    calendar: Calendar | None = None
    weeks: bool = False

    @property
    def numberings(self) -> tuple[Numbering, ...] | None:
        """One: a frame a step, or two."""
        steps = self.steps
        if self.calendar is not None:
            return None
        return (Numbering(steps.offset + self.after_end, steps.every, steps.rest, steps.steps > 0),)

    @property
    def frames_in_window(self) -> int | None:
        return self.steps.frames_in_window

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        margin = self.steps.longest + 2 * self.steps.every
        margin = margin if self.calendar is None else self.calendar.most_ticks(margin)
        overflow_guard(ticks, margin, margin, self.time)
        return self._frames(ticks)

    def frames_unchecked(self, ticks: Ints) -> Ints:
        return self._frames(ticks)[0]

    def _frames(self, ticks: Ints) -> tuple[Ints, Bools | None]:
        ticks = ticks - self.after_end if self.after_end else ticks
        return self.steps.frames(ticks if self.calendar is None else self.calendar.units(ticks))

    def pattern(self, partitioned: bool) -> Pattern:
        """Tumbling windows are cleared at once, unless each is of one instant."""
        return "weak" if self.steps.shortest == self.steps.longest == self.steps.every > 1 else "weakest"

    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From the end of the first window that an event is in to the end of the first one after it."""
        self.frames(ticks[:0] if not len(ticks) else np.array([ticks.min(), ticks.max()]))  # checks their range
        at = ticks - self.after_end
        at = at if self.calendar is None else self.calendar.units(at)
        first, beyond = self.steps.ended_by(at) + 1, self.steps.begun_by(at) + 1
        return self._in_ticks(*self.steps.bounds(first))[1], self._in_ticks(*self.steps.bounds(beyond))[1]

    @property
    def valid_for(self) -> int | None:
        return self.steps.size + self.steps.every + 1 if self.calendar is None else None

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]] | None:
        size, every, at = self.steps.size, self.steps.every, f"({rows.tick} - {self.after_end})"
        if self.calendar is not None:
            return None
        return [
            {
                name: f"{at} + {ahead} - pmod({at} - {(self.steps.offset + more) % every}, {every})"
                for name, ahead, more in (("valid_from", every, size), ("valid_to", every + size, 0))
            }
        ]

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        start, end = self._in_ticks(*self.steps.frame_bounds(frames))
        return start + self.after_end, end + self.after_end

    def _in_ticks(self, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        return (start, end) if self.calendar is None else (self.calendar.begins(start), self.calendar.begins(end))

    def window_ids(self, partials: PartialsView) -> WindowIds:
        return self.steps.windows_of(partials.frames)

    def closed_by(self, tick: int) -> int:
        edge = np.array([tick - self.after_end])
        return int(self.steps.ended_by(edge if self.calendar is None else self.calendar.units(edge))[0])

    def closing_by_id(self, numbers: Ints) -> Ints:
        _, end = self._in_ticks(*self.steps.bounds(numbers))
        return end + self.after_end

    def needs_order(self, alone: bool) -> bool:
        return self.min_fill == "full"

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        kept = super().needed_rows(view, watermark, alone)
        if self.min_fill == "full":
            kept[view.starts] = True
        return kept

    @property
    def left_out(self) -> str | None:
        """The time in no window, in words; without its share for months, which differ in length."""
        even = self.calendar is None or (self.calendar.unit == "day" and not self._months)
        found = describe_gaps(self.steps.shortest, self.steps.every, self._length, even=even)
        return f"up to {found}" if found and self._months else found

    @property
    def chunkable(self) -> bool:
        return self.emit == "every" and self.min_fill == "partial"

    def ranges(self, partials: PartialsView) -> Ranges:
        low, high, row, number = self.steps.ranges_by_id(self.named, partials, self.empty, self.min_fill)
        return Ranges(low, high, row, *self._in_ticks(*self.steps.bounds(number)))

    @property
    def named(self) -> str:
        size = self._length(self.steps.size) if self._months is None else self._months.length(self.steps.size)
        return f"windows of {size} every {self._length(self.steps.every)}"

    @property
    def _months(self) -> Calendar | None:
        """Months, where windows that end on days have so many."""
        return Calendar(self.time, "month") if isinstance(self.steps, MonthsBack) else None

    def _length(self, steps: int) -> str:
        return describe(steps, self.time.type) if self.calendar is None else self.calendar.length(steps)

    def describe(self) -> str:
        zone = (", counted from Mondays" if self.weeks else "") if self.calendar is None else self.calendar.in_zone
        ends = "[start, end)" if self.closed == "left" else "(start, end]"
        empty = f"windows without an event are {'left out' if self.empty == 'skip' else 'given too'}"
        half = ", half-filled ones at the start are left out" if self.min_fill == "full" else ""
        return f"{self.named.removeprefix('windows of ')}{zone}, {ends}, {empty}{half}{self.samples_in_words}"

    @property
    def phase(self) -> str:
        return Grid(self.steps.every, self.steps.offset, self.calendar).phase

    def describe_frames(self) -> str:
        return describe_steps(self.steps, self._length)
