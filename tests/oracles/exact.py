"""How are floats added up exactly? As integers of one unit, which Python adds up much faster than fractions."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def in_units(values: Sequence[Any]) -> tuple[list[int], Fraction]:
    """Numbers that are finite, as integers of the unit that comes with them."""
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*(below for _, below in ratios))
    return [above * (common // below) for above, below in ratios], Fraction(1, common)


def about_mean(values: Sequence[Any]) -> tuple[list[int], Fraction]:
    """The deviations of numbers from their mean, as integers of a unit."""
    whole, unit = in_units(values)
    total = sum(whole)
    return [len(whole) * each - total for each in whole], unit / max(len(whole), 1)


def spread(values: Sequence[Any], ddof: int) -> tuple[float, float]:
    """The floats nearest to the variance and to the standard deviation of more than ``ddof`` finite numbers."""
    away, unit = about_mean(values)
    exact = sum(each * each for each in away) * unit**2 / (len(values) - ddof)
    with decimal.localcontext(prec=60):
        root = (decimal.Decimal(exact.numerator) / exact.denominator).sqrt()
    try:
        return float(exact), float(root)
    except OverflowError:
        return math.inf, float(root)
