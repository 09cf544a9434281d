"""Windows of calendar units: months, quarters, years; business days; days or weeks of a time zone."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.durations import BUSINESS, Length, written
from ...aggregators.errors import DurationError, QueryError
from ...aggregators.states.arrays import Ints
from ...aggregators.weekdays import BusinessDays
from ..columns.months import LAST, SHORTEST, day_of, month_of
from ..columns.ticks import DAY, Duration, TimeColumn, describe, ticks_since_epoch
from ..frames.months_back import MonthsBack
from ..frames.steps import Steps

MONDAY = -3
"""The day number of Monday, 1969-12-29."""
OF_MONDAYS = 4
"""The offset in days by which weeks began on a Monday in versions where they were counted from 1970."""


def calendar(
    time: TimeColumn, size: Duration, every: Duration, offset: Any, timezone: str | None
) -> tuple[Steps, Calendar] | None:
    """The steps of calendar windows, and the units that they are in; None for windows of fixed length.

    Raises
    ------
    DurationError, QueryError
        If units are mixed, or do not fit the time column or the zone.
    """
    zone = zone_of(time, timezone)
    in_size, in_step = business(size, "size"), business(every, "every")
    if in_size is not None or in_step is not None:
        if in_size is None or in_step is None or in_step.times(in_size.count) != in_size:
            raise DurationError(
                f"size is {size!r} and every is {every!r}; expected both in the same business days, or "
                f"ff.lookback({size!r}, every={every!r})"
            )
        require_dates(time, size, "size")
        first, of_business = business_ahead(time, in_step, offset, zone)
        return Steps(in_size.count, in_step.count, first % in_step.count), of_business
    length, step = months(size, "size"), months(every, "every")
    if length is None and step is None:
        if timezone is None and (zone is None or not in_days(every)):
            return None
        days, odd = zip(*(divmod(time.duration(*of), DAY) for of in ((size, "size"), (every, "every"))), strict=True)
        if any(odd):
            where, instead = (
                (f"the zone of the time {time.name!r}, {zone}", "timezone='UTC'")
                if timezone is None
                else (f"the time zone {timezone!r}", "no timezone")
            )
            raise DurationError(
                f"windows of {size} every {every} are in {where}; expected whole days or weeks, months, quarters or "
                f"years, or {instead}"
            )
        if zone is None:
            return None
        first, clock = days_ahead(time, every, offset, zone)
        size_days, step_days = days
        return Steps(size_days, step_days, first % step_days), Calendar(time, "day", clock, zone)
    first, of_months = months_ahead(time, size, "size", 0 if step is None else offset, zone)
    if length is None:
        raise DurationError(
            f"size is {size!r} and every is {every!r}; expected a size in months, quarters or years, or "
            f"ff.lookback({size!r}, every={every!r})"
        )
    if step is None:
        step, beyond = divmod(time.length(every, "every"), ticks_of_day(time))
        if beyond or (zone is not None and not in_days(every)):
            raise DurationError(
                f"size is {size!r} and every is {every!r}; expected steps of whole days or weeks, or of months, "
                "quarters or years"
            )
        first, clock = days_ahead(time, every, offset, zone)
        return MonthsBack(length, step, first % step), Calendar(time, "day", clock, zone)
    return Steps(length, step, first % step), of_months


def months_ahead(
    time: TimeColumn, every: Duration, argument: str, offset: Any, zone: str | None, start: int | None = None
) -> tuple[int, Calendar]:
    """The month from which windows of months are counted, and months that begin on the day and hour of an offset.

    ``start`` is a tick at which a month begins, in place of an offset.

    Raises
    ------
    DurationError
        If times are integers, or the offset has too many days for a month.
    """
    require_dates(time, every, argument)
    if (start := start_of(time, offset, start)) is not None:
        day, clock = day_at(time, start, zone)
        (month,), (ahead,) = month_of(np.array([day]))
        return int(month), Calendar(time, "month", clock, zone, int(ahead))
    found, beside = written(offset, "offset"), offset
    if isinstance(found, Length):
        if found.business is not None or not -SHORTEST * DAY <= found.microseconds < (LAST + 1) * DAY:
            raise DurationError(
                f"offset is {offset!r}, and windows are months long; expected months, and from -{SHORTEST} to {LAST} "
                "days beside them, such as '1 month 14 days'"
            )
        beside = datetime.timedelta(microseconds=found.microseconds)
    ahead, clock = divmod(time.duration(beside, "offset"), ticks_of_day(time))
    return found.months if isinstance(found, Length) else 0, Calendar(time, "month", clock, zone, ahead)


def business_ahead(
    time: TimeColumn, every: BusinessDays, offset: Any, zone: str | None, start: int | None = None
) -> tuple[int, Calendar]:
    """The business day from which windows are counted, and business days that begin at the hour of an offset.

    ``start`` is a tick at which a step begins, in place of an offset; of a day off, the next business day counts.

    Raises
    ------
    DurationError
        If the offset has days, or business days other than those of the windows.
    """
    own = business(offset, "offset")
    if (start := start_of(time, offset, start)) is not None:
        day, clock = day_at(time, start, zone)
        (first,) = every.numbers(every.later(np.array([day]), 0)).tolist()
    else:
        first, clock = (0, time.duration(offset, "offset")) if own is None else (own.count, 0)
    if abs(clock) >= ticks_of_day(time) or (own is not None and own.times(every.count) != every):
        raise DurationError(
            f"offset is {offset!r}, and windows are of {every}; expected the same business days, or less than a day"
        )
    return first, Calendar(time, BUSINESS, clock, zone, business=every.times(1))


def require_dates(time: TimeColumn, duration: Any, argument: str) -> None:
    """DurationError unless a time column has dates, which a duration in calendar units needs."""
    if pa.types.is_integer(time.type):
        raise DurationError(
            f"{argument} is {duration!r}, but the time {time.name!r} is {time.kind}; expected an integer such as 60"
        )


def start_of(time: TimeColumn, offset: Any, start: int | None) -> int | None:
    """The tick at which a step begins, if it is known, or if an offset is a time."""
    return ticks_since_epoch(time, offset) if isinstance(offset, datetime.datetime) else start


def months(duration: Any, argument: str) -> int | None:
    """The months of a duration written in months, quarters or years; None where it has other units.

    Raises
    ------
    DurationError
        If it mixes them with other units.
    """
    found = in_calendar(duration, argument)
    return None if found is None or found.business is not None else found.months


def business(duration: Any, argument: str) -> BusinessDays | None:
    """The business days of a duration written in them; None where it has other units.

    Raises
    ------
    DurationError
        If it mixes them with other units.
    """
    found = in_calendar(duration, argument)
    return None if found is None else found.business


def in_calendar(duration: Any, argument: str) -> Length | None:
    """A duration written in months or in business days; None where its length is fixed."""
    found = written(duration, argument) if isinstance(duration, (str, BusinessDays)) else None
    if not isinstance(found, Length) or not found.calendar:
        return None
    if found.mixed:
        units, whole = ("months", "months, quarters or years") if found.business is None else ("business days",) * 2
        raise DurationError(f"{argument} is {duration!r}, which mixes {units} with other units; expected whole {whole}")
    return found


def in_whole_months(duration: Any) -> bool:
    """Whether a duration is written in months, quarters or years alone."""
    found = None if isinstance(duration, datetime.datetime) else written(duration, "offset")
    return isinstance(found, Length) and found.calendar and not found.mixed and found.business is None


def in_days(duration: Any) -> bool:
    """Whether a duration is written in days and weeks, so that a calendar has them."""
    found = written(duration, "every")
    return isinstance(found, Length) and found.in_days


def in_weeks(duration: Any) -> bool:
    """Whether a duration is written in weeks, which begin on a Monday."""
    found = written(duration, "every")
    return isinstance(found, Length) and found.in_weeks


def zone_of(time: TimeColumn, timezone: str | None) -> str | None:
    """The zone whose days count: the one that is said, else the column's own; None for UTC, or where there is none.

    Raises
    ------
    QueryError
        If a zone is unknown, or said for times without one.
    """
    if timezone is not None:
        require_zone(time, timezone)
        return None if is_utc(timezone) else timezone
    own: str | None = time.type.tz if pa.types.is_timestamp(time.type) else None
    return None if own is None or is_utc(own) else own


def is_utc(zone: str) -> bool:
    """Whether a zone is UTC by any of its names."""
    names = ("utc", "z", "zulu", "uct", "universal", "gmt", "gmt0", "gmt+0", "gmt-0", "greenwich", "+00:00", "-00:00")
    return zone.lower().removeprefix("etc/") in names


def days_ahead(
    time: TimeColumn, every: Duration, offset: Any, zone: str | None, start: int | None = None
) -> tuple[int, int]:
    """The day, and its hour in ticks, from which the days of a zone are counted: a Monday for weeks.

    ``start`` is a tick at which a day begins, in place of an offset.
    """
    if (start := start_of(time, offset, start)) is not None:
        return day_at(time, start, zone)
    ahead, clock = divmod(time.duration(offset, "offset"), ticks_of_day(time))
    return ahead + (MONDAY if in_weeks(every) else 0), clock


def day_at(time: TimeColumn, tick: int, zone: str | None) -> tuple[int, int]:
    """The day of a tick in a zone, since 1970, and its hour in ticks."""
    return divmod(int(Calendar(time, "day", 0, zone).local(np.array([tick]))[0]), ticks_of_day(time))


def ticks_of_day(time: TimeColumn) -> int:
    """How many ticks a day has: one where times are dates."""
    return 1 if pa.types.is_date(time.type) else DAY


def monday(time: TimeColumn, every: Duration, offset: Any) -> int:
    """From which tick weeks of fixed length are counted; 0 for other steps, and where a time says where they start."""
    if isinstance(offset, datetime.datetime) or pa.types.is_integer(time.type) or not in_weeks(every):
        return 0
    return MONDAY * ticks_of_day(time)


def moved(time: TimeColumn, every: Duration, offset: Any, timezone: str | None) -> str:
    """Where the steps of a calendar were in earlier versions, in a sentence; nothing where they were the same."""
    if timezone is not None or pa.types.is_integer(time.type):
        return ""
    zone, default = zone_of(time, None), isinstance(offset, int) and offset == 0
    in_months = months(every, "every") is not None
    if in_months and not (default or in_whole_months(offset)):  # earlier versions had none
        return ""
    if zone is not None and (in_days(every) or in_months):
        return (
            f"days, weeks and months are those of the time {time.name!r}, which is in {zone}; up to now they were "
            f"those of UTC: timezone='UTC' for these, and timezone={zone!r} says that its own are meant"
        )
    if not in_weeks(every) or isinstance(offset, datetime.datetime):
        return ""
    if default:
        own = pa.types.is_timestamp(time.type) and time.type.tz is not None
        said = "timezone='UTC'" if own else "offset='0 days'"
        return (
            "weeks begin on a Monday; up to now they began on a Thursday: offset='3 days' for these, and "
            f"{said} says that Mondays are meant"
        )
    week = 7 if pa.types.is_date(time.type) else 7 * DAY
    if (time.duration(offset, "offset") - OF_MONDAYS * week // 7) % week:
        return ""
    return (
        f"the offset {offset!r} of weeks counts from a Monday, and these begin on a Friday; up to now it counted from "
        "a Thursday: no offset for weeks from Monday"
    )


def require_zone(time: TimeColumn, zone: str) -> None:
    """QueryError unless a zone is known, and the time column has instants."""
    if not pa.types.is_timestamp(time.type) or time.type.tz is None:
        raise QueryError(
            f"timezone is {zone!r}, but the time {time.name!r} is {time.kind}, which has no zone; expected no timezone"
        )
    if not isinstance(zone, str) or not is_known(zone):
        raise QueryError(f"timezone is {zone!r}; expected the name of a zone, such as 'Europe/Berlin'")


def is_known(zone: str) -> bool:
    """Whether a zone, by its name or as hours and minutes from UTC, is one that Arrow knows."""
    try:
        pc.local_timestamp(pa.array([0]).view(pa.timestamp("us", tz=zone)))
    except (pa.ArrowInvalid, ValueError, TypeError):
        return False
    return bool(zone)


@dataclass(frozen=True)
class Reach:
    """How far a window reaches from its own time: some ticks later, or some months or business days on a calendar.

    ``least`` and ``most`` bound it in ticks; they are negative before the time itself.
    """

    ticks: int = 0
    units: int = 0
    calendar: Calendar | None = None

    @property
    def least(self) -> int:
        """The fewest ticks, from the time on, that it may be."""
        return min(self._ends)

    @property
    def most(self) -> int:
        """The most ticks, from the time on, that it may be."""
        return max(self._ends)

    @property
    def _ends(self) -> tuple[int, int]:
        if self.calendar is None:
            return self.ticks, self.ticks
        far = self.calendar.most_ticks(abs(self.units))
        return (-far, 0) if self.units < 0 else (0, far)

    def of(self, ticks: Ints) -> Ints:
        """Where it ends, for each of some ticks."""
        if self.calendar is None:
            return ticks + self.ticks if self.ticks else ticks
        return self.calendar.moved(ticks, self.units)

    def back(self) -> Reach:
        """The same as far the other way."""
        return Reach(-self.ticks, -self.units, self.calendar)

    def words(self, time: TimeColumn) -> str:
        """The reach in words."""
        if self.calendar is None:
            return ("-" if self.ticks < 0 else "") + describe(abs(self.ticks), time.type)
        return ("-" if self.units < 0 else "") + self.calendar.length(abs(self.units)) + self.calendar.in_zone


def reach_of(time: TimeColumn, duration: Duration, argument: str, timezone: str | None) -> Reach:
    """How far a duration reaches: by the calendar of a zone, or else of the column, in months or business days.

    All other durations reach some ticks.

    Raises
    ------
    DurationError, QueryError
        If it mixes units, or does not fit the time column or the zone.
    """
    if timezone is not None:
        require_zone(time, timezone)
    found = in_calendar(duration, argument)
    if found is None:
        return Reach(time.duration(duration, argument))
    require_dates(time, duration, argument)
    zone, worked = zone_of(time, timezone), found.business
    if worked is None:
        return Reach(0, found.months, Calendar(time, "month", 0, zone))
    return Reach(0, worked.count, Calendar(time, BUSINESS, 0, zone, business=worked.times(1)))


@dataclass(frozen=True)
class Calendar:
    """Months (``unit`` is ``"month"``) or days (``"day"``) of a zone, numbered from the beginning of 1970.

    Business days (:data:`BUSINESS`) are numbered from the day after a weekend, as ``business`` does.
    ``clock`` is the time of day at which days start, in ticks; ``ahead`` is the day of a month, from 0, on which
    months start, or on the last one of a shorter month.
    """

    time: TimeColumn
    unit: str
    clock: int = 0
    zone: str | None = None
    ahead: int = 0
    business: BusinessDays | None = None

    def __post_init__(self) -> None:
        if self.zone is not None and not is_known(self.zone):
            raise QueryError(
                f"the zone {self.zone!r} of the time {self.time.name!r} is not known here, and so its days are not; "
                "expected another one, or timezone='UTC'"
            )

    @property
    def phase(self) -> str:
        """Where months or days begin, as text."""
        return f", {self.unit}s begin {self.ahead} days and {self.clock} ticks late"

    def most_ticks(self, units: int) -> int:
        """An upper bound of the ticks of some months or days, also of business days from a day off on."""
        if self.business is not None:
            days = self.business.most_days(units + 1)
        else:
            days = units * (31 if self.unit == "month" else 1)
        return (days + 2) * ticks_of_day(self.time)

    def units(self, ticks: Ints) -> Ints:
        """The number of the month, day or business day that each tick is in."""
        if self.zone is None or not len(ticks):
            return self._local_units(ticks)
        # Where clocks go back across midnight, a day's beginning comes twice: it begins with the first one.
        least, most = self._local_units(np.array([ticks.min(), ticks.max()]))
        numbers = np.arange(least - 1, most + 3)
        if len(numbers) > max(len(ticks), 1 << 12):
            local = self._local_units(ticks)
            numbers = np.unique(np.concatenate([local - 1, local, local + 1, local + 2]))
        return numbers[np.searchsorted(self.begins(numbers), ticks, side="right") - 1]

    def _local_units(self, ticks: Ints) -> Ints:
        days = ticks
        if not pa.types.is_date(self.time.type):
            days = (self.local(ticks) - self.clock) // DAY
        if self.business is not None:
            return self.business.numbers(days)
        if self.unit == "day":
            return days
        month, _ = month_of(days)
        if self.ahead:
            month = month + (days >= day_of(month + 1, self.ahead)) - (days < day_of(month, self.ahead))
        return month

    def begins(self, numbers: Ints) -> Ints:
        """The tick at which each month, day or business day begins."""
        days = numbers
        if self.unit == "month":
            days = day_of(numbers, self.ahead)
        if self.business is not None:
            days = self.business.days(numbers)
        if pa.types.is_date(self.time.type):
            return days
        if self.zone is None:
            return days * DAY + self.clock
        least, most = (int(days.min()), int(days.max())) if len(days) else (0, 0)
        if most - least < len(days) // 2:  # each day once: clocks take longer than a look into a list
            return self._midnights(np.arange(least, most + 1))[days - least]
        return self._midnights(days)

    def _midnights(self, days: Ints) -> Ints:
        """The tick at which each day begins in the zone."""
        return self._instants(days * DAY + self.clock)

    def local(self, ticks: Ints) -> Ints:
        """What clocks show in the zone, as ticks since the beginning of 1970."""
        if self.zone is None:
            return ticks
        local: Ints = (
            pc.local_timestamp(pa.array(ticks).view(pa.timestamp("us", tz=self.zone))).view(pa.int64()).to_numpy()
        )
        return local

    def _instants(self, local: Ints) -> Ints:
        """The ticks at which clocks show times in the zone."""
        if self.zone is None:
            return local
        times = pa.array(local).view(pa.timestamp("us"))
        instants = pc.assume_timezone(times, self.zone, ambiguous="earliest", nonexistent="latest")
        return instants.view(pa.int64()).to_numpy()  # type: ignore[no-any-return]

    def moved(self, ticks: Ints, units: int) -> Ints:
        """The ticks some months or business days later, at the same time of day.

        It is the same day of another month, or the last one of a shorter month. Business days later than a day off
        are those later than the beginning of the next business day; no business days later is the tick itself.
        """
        if self.business is not None and not units:
            return ticks
        dates = pa.types.is_date(self.time.type)
        local, clock = (ticks, np.zeros_like(ticks)) if dates else np.divmod(self.local(ticks), DAY)
        if self.business is None:
            month, day = month_of(local)
            days = day_of(month + units, day)
        else:
            days, clock = self.business.later(local, units), np.where(self.business.are_off(local), 0, clock)
        return days if dates else self._instants(days * DAY + clock)

    def length(self, units: int) -> str:
        """Some months or days, in words."""
        if self.business is not None:
            return str(self.business.times(units))
        return f"{units} {self.unit}{'' if units == 1 else 's'}"

    @property
    def in_zone(self) -> str:
        """The zone in words; nothing where times have none."""
        return f" in {self.zone or 'UTC'}" if pa.types.is_timestamp(self.time.type) and self.time.type.tz else ""
