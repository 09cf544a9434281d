"""What is right, by definition: windows and aggregates in plain Python, exact, with no engine in sight.

Nothing here is clever, so that it can be checked by reading. A window is a list of its own events and nothing
else; an aggregate is computed from that list with integers and fractions. Floats have a promise instead of one right
answer ("never worse than adding up that window's own values"), so each aggregate has a function that says whether
an answer is right: it gives None, or the sentence that says what is wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from .exact import about_mean, in_units

UNIT = Fraction(1, 2**53)  # rounding once changes a value by at most this part of it
TINY = Fraction(5e-324)  # ... or by at most half of this, near zero
LARGEST = Fraction(sys.float_info.max)

Verdict = str | None


@dataclass(frozen=True)
class Event:
    """An input row. `time` counts ticks; None stands for null."""

    time: int
    key: Any
    value: Any


@dataclass(frozen=True)
class Grid:
    """Windows [offset + k every, offset + k every + size), or (start, end] where `closed` is "right"."""

    size: int
    every: int
    offset: int = 0
    closed: str = "left"
    empty: str = "skip"

    def numbers(self, time: int) -> range:
        """The numbers k of the windows that hold this time."""
        shift = 1 if self.closed == "right" else 0  # (start, end] holds the ticks that [start + 1, end + 1) holds
        since = time - shift - self.offset
        return range((since - self.size) // self.every + 1, since // self.every + 1)

    def bounds(self, number: int) -> tuple[int, int]:
        start = self.offset + number * self.every
        return start, start + self.size


@dataclass(frozen=True)
class WindowOfKey:
    """One row of the right result: a key, a window and the events in it, by time and then input order."""

    key: Any
    start: int
    end: int
    events: tuple[Event, ...]

    @property
    def values(self) -> list[Any]:
        """The values that are not null."""
        return [event.value for event in self.events if event.value is not None]


def of_values(values: Iterable[Any]) -> WindowOfKey:
    """A window that is no more than its values."""
    return WindowOfKey(None, 0, 0, tuple(Event(0, None, value) for value in values))


def group(key: Any) -> Any:
    """What Spark SQL groups by: null is a group, all NaN are one, and -0.0 is 0.0. Sorts nulls first, NaN last."""
    if isinstance(key, tuple):
        return tuple(group(part) for part in key)
    if key is None:
        return (0, 0)
    if isinstance(key, float):
        return (2, 0) if math.isnan(key) else (1, key + 0.0)
    return (1, key)


def windows(events: Sequence[Event], grid: Grid) -> list[WindowOfKey]:
    """Every window that has to come out, sorted by key and window."""
    keys = {group(event.key): event.key for event in reversed(events)}
    result = []
    for key in sorted(keys):
        own = [event for event in events if group(event.key) == key]
        own.sort(key=lambda event: event.time)  # stable: ties keep their input order
        members: dict[int, list[Event]] = {}
        for event in own:
            for number in grid.numbers(event.time):
                members.setdefault(number, []).append(event)
        numbers: Iterable[int] = sorted(members)
        if grid.empty == "emit" and members:
            numbers = range(min(members), max(members) + 1)
        for number in numbers:
            result.append(WindowOfKey(keys[key], *grid.bounds(number), tuple(members.get(number, ()))))
    return result


# --- exact values -------------------------------------------------------------------------------------------------


def exact_sum(values: Sequence[Any]) -> Any:
    """A Fraction for finite floats, NaN or an infinity as IEEE 754 has it, the exact number otherwise, None of none."""
    if not values:
        return None
    if not isinstance(values[0], float):
        return sum(values[1:], values[0])
    if any(map(math.isnan, values)) or {math.inf, -math.inf} <= set(values):
        return math.nan
    for infinity in (math.inf, -math.inf):
        if infinity in values:
            return infinity
    whole, unit = in_units(values)
    return sum(whole) * unit


def sizes(values: Sequence[Any]) -> Fraction:
    """The sum of the sizes of the values that are finite."""
    whole, unit = in_units([value for value in values if math.isfinite(value)])
    return sum(map(abs, whole)) * unit


def exact_variance(values: Sequence[float], ddof: int) -> Fraction | float | None:
    """The variance as a fraction; None for n <= ddof; NaN where a value is not finite."""
    if len(values) <= ddof:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    away, unit = about_mean(values)
    return sum(each * each for each in away) * unit**2 / (len(values) - ddof)


def rounded(exact: Fraction) -> float:
    """The float nearest to a fraction, infinite where it is beyond the largest float."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


# --- is an answer right? ------------------------------------------------------------------------------------------


def same(got: Any, right: Any) -> Verdict:
    """Equal, where null equals null, NaN equals NaN, and 0.0 equals -0.0."""
    nans = [isinstance(value, float) and math.isnan(value) for value in (got, right)]
    equal = all(nans) or (not any(nans) and (got is None) == (right is None) and got == right)
    return None if equal else f"{got!r} should be {right!r}"


def near(got: Any, exact: Any, allowed: Fraction, may_overflow: bool = False) -> Verdict:
    """Within `allowed` of an exact fraction; one more unit in the last place is always free."""
    if not isinstance(exact, Fraction):
        return same(got, exact)
    right = rounded(exact)
    if got is None:
        return f"null should be {right!r}"
    if not math.isfinite(got):
        fits = may_overflow or abs(exact) + allowed > LARGEST
        good = got == right if math.isinf(right) else fits
        return None if good else f"{got!r} should be {right!r}"
    error = abs(Fraction(got) - exact)
    allowed = allowed + max(abs(exact) * 2 * UNIT, TINY)
    return (
        None
        if error <= allowed
        else f"{got!r} should be {right!r}: off by {rounded(error):.3g}, allowed {rounded(allowed):.3g}"
    )


def slack(values: Sequence[float]) -> Fraction:
    """What adding up the values one by one may lose: n units of the sum of their sizes."""
    return len(values) * UNIT * sizes(values)


def overflows_on_the_way(values: Sequence[float]) -> bool:
    """Whether some order of adding up the values leaves the range of floats, although their sum may be within."""
    return sizes(values) > LARGEST


def sum_verdict(got: Any, values: Sequence[Any]) -> Verdict:
    """The verdict on a sum of values: no worse than adding them up one by one; that of none is 0."""
    exact = exact_sum(values)
    if isinstance(exact, Fraction):
        return near(got, exact, slack(values), overflows_on_the_way(values))
    return same(got, exact if values else 0)


def check_sum(got: Any, window: WindowOfKey) -> Verdict:
    return sum_verdict(got, window.values) if window.values else same(got, None)


def check_average(got: Any, window: WindowOfKey) -> Verdict:
    values = [float(value) for value in window.values]
    if isinstance(exact := exact_sum(values), Fraction):
        return near(got, exact / len(values), slack(values) / len(values), overflows_on_the_way(values))
    return same(got, exact)


def variance_slack(values: Sequence[float], variance: Fraction, ddof: int) -> Fraction:
    """What the two-pass algorithm may lose on these values: n units of the result, and the mean's error squared."""
    count = len(values)
    largest = max(abs(Fraction(value)) for value in values)
    of_mean = (count + 1) * UNIT * largest
    return (count + 4) * 2 * UNIT * variance + of_mean**2 * count / (count - ddof) + count * TINY


def check_variance(ddof: int) -> Callable[[Any, WindowOfKey], Verdict]:
    def check(got: Any, window: WindowOfKey) -> Verdict:
        values = [float(value) for value in window.values]
        exact = exact_variance(values, ddof)
        if not isinstance(exact, Fraction):
            return same(got, exact)
        squares = exact * (len(values) - ddof)
        risky = squares > LARGEST or overflows_on_the_way(values)
        return near(got, exact, variance_slack(values, exact, ddof), risky) or (
            f"{got!r} is negative" if got < 0 else None
        )

    return check


def check_deviation(ddof: int) -> Callable[[Any, WindowOfKey], Verdict]:
    def check(got: Any, window: WindowOfKey) -> Verdict:
        if got is None or math.isnan(got) or math.isinf(got):
            return check_variance(ddof)(got, window)
        if got < 0:
            return f"{got!r} is negative"
        values = [float(value) for value in window.values]
        exact = exact_variance(values, ddof)
        if not isinstance(exact, Fraction):
            return same(got, exact)
        allowed = variance_slack(values, exact, ddof)
        low, high = (Fraction(got) * (1 + side * 4 * UNIT) for side in (-1, 1))
        inside = low**2 <= exact + allowed and (high + TINY) ** 2 >= exact - allowed
        return None if inside else f"{got!r} squared should be {rounded(exact)!r} within {rounded(allowed):.3g}"

    return check


def order(value: Any) -> tuple[bool, Any]:
    """The order of Spark SQL, in which NaN is above everything."""
    nan = isinstance(value, float) and math.isnan(value)
    return nan, 0 if nan else value


def checking(right: Callable[[WindowOfKey], Any]) -> Callable[[Any, WindowOfKey], Verdict]:
    """Whether an answer is that of a function of the window."""
    return lambda got, window: same(got, right(window))


check_min = checking(lambda window: min(window.values, key=order, default=None))
check_max = checking(lambda window: max(window.values, key=order, default=None))
check_first = checking(lambda window: window.values[0] if window.values else None)
check_last = checking(lambda window: window.values[-1] if window.values else None)
check_rows = checking(lambda window: len(window.events))
check_count = checking(lambda window: len(window.values))
check_longest_run = checking(lambda window: max((len(list(run)) for _, run in groupby(window.values)), default=0))


def check_geometric_mean(got: Any, window: WindowOfKey) -> Verdict:
    right = math.exp(math.fsum(map(math.log, window.values)) / len(window.values)) if window.values else None
    if right is None or got is None:
        return same(got, right)
    return None if math.isclose(got, right, rel_tol=1e-12) else f"{got!r} should be {right!r}"
