"""Cumulating windows: each grows by a step up to its size, then starts anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import numpy as np

from ...aggregators.durations import BUSINESS, positive
from ...aggregators.errors import DurationError, QueryError
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.weekdays import BusinessDays
from ..columns.ticks import DAY, Duration, TimeColumn, describe, overflow_guard
from ..frames.filling import Filling
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView, WindowIds
from ..frames.window_ranges import Ranges, ranges_by_id
from ..frames.windows import Numbering, Pattern, RowOrder, TypeOf, WithValidity
from .calendar import Calendar, business, in_days, months, moved, ticks_of_day, zone_of
from .choices import Cumulated, with_named
from .grid import Grid, Offset, grid
from .spec import Spec, checked


@dataclass(frozen=True)
class Cumulating(Spec):
    """Windows that grow up to a size, then start anew; made by :func:`cumulating`."""

    size: Duration
    every: Duration
    offset: Offset = 0
    closed: str = "left"
    timezone: str | None = None
    empty: str = "skip"
    emit: str = "every"
    stamp: str = "interval"
    min_samples: int = 0
    filling: Filling | None = None
    intervals = "also"

    def __str__(self) -> str:
        words = f"windows that grow by {self.every} up to {self.size}, then start anew"
        words += f", offset by {self.offset}" if self.offset else ""
        return words + (f", in {self.timezone}" if self.timezone else "")

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Cycles:
        cycles = grid(time, self.size, "size", self.offset, self.timezone)
        size_worked, worked = business(self.size, "size"), business(self.every, "every")
        in_months, every_months = months(self.size, "size"), months(self.every, "every")
        if size_worked is not None or worked is not None:
            every, whole = self._in_business_days(size_worked, worked)
        elif in_months is None or every_months is None:
            every = time.length(self.every, "every")
            whole = in_months is not None or time.length(self.size, "size") % every == 0
        else:
            every, whole = every_months, in_months % every_months == 0
        if not whole:
            raise DurationError(f"size is {self.size!r} and every is {self.every!r}; expected a size in whole steps")
        fixed = in_months is None and size_worked is None
        if fixed and self.timezone is not None and not in_days(self.size):
            raise DurationError(
                f"size is {self.size!r} in the time zone {self.timezone!r}; expected whole days or weeks, or no "
                "timezone"
            )
        steps: Grid | None = None
        days: Calendar | None = None
        if worked is not None and size_worked is None:
            clock = cycles.origin % ticks_of_day(time) if cycles.calendar is None else cycles.calendar.clock
            zone = zone_of(time, self.timezone)
            days = Calendar(time, BUSINESS, clock, zone, business=worked.times(1))
        elif cycles.calendar is None:
            steps = Grid(every, cycles.origin)
        elif every_months is not None or worked is not None:
            steps = Grid(every, cycles.origin, cycles.calendar)
        elif in_months is not None:
            if cycles.calendar.zone is not None and in_days(self.every):
                every, days = every // DAY, Calendar(time, "day", cycles.calendar.clock, cycles.calendar.zone)
        elif every % DAY == 0:
            steps = Grid(every // DAY, cycles.origin, cycles.calendar)
        return Cycles(
            time=time, emit=self.emit, stamp=self.stamp, cycles=cycles, steps=steps, days=days, every=every,
            closed=self.closed, empty=self.empty, min_samples=self.min_samples,
            moved="" if in_months is not None else moved(time, self.size, self.offset, self.timezone),
            fill=None if self.filling is None else self.filling.bind(time, self.closed, self.timezone),
        )  # fmt: skip

    def _in_business_days(self, size: BusinessDays | None, every: BusinessDays | None) -> tuple[int, bool]:
        """The business days of a step, and whether the size has whole steps; DurationError unless they go together."""
        by_calendar = months(self.size, "size") is not None or in_days(self.size)
        if every is None or (not by_calendar if size is None else every.times(size.count) != size):
            raise DurationError(
                f"size is {self.size!r} and every is {self.every!r}; expected both in the same business days, or steps "
                "of business days and a size in days, weeks, months, quarters or years"
            )
        return every.count, size is None or size.count % every.count == 0


@with_named(Cumulated)
def cumulating(size: Duration, every: Duration | None = None, **options: Unpack[Cumulated]) -> Cumulating:
    """Windows that grow by a step up to a size, then start anew: sums since midnight, every hour.

    From each start ``s = offset + k * size`` they are ``[s, s + every)``, ``[s, s + 2 * every)``, and so on up to
    ``[s, s + size)`` (Flink's CUMULATE). Once a key has an event in a cycle, all windows
    that end later in it are given.

    Parameters
    ----------
    size
        A duration of whole steps; days, weeks, months and years are those of the time's zone, as for :func:`sliding`.
    every
        The step, such as ``"1 day"`` of a month: month to date. One of hours, or of less, counts from the beginning of
        each cycle of days or months in a zone, in hours that have passed, whatever clocks do there; the last step is
        shorter where it does not divide the cycle. Steps of :func:`business_days` end where a business day begins.
    offset, closed, timezone, empty, fill_from, fill_to, fill_keys, min_samples, emit, stamp
        As for :func:`sliding`.

    Raises
    ------
    QueryError
        If a word is unknown, or a duration none; whether these fit the time column is checked in ``.aggregate``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 5]})
    >>> result = ff.events(events, time="t").window(ff.cumulating(4, every=2)).aggregate(n=ff.Count())
    >>> [(w["window"]["start"], w["window"]["end"], w["n"]) for w in result.to_pylist()]
    [(0, 2, 2), (0, 4, 2), (4, 6, 1), (4, 8, 1)]
    """
    positive(size, "size", calendar=True)
    if every is None:
        raise QueryError(f"every= of cumulating({size!r}) is missing; expected the step, or ff.tumbling({size!r})")
    positive(every, "every", calendar=True)
    return Cumulating(size, every, **checked(options))


@dataclass(frozen=True, kw_only=True)
class Cycles(NumberedWindows, WithValidity):
    """Cumulating windows in ticks of a time column: a frame a step, and a window ends with each.

    ``steps`` are those of ``every`` ticks, numbered one after the other. None: they begin anew with each day of a
    zone, or month; then each cycle has as many numbers as the longest one has steps, which are of ticks or ``days``.
    """

    cycles: Grid
    steps: Grid | None
    every: int
    days: Calendar | None = None

    def pattern(self, partitioned: bool) -> Pattern:
        return "weak"

    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From the end of its step on, up to that of the first step of the next cycle."""
        number = self.frames(ticks)[0]
        return self._ends(number), self._ends((number // self._a_cycle + 1) * self._a_cycle)

    @property
    def valid_for(self) -> int | None:
        return None if self.numberings is None else self.cycles.every + self.every + 1

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]] | None:
        if self.numberings is None or self.steps is None:
            return None
        at, step, cycle = f"({rows.tick} - {self.after_end})", self.steps, self.cycles
        first, beyond = (f"{at} + {of.every} - pmod({at} - {of.origin % of.every}, {of.every})" for of in (step, cycle))
        return [{"valid_from": first, "valid_to": f"{beyond} + {step.every}"}]

    @cached_property
    def _a_cycle(self) -> int:
        """The numbers of a cycle."""
        if self.steps is not None:
            return self.cycles.every // self.steps.every
        return -(-self.cycles.most_ticks // (self.every if self.days is None else self.every * ticks_of_day(self.time)))

    @property
    def numberings(self) -> tuple[Numbering] | None:
        """One: a frame a step; none where days differ in length."""
        if self.cycles.calendar is not None or self.steps is None:
            return None
        return (Numbering(self.steps.origin + self.after_end, self.steps.every),)

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        margin = 2 * self.cycles.most_ticks
        overflow_guard(ticks, margin, margin, self.time)
        return self._numbers(ticks - self.after_end), None

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        return self._begins(frames) + self.after_end, self._ends(frames) + self.after_end

    def window_ids(self, partials: PartialsView) -> WindowIds:
        cycle = partials.frames // self._a_cycle
        return WindowIds(partials.frames, self._last(cycle))

    def closed_by(self, tick: int) -> int:
        return int(self._numbers(np.array([tick - self.after_end]))[0]) - 1

    def closing_by_id(self, numbers: Ints) -> Ints:
        return self._ends(numbers) + self.after_end

    @property
    def chunkable(self) -> bool:
        return self.emit == "every"

    def ranges(self, partials: PartialsView) -> Ranges:
        """Every window over partials: window k ends with step k."""
        ids = partials.ids or self.window_ids(partials)
        found = ranges_by_id(self.describe(), partials, *ids, self.empty)
        if self.steps is None and self.empty == "emit":
            found = found.where(found.number <= self._last(found.number // self._a_cycle))
        start = self.cycles.begins(found.number // self._a_cycle)
        return Ranges(found.low, found.high, found.row, start, self._ends(found.number))

    def _numbers(self, ticks: Ints) -> Ints:
        """The number of the step that each tick is in."""
        if self.steps is not None:
            return self.steps.numbers(ticks)
        cycle = self.cycles.numbers(ticks)
        return cycle * self._a_cycle + self._step(cycle, ticks)

    def _step(self, cycle: Ints, ticks: Ints) -> Ints:
        """The step of a cycle, from 0, that each tick in it is in."""
        begins = self.cycles.begins(cycle)
        passed = ticks - begins if self.days is None else self.days.units(ticks) - self.days.units(begins)
        return passed // self.every

    def _begins(self, numbers: Ints) -> Ints:
        if self.steps is not None:
            return self.steps.begins(numbers)
        return self._after(*np.divmod(numbers, self._a_cycle))

    def _after(self, cycle: Ints, steps: Ints) -> Ints:
        """When some steps of a cycle have passed: all of them with it."""
        begins, passed = self.cycles.begins(cycle), steps * self.every
        begins = begins + passed if self.days is None else self.days.begins(self.days.units(begins) + passed)
        # A business day may have begun before its cycle.
        found: Ints = np.clip(begins, self.cycles.begins(cycle), self.cycles.begins(cycle + 1))
        return found

    def _ends(self, numbers: Ints) -> Ints:
        if self.steps is not None:
            return self.steps.begins(numbers + 1)
        cycle, step = np.divmod(numbers, self._a_cycle)
        return self._after(cycle, step + 1)

    def _last(self, cycle: Ints) -> Ints:
        """The number of the last step of each cycle."""
        if self.steps is not None:
            return (cycle + 1) * self._a_cycle - 1
        return cycle * self._a_cycle + self._step(cycle, self.cycles.begins(cycle + 1) - 1)

    def describe(self) -> str:
        ends = "[start, end)" if self.closed == "left" else "(start, end]"
        size = self.cycles.length(self.time) + self.cycles.in_zone
        return f"windows that grow by {self._a_step} up to {size}, {ends}{self.samples_in_words}"

    @property
    def phase(self) -> str:
        return self.cycles.phase if self.steps is None else f"{self.cycles.phase}; {self.steps.phase}"

    def describe_frames(self) -> str:
        return f"one frame every {self._a_step}; up to {self._a_cycle} to a window"

    @property
    def _a_step(self) -> str:
        """A step, in words."""
        if self.days is not None:
            return self.days.length(self.every)
        return describe(self.every, self.time.type) if self.steps is None else self.steps.length(self.time)
