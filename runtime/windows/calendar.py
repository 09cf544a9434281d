"""Windows of calendar units: months, quarters and years; days and weeks of a time zone, however long they are."""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.durations import PART
from ...aggregators.errors import DurationError, QueryError
from ..columns.ticks import DAY, Duration, TimeColumn, overflow_guard
from ..frames.paired_steps import Steps, describe_ends, describe_gaps, describe_steps
from ..frames.partials_view import Ints, Mask, PartialsView, Ranges, WindowIds
from .spec import Windows

MONTHS = {"month": 1, "quarter": 3, "year": 12}
MONDAY = -3
"""The day number of Monday, 1969-12-29."""


def calendar(
    time: TimeColumn, size: Duration, every: Duration, offset: Any, timezone: str | None
) -> tuple[str, Steps, int] | None:
    """The unit of calendar windows (``"month"`` or ``"day"``), their steps in it, and when in the day they start.

    None for windows of fixed length.

    Raises
    ------
    DurationError, QueryError
        If units are mixed, or do not fit the time column or the zone.
    """
    lengths = [months(value, argument) for value, argument in ((size, "size"), (every, "every"))]
    if lengths == [None, None] and timezone is None:
        return None
    if timezone is not None:
        require_zone(time, timezone)
    if pa.types.is_integer(time.type):
        raise DurationError(
            f"size is {size!r}, but the time {time.name!r} is {time.kind}; expected an integer such as 60"
        )
    if lengths == [None, None]:
        days = [time.duration(value, argument) for value, argument in ((size, "size"), (every, "every"))]
        shift = 0 if isinstance(offset, int) and offset == 0 else time.duration(offset, "offset")
        if any(value % DAY for value in days):
            raise DurationError(
                f"windows of {size} every {every} are in the time zone {timezone!r}; expected whole days or weeks, "
                "months, quarters or years, or no timezone"
            )
        weeks = isinstance(every, str) and re.search(r"\d\s*w(eeks?)?\b", every.lower()) is not None
        steps = Steps(days[0] // DAY, days[1] // DAY, shift // DAY + (MONDAY if weeks else 0))
        unit = "day"
    else:
        shift = 0
        if None in lengths:
            raise DurationError(
                f"size is {size!r} and every is {every!r}; expected both in months, quarters or years, or neither"
            )
        ahead = 0 if isinstance(offset, int) and offset == 0 else months(offset, "offset")
        if ahead is None:
            raise DurationError(
                f"offset is {offset!r}, and windows are months long; expected months, such as '3 months'"
            )
        steps = Steps(int(lengths[0] or 0), int(lengths[1] or 0), ahead)
        unit = "month"
    for argument, length, value in (("size", steps.size, size), ("every", steps.every, every)):
        if length <= 0:
            raise DurationError(f"{argument} is {value!r}; expected a duration above zero")
    clock = shift % DAY if unit == "day" else 0
    return unit, Steps(steps.size, steps.every, steps.offset % steps.every), clock


def months(duration: Any, argument: str) -> int | None:
    """The months of a duration written in months, quarters or years; None where it has other units.

    Raises
    ------
    DurationError
        If it mixes them with units of fixed length, or is not a whole number.
    """
    if not isinstance(duration, str):
        return None
    text = re.sub(r"^\s*interval\b", "", duration, flags=re.IGNORECASE)
    parts = [(number.replace(" ", ""), unit.lower().removesuffix("s")) for number, unit in PART.findall(text)]
    known = [unit in MONTHS for _, unit in parts]
    if not any(known):
        return None
    if not all(known) or PART.sub("", text).strip() or any("." in number for number, _ in parts):
        raise DurationError(
            f"{argument} is {duration!r}, which mixes months with other units; expected whole months, quarters or years"
        )
    return sum(int(number) * MONTHS[unit] for number, unit in parts)


def require_zone(time: TimeColumn, zone: str) -> None:
    """QueryError unless a zone is known, and the time column has instants that can be seen in it."""
    if not pa.types.is_timestamp(time.type) or time.type.tz is None:
        raise QueryError(
            f"timezone is {zone!r}, but the time {time.name!r} is {time.kind}, which has no zone; expected no timezone"
        )
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise QueryError(f"timezone is {zone!r}; expected the name of a zone, such as 'Europe/Berlin'") from error


@dataclass(frozen=True, kw_only=True)
class Calendar(Windows):
    """Windows of months, or of days of a zone; ``clock`` is the time of day at which days start, in ticks."""

    calendar_unit: str
    steps: Steps
    clock: int = 0
    closed: str = "left"
    zone: str | None = None
    empty: str = "skip"
    min_fill: str = "partial"

    @property
    def frames_in_window(self) -> int:
        return self.steps.frames_in_window

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Mask | None]:
        if not len(ticks):
            return ticks, None
        margin = (self.steps.size + 2 * self.steps.every) * (31 if self.calendar_unit == "month" else 1) + 2
        margin *= 1 if pa.types.is_date(self.time.type) else DAY
        overflow_guard(int(ticks.min()) - margin, int(ticks.max()) + margin, self.time)
        return self.steps.frames(self.units(ticks - (self.closed == "right")))

    def units(self, ticks: Ints) -> Ints:
        """The number of the month or day since 1970 that each tick is in."""
        numbers = self._local_units(ticks)
        if self.zone is None:
            return numbers
        # Where clocks go back across midnight, a day's beginning comes twice: it begins with the first one.
        seen, place = np.unique(numbers, return_inverse=True)
        begin, end = self.begins(seen)[place], self.begins(seen + 1)[place]
        return numbers - (ticks < begin) + (ticks >= end)

    def _local_units(self, ticks: Ints) -> Ints:
        if pa.types.is_date(self.time.type):
            days = ticks
        else:
            local = ticks
            if self.zone is not None:
                instants = pa.array(ticks).view(pa.timestamp("us", tz=self.zone))
                local = pc.local_timestamp(instants).view(pa.int64()).to_numpy()
            days = (local - self.clock) // DAY
        if self.calendar_unit == "day":
            return days
        return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)

    def begins(self, numbers: Ints) -> Ints:
        """The tick at which each month or day begins."""
        days = numbers
        if self.calendar_unit == "month":
            days = numbers.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        if pa.types.is_date(self.time.type):
            return days
        if self.zone is None:
            return days * DAY
        local = pa.array(days * DAY + self.clock).view(pa.timestamp("us"))
        instants = pc.assume_timezone(local, self.zone, ambiguous="earliest", nonexistent="latest")
        return instants.view(pa.int64()).to_numpy()  # type: ignore[no-any-return]

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        start, end = self.steps.frame_bounds(frames)
        shift = self.closed == "right"
        return self.begins(start) + shift, self.begins(end) + shift

    def window_ids(self, partials: PartialsView) -> WindowIds:
        return self.steps.windows_of(partials.frames)

    @property
    def left_out(self) -> str | None:
        """How much of time is in no window, in words; months differ in length, so without their share."""
        return describe_gaps(self.steps.size, self.steps.every, self._length, even=self.calendar_unit == "day")

    @property
    def chunkable(self) -> bool:
        return self.emit == "every" and self.min_fill == "partial"

    def all_ranges(self, partials: PartialsView) -> Ranges:
        low, high, row, number = self.steps.ranges_by_id(self.named, partials, self.empty, self.min_fill)
        start, end = self.steps.bounds(number)
        return Ranges(low, high, row, self.begins(start), self.begins(end))

    def _length(self, count: int) -> str:
        return f"{count} {self.calendar_unit}{'' if count == 1 else 's'}"

    @property
    def named(self) -> str:
        return f"windows of {self._length(self.steps.size)} every {self._length(self.steps.every)}"

    def describe(self) -> str:
        zone = f" in {self.zone or 'UTC'}" if pa.types.is_timestamp(self.time.type) and self.time.type.tz else ""
        ends = describe_ends(self.closed, self.empty, self.min_fill)
        return f"{self.named.removeprefix('windows of ')}{zone}, {ends}"

    def describe_frames(self) -> str:
        return describe_steps(self.steps, self._length)
