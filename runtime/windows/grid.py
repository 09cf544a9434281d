"""Steps of one length along a time column, such as those at which windows end."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from ...aggregators.durations import written
from ...aggregators.states.arrays import Ints
from ..columns.ticks import DAY, Duration, TimeColumn, describe, ticks_since_epoch
from .calendar import (
    Calendar,
    business,
    business_ahead,
    days_ahead,
    in_days,
    monday,
    months,
    months_ahead,
    require_dates,
    zone_of,
)

Offset = Duration | datetime.datetime


@dataclass(frozen=True)
class Grid:
    """Steps of ``every`` units, counted from ``origin``: ticks, or days, business days or months of a calendar.

    Examples
    --------
    >>> import numpy as np
    >>> grid = Grid(5, origin=2)
    >>> grid.numbers(np.array([1, 2, 7])).tolist(), grid.begins(np.array([-1, 0, 1])).tolist()
    ([-1, 0, 1], [-3, 2, 7])
    """

    every: int
    origin: int = 0
    calendar: Calendar | None = None

    def numbers(self, ticks: Ints) -> Ints:
        """The number of the step that each tick is in."""
        units = ticks if self.calendar is None else self.calendar.units(ticks)
        return (units - self.origin) // self.every

    def begins(self, numbers: Ints) -> Ints:
        """The tick at which each step begins."""
        units = numbers * self.every + self.origin
        return units if self.calendar is None else self.calendar.begins(units)

    @property
    def phase(self) -> str:
        """The steps as text, with where they begin."""
        return f"{self.every} from {self.origin}" + ("" if self.calendar is None else self.calendar.phase)

    @property
    def most_ticks(self) -> int:
        """An upper bound of the ticks of a step."""
        return self.every if self.calendar is None else self.calendar.most_ticks(self.every)

    def length(self, time: TimeColumn) -> str:
        """A step in words."""
        return describe(self.every, time.type) if self.calendar is None else self.calendar.length(self.every)

    @property
    def in_zone(self) -> str:
        """The zone in words, where days are its own."""
        return "" if self.calendar is None else self.calendar.in_zone


def grid(
    time: TimeColumn,
    every: Duration,
    argument: str,
    offset: Any = 0,
    timezone: str | None = None,
    start: int | None = None,
) -> Grid:
    """The steps of a duration: of months or business days; of days and weeks in a zone, if any; else of fixed length.

    ``start`` is a tick at which a step begins, in place of an offset.

    Raises
    ------
    DurationError, QueryError
        If a duration does not fit the column, or is not above zero; if a zone does not fit.
    """
    zone, in_months = zone_of(time, timezone), months(every, argument)
    if in_months is not None:
        first, of_months = months_ahead(time, every, argument, offset, zone, start)
        return Grid(in_months, first % in_months, of_months)
    if (worked := business(every, argument)) is not None:
        require_dates(time, every, argument)
        first, of_business = business_ahead(time, worked, offset, zone, start)
        return Grid(worked.count, first % worked.count, of_business)
    length = time.length(every, argument)
    if zone is None or not in_days(every):
        if start is not None:
            return Grid(length, start)
        return Grid(length, (offset_ticks(time, offset) + monday(time, every, offset)) % length)
    ahead, clock = days_ahead(time, every, offset, zone, start)
    days = length // DAY
    return Grid(days, ahead % days, Calendar(time, "day", clock, zone))


def offset_ticks(time: TimeColumn, offset: Offset) -> int:
    """The ticks of an offset: a duration since the epoch, or a time in UTC, of which only the phase matters."""
    if not isinstance(offset, datetime.datetime):
        return time.duration(offset, "offset")
    return ticks_since_epoch(time, offset)


def check_offset(offset: Any) -> None:
    """DurationError unless an offset is a duration or a time, as far as that is known without a time column."""
    if not isinstance(offset, datetime.datetime):
        written(offset, "offset")
