"""Windows of calendar units: months, quarters and years; days and weeks of a time zone, however long they are."""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.durations import PART, unit_named
from ...aggregators.errors import DurationError, QueryError
from ..columns.ticks import DAY, Duration, TimeColumn
from ..frames.window_ranges import Ints, Steps

MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = re.compile("|".join([*MONTHS, r"\d\s*(?:mo|q|y)\b"]), re.IGNORECASE)
"""The calendar units in durations."""
MONDAY = -3
"""The day number of Monday, 1969-12-29."""


def calendar(
    time: TimeColumn, size: Duration, every: Duration, offset: Any, timezone: str | None
) -> tuple[Steps, Calendar] | None:
    """The steps of calendar windows, and the units that they are in; None for windows of fixed length.

    Raises
    ------
    DurationError, QueryError
        If units are mixed, or do not fit the time column or the zone.
    """
    length, step, ahead, clock = months(size, "size"), months(every, "every"), 0, 0
    if length is None and step is None and timezone is None:
        return None
    if timezone is not None:
        require_zone(time, timezone)
    if pa.types.is_integer(time.type):
        raise DurationError(
            f"size is {size!r}, but the time {time.name!r} is {time.kind}; expected an integer such as 60"
        )
    at_epoch = isinstance(offset, int) and offset == 0
    if length is None and step is None:
        unit = "day"
        (length, odd), (step, odder) = (divmod(time.duration(*of), DAY) for of in ((size, "size"), (every, "every")))
        if not at_epoch:
            ahead, clock = divmod(time.duration(offset, "offset"), DAY)
        if odd or odder:
            raise DurationError(
                f"windows of {size} every {every} are in the time zone {timezone!r}; expected whole days or weeks, "
                "months, quarters or years, or no timezone"
            )
        weeks = isinstance(every, str) and re.search(r"\d\s*w(eeks?)?\b", every.lower()) is not None
        ahead += MONDAY if weeks else 0
    elif length is None or step is None:
        raise DurationError(
            f"size is {size!r} and every is {every!r}; expected both in months, quarters or years, or neither"
        )
    else:
        unit = "month"
        of_offset = 0 if at_epoch else months(offset, "offset")
        if of_offset is None:
            raise DurationError(
                f"offset is {offset!r}, and windows are months long; expected months, such as '3 months'"
            )
        ahead = of_offset
    for argument, units, value in (("size", length, size), ("every", step, every)):
        if units <= 0:
            raise DurationError(f"{argument} is {value!r}; expected a duration above zero")
    return Steps(length, step, ahead % step), Calendar(time, unit, clock, timezone)


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
    parts = [(number.replace(" ", ""), unit_named(unit)) for number, unit in PART.findall(text)]
    known = [unit in MONTHS for _, unit in parts]
    if not any(known):
        return None
    if not all(known) or PART.sub("", text).strip() or any("." in number for number, _ in parts):
        raise DurationError(
            f"{argument} is {duration!r}, which mixes months with other units; expected whole months, quarters or years"
        )
    return sum(int(number) * MONTHS[unit] for number, unit in parts)


def require_zone(time: TimeColumn, zone: str) -> None:
    """QueryError unless a zone is known, and the time column has instants."""
    if not pa.types.is_timestamp(time.type) or time.type.tz is None:
        raise QueryError(
            f"timezone is {zone!r}, but the time {time.name!r} is {time.kind}, which has no zone; expected no timezone"
        )
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise QueryError(f"timezone is {zone!r}; expected the name of a zone, such as 'Europe/Berlin'") from error


@dataclass(frozen=True)
class Calendar:
    """Months (``unit`` is ``"month"``) or days (``"day"``) of a zone, numbered from the beginning of 1970.

    ``clock`` is the time of day at which days start, in ticks.
    """

    time: TimeColumn
    unit: str
    clock: int = 0
    zone: str | None = None

    def most_ticks(self, units: int) -> int:
        """An upper bound of the ticks of some months or days."""
        days = units * (31 if self.unit == "month" else 1) + 2
        return days if pa.types.is_date(self.time.type) else days * DAY

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
        days = ticks
        if not pa.types.is_date(self.time.type):
            local = ticks
            if self.zone is not None:
                instants = pa.array(ticks).view(pa.timestamp("us", tz=self.zone))
                local = pc.local_timestamp(instants).view(pa.int64()).to_numpy()
            days = (local - self.clock) // DAY
        if self.unit == "day":
            return days
        return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)

    def begins(self, numbers: Ints) -> Ints:
        """The tick at which each month or day begins."""
        days = numbers
        if self.unit == "month":
            days = numbers.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        if pa.types.is_date(self.time.type):
            return days
        if self.zone is None:
            return days * DAY
        local = pa.array(days * DAY + self.clock).view(pa.timestamp("us"))
        instants = pc.assume_timezone(local, self.zone, ambiguous="earliest", nonexistent="latest")
        return instants.view(pa.int64()).to_numpy()  # type: ignore[no-any-return]

    def length(self, units: int) -> str:
        """Some months or days, in words."""
        return f"{units} {self.unit}{'' if units == 1 else 's'}"

    @property
    def in_zone(self) -> str:
        """The zone in words; nothing where times have none."""
        return f" in {self.zone or 'UTC'}" if pa.types.is_timestamp(self.time.type) and self.time.type.tz else ""
