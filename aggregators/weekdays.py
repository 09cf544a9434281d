"""Business days: the days of a week on which work is done, without holidays."""

from __future__ import annotations

import datetime
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import DurationError, shown

__all__ = ["business_days"]

Days: TypeAlias = NDArray[np.int64]

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONDAY_TO_FRIDAY = "Mon Tue Wed Thu Fri"
RANGE = re.compile(f"({'|'.join(WEEKDAYS)})-({'|'.join(WEEKDAYS)})")

FIRST = np.datetime64(-(1 << 40), "D")
"""A day before all days of a time column. numpy counts business days from an earlier to a later day only."""
MONDAY = np.datetime64(-3, "D")
"""Monday, 29 December 1969: the week from this day on has business day 0; see :func:`_zero`."""
MOST = 1 << 31
"""A number of business days that is beyond all times."""


@dataclass(frozen=True)
class BusinessDays:
    """A number of business days; made by :func:`business_days`."""

    count: int
    weekmask: str = MONDAY_TO_FRIDAY
    holidays: tuple[datetime.date, ...] = ()

    def __repr__(self) -> str:
        mask = "" if self.weekmask == MONDAY_TO_FRIDAY else f", weekmask={self.weekmask!r}"
        off = len(self.holidays)
        holidays = f", holidays=<{off} day{'' if off == 1 else 's'}>" if off else ""
        return f"business_days({self.count}{mask}{holidays})"

    def __str__(self) -> str:
        """The number, and all that tells these business days from others, in words."""
        words = f"{self.count} business day{'' if self.count == 1 else 's'}"
        if self.weekmask != MONDAY_TO_FRIDAY:
            words += f" of {self.weekmask}"
        if self.holidays:
            days = list(map(str, self.holidays))
            checksum = f"{zlib.crc32(' '.join(days).encode()):08x}"
            words += f" without holidays ({len(days)} from {days[0]} to {days[-1]}, checksum {checksum})"
        return words

    def times(self, count: int) -> BusinessDays:
        """Another number of these business days."""
        return replace(self, count=count)

    def numbers(self, days: Days) -> Days:
        """The number of the last business day up to each day since 1970: a day off counts with the one before it."""
        found: Days = self._up_to(_dates(days + 1)) - self._up_to(_zero(self.weekmask)) - 1
        return found

    def days(self, numbers: Days) -> Days:
        """The day since 1970 of each business day, by its number."""
        # numpy's own way takes time for each holiday between, so holidays are added to the number at once.
        zero = _zero(self.weekmask)
        beyond = numbers - np.searchsorted(_calendar(*self._key).holidays, zero)
        beyond = beyond + np.searchsorted(_before_holidays(*self._key), beyond, side="right")
        found: Days = np.busday_offset(zero, beyond, roll="forward", weekmask=self.weekmask).astype(np.int64)
        return found

    def are_off(self, days: Days) -> NDArray[np.bool_]:
        """Which days since 1970 are no business days."""
        found: NDArray[np.bool_] = ~np.is_busday(_dates(days), busdaycal=_calendar(*self._key))
        return found

    def later(self, days: Days, count: int) -> Days:
        """The business day some business days after each day since 1970, which a day off counts from the next one."""
        dates = np.busday_offset(_dates(days), count, roll="forward", busdaycal=_calendar(*self._key))
        found: Days = dates.astype(np.int64)
        return found

    def most_days(self, count: int) -> int:
        """The most days from a business day to the one that is some business days after it."""
        return _most_days(self.times(count))

    def _up_to(self, dates: Any) -> Any:
        return np.busday_count(FIRST, dates, busdaycal=_calendar(*self._key))

    @property
    def _key(self) -> tuple[str, tuple[datetime.date, ...]]:
        return self.weekmask, self.holidays


def business_days(count: int, weekmask: Any = MONDAY_TO_FRIDAY, holidays: Iterable[Any] = ()) -> BusinessDays:
    """A duration of business days, with the days of a week and the holidays that you say.

    The text ``"5 business days"`` is the same as ``business_days(5)``: Monday to Friday, without holidays.

    A day off counts with the business day before it. So a Friday lasts until Monday, as in pandas' ``resample("B")``.
    A lookback from a day off begins where one from the beginning of the next business day does.

    Parameters
    ----------
    count
        The number of business days.
    weekmask
        The business days of a week: ``"Sun-Thu"``, or as for ``numpy.busdaycalendar`` ``"Mon Tue Wed"`` or
        ``"1111001"``. The longest break of the week comes before its first business day.
    holidays
        Days off: dates, or text such as ``"2026-12-25"``; also an array of dates. The time of day of a timestamp is
        left out: its date counts, in its own zone.

    Returns
    -------
    BusinessDays
        A duration for sliding, tumbling, cumulating and landmark windows, ``around`` and lookbacks.

    Raises
    ------
    DurationError
        If ``count`` is no whole number, a day of the mask is unknown, or a holiday is no date.

    Examples
    --------
    >>> import datetime, pyarrow as pa, framefold as ff
    >>> days = pa.array([datetime.date(2026, 1, day) for day in (2, 3, 5, 6)])  # Friday, Saturday, Monday, Tuesday
    >>> day = ff.business_days(1, holidays=["2026-01-05"])
    >>> result = ff.events(pa.table({"t": days}), time="t").window(ff.tumbling(day)).aggregate(n=ff.Count())
    >>> [(str(row["window"]["start"]), str(row["window"]["end"]), row["n"]) for row in result.to_pylist()]
    [('2026-01-02', '2026-01-06', 3), ('2026-01-06', '2026-01-07', 1)]
    """
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or abs(count) >= MOST:
        raise DurationError(f"count is {shown(count)}; expected a whole number of business days, such as 5")
    try:
        spelled = RANGE.sub(_within, weekmask) if isinstance(weekmask, str) else weekmask
        # As a list: numpy before 2.1 warns of an array of booleans.
        spelled = spelled.tolist() if isinstance(spelled, np.ndarray) else spelled
        mask = np.busdaycalendar(spelled).weekmask.tolist()
    except (TypeError, ValueError):
        raise DurationError(
            f"weekmask is {shown(weekmask)}; expected the business days of a week, such as 'Mon-Fri' or 'Mon Tue Thu'"
        ) from None
    try:
        if isinstance(holidays, str):
            raise TypeError
        values = holidays.to_pylist() if hasattr(holidays, "to_pylist") else holidays
        dates = np.array([_date(value) for value in values], "datetime64[D]")
    except (TypeError, ValueError):
        raise DurationError(
            f"holidays is {shown(holidays)}; expected a list of dates, such as ['2026-12-25']"
        ) from None
    calendar = np.busdaycalendar(mask, dates)
    words = " ".join(name for name, worked in zip(WEEKDAYS, mask, strict=True) if worked)
    return BusinessDays(int(count), words, tuple(calendar.holidays.tolist()))


def _within(days: re.Match[str]) -> str:
    """The names of the days from one day of a week to another.

    >>> _within(RANGE.search("Sat-Wed"))
    'Sat Sun Mon Tue Wed'
    """
    first, last = map(WEEKDAYS.index, days.groups())
    return " ".join((WEEKDAYS * 2)[first : last + 1 + len(WEEKDAYS) * (last < first)])


def _date(value: Any) -> datetime.date:
    """A date: of a timestamp the one in its own zone. TypeError or ValueError for all else."""
    value = value.astype("datetime64[D]").item() if isinstance(value, np.datetime64) else value
    value = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(value, datetime.date):
        raise TypeError(value)
    return value.date() if isinstance(value, datetime.datetime) else value


@lru_cache(maxsize=64)
def _zero(weekmask: str) -> np.datetime64:
    """The day from which business days are numbered: the first one after the longest break of a week from Monday.

    >>> _zero("Mon Tue Wed Thu Fri"), _zero("Mon Tue Wed Thu Sun")
    (np.datetime64('1969-12-29'), np.datetime64('1970-01-04'))
    """
    worked = [name in weekmask for name in WEEKDAYS]
    breaks = [next(off for off in range(7) if worked[day - 1 - off]) if worked[day] else -1 for day in range(7)]
    return MONDAY + breaks.index(max(breaks))


@lru_cache(maxsize=64)
def _calendar(weekmask: str, holidays: tuple[datetime.date, ...]) -> np.busdaycalendar:
    return np.busdaycalendar(weekmask, np.array(holidays, "datetime64[D]"))


@lru_cache(maxsize=64)
def _before_holidays(weekmask: str, holidays: tuple[datetime.date, ...]) -> Days:
    """For each holiday, how many business days there are from day 0 up to it, without the holidays before it."""
    worked = BusinessDays(1, weekmask).numbers(_calendar(weekmask, holidays).holidays.astype(np.int64))
    return worked - np.arange(len(holidays))


@lru_cache(maxsize=256)
def _most_days(length: BusinessDays) -> int:
    """Between holidays the days from one business day to another repeat weekly: a week beside each holiday says all."""
    holidays = np.array([MONDAY, *length.holidays], "datetime64[D]").astype(np.int64)
    beside = np.add.outer(length.numbers(holidays), np.arange(-8, 9)).ravel()
    begins = np.concatenate([beside, beside - length.count])
    return int((length.days(begins + length.count) - length.days(begins)).max())


def _dates(days: Days) -> Any:
    return days.astype("datetime64[D]")
