"""Durations in every spelling: of Spark, pandas, Polars, ISO 8601."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .errors import DurationError, shown
from .weekdays import BusinessDays, business_days

Duration = str | datetime.timedelta | int | BusinessDays
"""A duration: a string as Spark writes them ("1 hour 30 minutes"), a timedelta, or an integer for integer times.

Also what :func:`~framefold.business_days` gives.
"""

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
LENGTHS = MICROSECONDS | {"nanosecond": Fraction(1, 1000)}
"""Of all units of fixed length, in microseconds: what is no whole number of these in all is refused."""
MONTHS = {"month": 1, "quarter": 3, "year": 12}
BUSINESS = "business day"

SHORT = {"ns": "nanosecond", "us": "microsecond", "usec": "microsecond", "micro": "microsecond"}
SHORT |= dict.fromkeys(["\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"], "microsecond")
SHORT |= {"ms": "millisecond", "msec": "millisecond", "milli": "millisecond", "s": "second", "sec": "second"}
SHORT |= {"m": "minute", "min": "minute", "h": "hour", "hr": "hour", "d": "day", "w": "week", "wk": "week"}
SHORT |= {"mo": "month", "mon": "month", "q": "quarter", "qtr": "quarter", "y": "year", "yr": "year", "bd": BUSINESS}
AMBIGUOUS = {"M": ("minute", "month"), "MS": ("millisecond", "month")}
"""Units that are one thing in one library and another in the next, in capitals."""
OF_OTHERS = {"T": "minute", "L": "millisecond", "U": "microsecond", "ME": "month", "QE": "quarter"}
OF_OTHERS |= {"YE": "year", "A": "year", "B": BUSINESS, "BDAY": BUSINESS}
"""Units of pandas that are none here, and what they are called."""
UNITS = "weeks, days, hours, minutes, seconds, milliseconds or microseconds"
IN_ISO = {"Y": "year", "M": "month", "W": "week", "D": "day"}, {"H": "hour", "M": "minute", "S": "second"}

PART = re.compile(
    r"\s*([+-]?\s*\d+(?:\.\d+)?)\s*((?i:business\s+days?\b)|[a-zA-Z\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}]+)"
)
"""A number and its unit."""
IN_INTEGERS = re.compile(r"\s*([+-]?\d+)i\s*")
"""As Polars writes steps of an integer."""


class Length(NamedTuple):
    """What a duration is, as it is written.

    Attributes
    ----------
    months, microseconds
        Its calendar part, and the rest.
    calendar, mixed
        Whether it has months, quarters, years or business days, and whether it has other units beside them.
    in_days
        Whether it is written in days and weeks only; a timedelta is, if it has whole days.
    in_weeks
        Whether it is written in weeks only.
    business
        Its business days, if it is written in them.
    """

    months: int
    microseconds: int
    calendar: bool = False
    mixed: bool = False
    in_days: bool = False
    in_weeks: bool = False
    business: BusinessDays | None = None

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Its months, business days and microseconds."""
        return self.months, 0 if self.business is None else self.business.count, self.microseconds


def unit_named(unit: str) -> str:
    """The full name of a unit, in the singular.

    >>> unit_named("hrs"), unit_named("Months")
    ('hour', 'month')
    """
    lower = " ".join(unit.lower().split())
    return SHORT.get(lower) or SHORT.get(lower.removesuffix("s")) or lower.removesuffix("s")


@lru_cache(maxsize=256)
def length_of(duration: str, argument: str) -> Length:
    """What a duration in words is.

    >>> length_of("1 hour 30 minutes", "size").microseconds, length_of("1q", "size").months
    (5400000000, 3)
    >>> length_of("P1W", "size").in_weeks
    True

    Raises
    ------
    DurationError
        If it does not parse, has a unit that is not known or has two meanings, or is no whole number of microseconds
        or months.
    """
    parts = _parts(duration, argument)
    months, worked, micros = Fraction(0), Fraction(0), Fraction(0)
    for number, unit in parts:
        if unit in MONTHS:
            months += number * MONTHS[unit]
        elif unit == BUSINESS:
            worked += number
        else:
            micros += number * LENGTHS[unit]
    if micros.denominator > 1:
        raise DurationError(f"{argument} is {duration!r}, which is not a whole number of microseconds")
    if any(unit not in LENGTHS and number.denominator > 1 for number, unit in parts):
        what = "business day" if worked.denominator > 1 else "month, quarter or year"
        raise DurationError(
            f"{argument} is {duration!r}, and a part of a {what} has no fixed length; expected whole ones"
        )
    units = {unit for _, unit in parts}
    calendar = not units <= LENGTHS.keys()
    mixed = calendar and not (units <= MONTHS.keys() or units == {BUSINESS})
    business = business_days(int(worked)) if BUSINESS in units else None
    return Length(int(months), int(micros), calendar, mixed, units <= {"day", "week"}, units == {"week"}, business)


def _parts(duration: str, argument: str) -> list[tuple[Fraction, str]]:
    """The numbers of a duration and their units, by full names."""
    iso = re.fullmatch(r"\s*([+-]?)P(?=.)([^T]*)(?:T(.+))?\s*", duration)
    if iso is not None:
        found = []
        for text, letters in zip((iso[2], (iso[3] or "").rstrip()), IN_ISO, strict=True):
            numbers = re.fullmatch("".join(rf"(?:([+-]?\d+(?:\.\d+)?){letter})?" for letter in letters), text.rstrip())
            if numbers is None:
                break
            named = zip(numbers.groups(), letters.values(), strict=True)
            found += [(Fraction(number), unit) for number, unit in named if number]
        else:
            return [(-number if iso[1] == "-" else number, unit) for number, unit in found]
    text = re.sub(r"^\s*interval\b", "", duration, flags=re.IGNORECASE)
    parts = [(number.replace(" ", ""), unit) for number, unit in PART.findall(text)]
    if not parts or PART.sub("", text).strip():
        raise DurationError(
            f"{argument} is {duration!r}, which is not a duration; expected a number and a unit, "
            "such as '1 hour', '90 seconds' or '1 day 12 hours'"
        )
    if parts[0][0].startswith("-") and not re.search(r"\s", text.strip()):
        # Written in one piece, as for pandas and Polars, the sign is that of all; Spark has one for each number.
        parts = [(f"-{number}" if number[0].isdigit() else number, unit) for number, unit in parts]
    return [(Fraction(number), _unit(duration, argument, number, unit)) for number, unit in parts]


def _unit(duration: str, argument: str, number: str, unit: str) -> str:
    """The full name of a unit; DurationError where it has none, or two."""
    said = f"{argument} is {duration!r}"
    if unit != unit.lower() and unit.upper() in AMBIGUOUS:
        one, other = AMBIGUOUS[unit.upper()]
        raise DurationError(
            f"{said}, where {unit!r} could be {one}s or {other}s; expected {_words(number, one)} or "
            f"{_words(number, other)}"
        )
    name = unit_named(unit)
    if name in LENGTHS or name in MONTHS or name == BUSINESS:
        return name
    if (near := OF_OTHERS.get(unit.upper())) is not None:
        raise DurationError(f"{said} with the unit {unit!r} of pandas; expected {_words(number, near)}")
    raise DurationError(
        f"{said} with the unknown unit {unit!r}; expected {UNITS}, or months, quarters, years or business days"
    )


def _words(number: str, unit: str) -> str:
    return repr(f"{number} {unit}{'' if number in ('1', '+1', '-1') else 's'}")


def microseconds(duration: str, argument: str) -> int:
    """The microseconds of a duration in words.

    >>> microseconds("1 hour 30 minutes", "size"), microseconds("interval 500 milliseconds", "size")
    (5400000000, 500000)

    Raises
    ------
    DurationError
        If it does not parse, or has months, quarters, years or business days, whose length is not fixed.
    """
    length = length_of(duration, argument)
    _require_fixed(length, duration, argument)
    return length.microseconds


def written(duration: Any, argument: str) -> Length | int:
    """What a duration is, as far as it is known before a time column is: an integer is of a column of integers.

    Raises
    ------
    DurationError
        If it is none.
    """
    if isinstance(duration, np.timedelta64):
        fixed = np.datetime_data(duration.dtype)[0] not in ("Y", "M", "generic")
        if not fixed or duration.astype("timedelta64[us]") != duration:
            raise DurationError(f"{argument} is {duration!r}; expected a fixed number of whole microseconds")
        duration = datetime.timedelta(microseconds=int(duration.astype("timedelta64[us]").astype(np.int64)))
    if isinstance(duration, datetime.timedelta):
        if getattr(duration, "nanoseconds", 0):  # of pandas
            raise DurationError(f"{argument} is {duration!r}; expected a fixed number of whole microseconds")
        micros = (duration.days * 86_400 + duration.seconds) * 1_000_000 + duration.microseconds
        return Length(0, micros, in_days=micros % MICROSECONDS["day"] == 0)
    if isinstance(duration, str):
        counted = IN_INTEGERS.fullmatch(duration)
        return int(counted[1]) if counted else length_of(duration, argument)
    if isinstance(duration, BusinessDays):
        return Length(0, 0, calendar=True, business=duration)
    if isinstance(duration, bool) or not isinstance(duration, (int, np.integer)):
        expected = "a duration such as '1 hour', a timedelta or an integer"
        if duration is not None and not isinstance(duration, (bool, float, np.generic)):  # an expression, a list
            expected = "a plain value, such as '1 hour'"
        raise DurationError(f"{argument} is {shown(duration)}; expected {expected}")
    return int(duration)


def fixed(duration: Any, argument: str) -> Length | int:
    """What :func:`written` gives, of a duration of fixed length; DurationError where it has months or business days."""
    found = written(duration, argument)
    if isinstance(found, Length):
        _require_fixed(found, duration, argument)
    return found


def _require_fixed(length: Length, duration: Any, argument: str) -> None:
    if length.calendar:
        units = [unit for _, unit in _parts(duration, argument)] if isinstance(duration, str) else [BUSINESS]
        unit = next(unit for unit in units if unit not in LENGTHS)
        raise DurationError(f"{argument} is {duration!r}, and a {unit} has no fixed length; expected {UNITS}")


def positive(duration: Any, argument: str, *, calendar: bool = False) -> None:
    """DurationError unless a duration is above zero, and of fixed length unless ``calendar``, as far as is known.

    What an integer means is known with the time column, so that this checks it.
    """
    found = (written if calendar else fixed)(duration, argument)
    if isinstance(found, Length) and max(found.numbers) <= 0:
        raise DurationError(f"{argument} is {duration!r}; expected a duration above zero")
