"""Durations as Spark writes them."""

from __future__ import annotations

import datetime
import re

from .errors import DurationError

Duration = str | datetime.timedelta | int
"""A duration: a string as Spark writes them ("1 hour 30 minutes"), a timedelta, or an integer for integer times."""

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
SHORT = {"us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "m": "minute", "min": "minute"}
SHORT |= {"mins": "minute", "secs": "second", "h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "w": "week"}
SHORT |= {"mo": "month", "q": "quarter", "y": "year"}
UNITS = "weeks, days, hours, minutes, seconds, milliseconds or microseconds"
CALENDAR = ("month", "quarter", "year")

PART = re.compile(r"\s*([+-]?\s*\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)")


def unit_named(unit: str) -> str:
    """The full name of a unit, in the singular.

    >>> unit_named("hrs"), unit_named("Months")
    ('hour', 'month')
    """
    return SHORT.get(unit.lower(), unit.lower()).removesuffix("s")


def microseconds(duration: str, argument: str) -> int:
    """The microseconds of a duration written as Spark writes them.

    >>> microseconds("1 hour 30 minutes", "size"), microseconds("interval 500 milliseconds", "size")
    (5400000000, 500000)

    Raises
    ------
    DurationError
        If it does not parse, or has months, quarters or years, whose length is not fixed.
    """
    text = re.sub(r"^\s*interval\b", "", duration, flags=re.IGNORECASE)
    parts = list(PART.finditer(text))
    if not parts or PART.sub("", text).strip():
        raise DurationError(
            f"{argument} is {duration!r}, which is not a duration; expected a number and a unit, "
            "such as '1 hour', '90 seconds' or '1 day 12 hours'"
        )
    total = 0
    for number, unit in (part.groups() for part in parts):
        name = unit_named(unit)
        if name in CALENDAR:
            raise DurationError(f"{argument} is {duration!r}, and a {name} has no fixed length; expected {UNITS}")
        if name not in MICROSECONDS:
            raise DurationError(f"{argument} is {duration!r} with the unknown unit {unit!r}; expected {UNITS}")
        whole, _, fraction = number.replace(" ", "").partition(".")
        length = MICROSECONDS[name]
        total += int(whole) * length
        if fraction:
            ticks, rest = divmod(int(fraction) * length, 10 ** len(fraction))
            if rest:
                raise DurationError(f"{argument} is {duration!r}, which is not a whole number of microseconds")
            total += -ticks if whole.startswith("-") else ticks
    return total
