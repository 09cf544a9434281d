"""How are floats added up exactly? As integers of one unit, which Python adds up much faster than fractions."""

from __future__ import annotations

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
