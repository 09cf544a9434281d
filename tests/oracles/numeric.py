"""Random windows of awkward columns by every way of getting to a result, against an oracle on each window's rows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff

from ..support.plans import Operation
from .by_definition import check_average, check_sum, exact_variance, of_values, rounded
from .exact import about_mean, in_units
from .ways import by_window, every_way, rows_of_windows

UNIT, Row = Fraction(1, 2**52), tuple[Any, ...]
Right, Agree = Callable[[list[Row]], Any], Callable[[Any, Any, list[Row]], bool]
WINDOWS = [(5, 2), (24, 3), (3, 8)]

NEAR = [1e9 + k / 1000 for k in (0, 1, 2, 5, 9, 9, 3)]
HUGE_AMONG_ONES = [1.0, 1.0, 1e16, 1.0, -1.0, 1.0, 2.0]
EXTREME = [1e300, 1.0, -1e300, 1e-300, 3e-300, 1.7e308, -1.7e308, 5e-324]
CANCELLING = [0.1, -0.1, 1e8, -1e8, 3.3, -3.3, 1e-9]
RARE = [math.nan, math.inf, -math.inf, 1.0, 2.5, 3.0, -4.0, 1.0, 7.0, 8.0, 0.0, -0.0]
STREAMS = {"near": NEAR, "huge": HUGE_AMONG_ONES, "extreme": EXTREME, "cancelling": CANCELLING, "rare": RARE}


def close(tolerance: float = 1e-13) -> Agree:
    """Equal up to a relative error; None and NaN only where they are right."""

    def agree(got: Any, right: Any, rows: list[Row]) -> bool:
        if got is None or right is None or isinstance(got, int):
            return bool(got == right)
        if math.isnan(right):
            return math.isnan(got)
        return got == right or math.isclose(got, right, rel_tol=tolerance, abs_tol=1e-300)

    return agree


EQUAL = close()


def exactly(got: Any, right: Any, rows: list[Row]) -> bool:
    """Equal, and of one type."""
    return type(got) is type(right) and (got == right or (got != got and right != right))


def root(square: Fraction) -> Fraction:
    """The square root of a fraction, to 60 digits."""
    with localcontext(prec=60):
        return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def table_of(columns: Mapping[str, pa.Array], seed: int) -> pa.Table:
    """Events of two keys at random times, some of them alike."""
    times = np.random.default_rng(seed).integers(0, 60, len(next(iter(columns.values()))))
    return pa.table({"t": times, "key": times * 7 % 11 % 2, **columns})


def drawn(values: Sequence[Any], length: int, seed: int, type: pa.DataType | None = None) -> pa.Array:
    """A column of values drawn with repetition, one in eight null."""
    chosen = random.Random(seed).choices(values, k=length)
    gaps = np.random.default_rng(seed).random(length) < 0.125
    return pa.array([None if gap else value for gap, value in zip(gaps, chosen, strict=True)], type or pa.float64())


def assert_right(operation: Operation, columns: Mapping[str, pa.Array], right: Right, agree: Agree = EQUAL) -> None:
    """Check an operation on these columns: windows on the local engine, by both ways and in batches."""
    for seed, (size, every) in enumerate(WINDOWS):
        table = table_of(columns, seed)
        of_windows = rows_of_windows(table, "key", operation.columns, size, every)
        known = {window: [row for row in rows if None not in row] for window, rows in of_windows.items()}
        right_ones = {window: right(rows) for window, rows in known.items()}
        for name, result in every_way(operation, table, "key", size, every):
            found = by_window(result, "key")
            assert found.keys() == known.keys(), name
            for window, got in found.items():
                want = right_ones[window]
                said = f"{operation!r} by {name}, window ({size}, {every}) {window}: {got!r}, not {want!r}"
                assert agree(got, want, known[window]), f"{said} of {known[window]}"


# --- what is right, of one column -----------------------------------------------------------------------------------


def floats(rows: list[Row]) -> list[float]:
    return [float(row[0]) for row in rows]


def finite(rows: list[Row]) -> bool:
    return all(math.isfinite(float(value)) for row in rows for value in row)


def geometric(rows: list[Row]) -> float | None:
    values = floats(rows)
    if not values or min((value for value in values if value == value), default=0) < 0:
        return None
    if not finite(rows):
        return math.prod(value if value == 0 or not math.isfinite(value) else 1.0 for value in values)
    if 0 in values:
        return 0.0
    with localcontext(prec=60):
        return float((sum(Decimal(value).ln() for value in values) / len(values)).exp())


def harmonic(rows: list[Row]) -> float | None:
    values = floats(rows)
    if not values or min((value for value in values if value == value), default=0) < 0:
        return None
    if any(map(math.isnan, values)):
        return math.nan
    if 0 in values:
        return 0.0
    total = sum(1 / Fraction(value) for value in values if value != math.inf)
    return rounded(len(values) / total) if total else math.inf


def mean_square(rows: list[Row]) -> float | None:
    values = floats(rows)
    if not finite(rows):
        return math.nan if any(map(math.isnan, values)) else math.inf
    return rounded(root(sum(Fraction(value) ** 2 for value in values) / len(values))) if values else None


def product(rows: list[Row]) -> float | None:
    values = floats(rows)
    if finite(rows):
        return rounded(math.prod(map(Fraction, values))) if values else None
    return math.prod(value if value == 0 or not math.isfinite(value) else math.copysign(1, value) for value in values)


def spread(rows: list[Row]) -> float | None:
    values = floats(rows)
    if not finite(rows):
        return math.nan if any(map(math.isnan, values)) else float(max(values) - min(values))
    return rounded(Fraction(max(values)) - Fraction(min(values))) if values else None


def central(values: list[float], power: int) -> Fraction:
    away, unit = about_mean(values)
    return sum(each**power for each in away) * unit**power / len(values)


def shape(of: Callable[[list[float]], float]) -> Callable[[list[Row]], float | None]:
    """A function of values of which two differ; null of others."""

    def right(rows: list[Row]) -> float | None:
        values = floats(rows)
        return math.nan if not finite(rows) else of(values) if len(set(values)) > 1 else None

    return right


def skewness(values: list[float]) -> float:
    third = central(values, 3)
    size = float(root(third**2 / central(values, 2) ** 3))
    return size if third > 0 else -size


def kurtosis(values: list[float]) -> float:
    return float(central(values, 4) / central(values, 2) ** 2 - 3)


def near_shape(got: Any, right: Any, rows: list[Row]) -> bool:
    """Right up to a few roundings of the largest that this number of values could have."""
    if right is None or got is None or math.isnan(right):
        return EQUAL(got, right, rows)
    return bool(abs(got - right) <= 1e-14 * len(rows) and got >= -len(rows))


def middles(found: float) -> list[Fraction]:
    """The middles between a float that is not negative and those next to it, where inf is what follows the largest."""
    near = (max(math.nextafter(found, -math.inf), 0.0), found, math.nextafter(found, math.inf))
    below, here, above = (Fraction(2) ** 1024 if math.isinf(value) else Fraction(value) for value in near)
    return [(below + here) / 2, (here + above) / 2 if math.isfinite(found) else Fraction(2) ** 4096]


def is_nearest(found: float, exact: Fraction, power: int = 1) -> bool:
    """Whether no other float is nearer; with a power of 2, to the square root."""
    low, high = middles(found)
    return low**power <= exact <= high**power


def variance(ddof: int) -> Callable[[list[Row]], Any]:
    return lambda rows: exact_variance(floats(rows), ddof)


def nearest(power: int) -> Any:
    def agree(got: Any, right: Any, rows: list[Row]) -> bool:
        if not isinstance(right, Fraction):
            return EQUAL(got, right, rows)
        return got is not None and is_nearest(got, right, power)

    return agree


def verdict(check: Any) -> Any:
    """Whether a function of results and windows finds nothing wrong."""
    return lambda got, right, rows: check(got, of_values(floats(rows))) is None


ONE = {
    ff.Sum("x"): (lambda rows: float(len(rows)), verdict(check_sum)),
    ff.Average("x"): (lambda rows: 1.0, verdict(check_average)),
    ff.GeometricMean("x"): (geometric, close(2e-14)),
    ff.HarmonicMean("x"): (harmonic, close(2e-14)),
    ff.RootMeanSquare("x"): (mean_square, close(2e-14)),
    ff.Product("x"): (product, EQUAL),
    ff.Range("x"): (spread, close(0.0)),
    ff.Skewness("x"): (shape(skewness), near_shape),
    ff.Kurtosis("x"): (shape(kurtosis), near_shape),
    ff.Variance("x"): (variance(1), nearest(1)),
    ff.StdDev("x", ddof=0): (variance(0), nearest(2)),
    ff.Variance("x", ddof=2): (variance(2), nearest(1)),
}


# --- of two columns --------------------------------------------------------------------------------------------------


def weighted(rows: list[Row]) -> float | None:
    if not finite(rows):
        weight, total = sum(float(row[1]) for row in rows), sum(float(value) * float(by) for value, by in rows)
        return math.nan if math.isnan(weight) or math.isinf(weight) else total / weight if weight else None
    weight = sum(Fraction(row[1]) for row in rows)
    return rounded(sum(Fraction(value) * Fraction(by) for value, by in rows) / weight) if weight else None


def near_weighted(got: Any, right: Any, rows: list[Row]) -> bool:
    """Right to the last digits; where products cancel, not worse than adding up the window's own ones."""
    if got is None or right is None or not finite(rows) or close(1e-15)(got, right, rows):
        return close(1e-15)(got, right, rows)
    weight = sum(Fraction(by) for _, by in rows)
    size = sum(abs(Fraction(value) * Fraction(by)) for value, by in rows) / abs(weight)
    return abs(Fraction(got) - Fraction(right)) <= size * len(rows) / 2**53


def moments(rows: list[Row]) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
    """Both means, and the sums of squares and products of deviations."""
    (x, one), (y, other) = (in_units(values) for values in zip(*rows, strict=True))
    (a, of_x), (b, of_y) = (about_mean(values) for values in zip(*rows, strict=True))
    squares = sum(each * each for each in a) * of_x**2, sum(each * each for each in b) * of_y**2
    return sum(x) * one / len(x), sum(y) * other / len(y), *squares, sum(map(mul, a, b)) * of_x * of_y


def covariance(ddof: int) -> tuple[Any, Any]:
    def right(rows: list[Row]) -> float | None:
        if len(rows) <= ddof:
            return None
        return rounded(moments(rows)[4] / (len(rows) - ddof)) if finite(rows) else math.nan

    def near(got: Any, right: Any, rows: list[Row]) -> bool:
        if right is None or got is None or not math.isfinite(right) or not math.isfinite(got):
            return EQUAL(got, right, rows)
        _, _, xx, yy, xy = moments(rows)
        slack = 4 * len(rows) * UNIT * max(root(xx * yy), Fraction(1e-323)) / (len(rows) - ddof)
        return abs(Fraction(got) - xy / (len(rows) - ddof)) <= slack + Fraction(5e-324)

    return right, near


def correlation(rows: list[Row]) -> float | None:
    """A constant column beside a NaN is no correlation, whatever the NaN would be."""
    if not rows or len({y for _, y in rows}) == 1 or (finite(rows) and 0 in moments(rows)[2:4]):
        return None
    if not finite(rows):
        return math.nan
    _, _, xx, yy, xy = moments(rows)
    size = float(root(xy * xy / xx / yy))
    return size if xy > 0 else -size


def near_correlation(got: Any, right: Any, rows: list[Row]) -> bool:
    if right is None or got is None or math.isnan(right):
        return EQUAL(got, right, rows)
    return bool(abs(got) <= 1 and abs(got - right) <= 4e-16 * (len(rows) + 2))


def trend(rows: list[Row]) -> dict[str, float] | None:
    if not rows or len({float(x) for x, _ in rows}) == 1:
        return None
    if not finite(rows):
        return {"slope": math.nan, "intercept": math.nan}
    x, y, xx, _, xy = moments(rows)
    return {"slope": rounded(xy / xx), "intercept": rounded(y - xy / xx * x)}


def near_trend(got: Any, right: Any, rows: list[Row]) -> bool:
    """As the line's own rounding has it: slopes to a few units of how far y varies, intercepts where that leads."""
    if right is None or got is None:
        return bool(got == right)
    if math.isnan(right["slope"]):
        return math.isnan(got["slope"]) and math.isnan(got["intercept"])
    x, y, xx, yy, xy = moments(rows)
    slack = 4 * (len(rows) + 2) * UNIT * root(yy / xx)
    at_zero = slack * abs(x) + 4 * UNIT * (abs(y) + abs(xy / xx * x)) + Fraction(5e-324)
    off = abs(Fraction(got["slope"]) - xy / xx), abs(Fraction(got["intercept"]) - (y - xy / xx * x))
    return off[0] <= slack + Fraction(5e-324) and off[1] <= at_zero


TWO = {
    ff.WeightedAverage("x", "y"): (weighted, near_weighted),
    ff.Covariance("x", "y"): covariance(1),
    ff.Covariance("x", "y", ddof=0): covariance(0),
    ff.Correlation("x", "y"): (correlation, near_correlation),
    ff.LinearTrend("x", "y"): (trend, near_trend),
}
