"""Days since 1970 as days of months."""

from __future__ import annotations

import numpy as np

from ...aggregators.states.arrays import Ints

LAST = 30
"""The last day of the longest months, from 0."""
SHORTEST = 28
"""The days of the shortest month."""


def month_of(days: Ints) -> tuple[Ints, Ints]:
    """The month since 1970 of each day, and the day in it, from 0."""
    month = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return month, days - first_day(month)


def first_day(months: Ints) -> Ints:
    """The first day of each month."""
    days: Ints = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days


def day_of(months: Ints, day: Ints | int) -> Ints:
    """A day of each month, from 0, or the last one of a shorter month; days below 0 are before the first.

    >>> february = np.array([1])
    >>> [day_of(february, day).astype("datetime64[D]").item().isoformat() for day in (14, 30, -1)]
    ['1970-02-15', '1970-02-28', '1970-01-31']
    """
    first = first_day(months)
    found: Ints = first + np.minimum(day, first_day(months + 1) - first - 1)
    return found
