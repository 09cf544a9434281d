"""Exact sums of floats in groups, each as a pair of floats.

Values are cut at bit positions into integers, whose sums are exact and the same in any order (J. Demmel and H. D.
Nguyen, "Fast Reproducible Floating-Point Summation", 2013). Two integers hold what most columns have; what is left of
some values, beside far greater ones, is summed again, with cuts of its own. So no sum depends on other groups.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import loops
from ..states.arrays import Floats, Index, Ints
from ..states.fields import Compensated
from ..states.limbs import distilled, in_floats

MAX_STEP = 50
"""The most bits of an integer: those of a float but for sign, carry and bias."""

MIN_EXPONENT, UP = -1074, 600
"""The exponent of the least float; a column with parts below it is multiplied by ``2**UP`` first."""


class Cuts(NamedTuple):
    """Where values are cut: adding and subtracting each of ``adders`` leaves a part, in units ``2**step`` apart.

    ``unit`` is that of the first part.
    """

    adders: tuple[float, float]
    step: int
    unit: float


def cuts_of(largest: float, rows: int) -> Cuts:
    """The cuts of ``rows`` values up to a magnitude, below 2**960, so that sums of parts fit 64 bits."""
    step = min(MAX_STEP, 62 - rows.bit_length())
    units = [math.frexp(largest)[1] - step * place for place in (1, 2)]
    first, second = (math.ldexp(1.5, 52 + unit) for unit in units)
    return Cuts((first, second), step, math.ldexp(1.0, units[0]))


def largest_of(values: Floats) -> float:
    """The greatest magnitude, NaN if any value is; 0 of none."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def summed(values: Floats, index: Index, size: int, largest: float) -> tuple[Compensated, Ints]:
    """The sum of each group, and how many rows it has; ``largest`` is the greatest magnitude, below 2**960."""
    up, passes = 0, list[tuple[Ints, Cuts, int]]()
    while not passes or len(values):
        cuts = cuts_of(math.ldexp(largest, up), len(values))
        if not up and cuts.unit < math.ldexp(1.0, MIN_EXPONENT + cuts.step):
            up, values = UP, np.ldexp(values, UP)
            continue
        sums = np.zeros((size, 3), np.int64)
        passes.append((sums, cuts, up))
        values, index = add_parts(values, index, cuts, sums)
        largest = math.ldexp(largest_of(values), -up)
    *earlier, last = passes
    total = pairs(*last)
    wide = np.zeros(size, bool)  # groups with values that one pass cannot hold
    for sums, cuts, _ in earlier:
        wide |= np.any(integers_of(sums, cuts), axis=0)
    if wide.any():
        parts = [part for sums, cuts, up in passes for part in in_units(sums[wide], cuts, up)]
        total.high[wide], total.low[wide] = distilled(parts, len(parts))
    return total, passes[0][0][:, 0].copy()


def add_parts(values: Floats, index: Index, cuts: Cuts, sums: Ints) -> tuple[Floats, Index]:
    """Add the parts of each value to the sums of its group, and count its row; what is left of values, and of which.

    Columns of ``sums``: the number of rows, and the bits of both parts, each with those of its adder, modulo 2**64.
    """
    values, index = np.ascontiguousarray(values), np.ascontiguousarray(index)
    if loops.add_parts(values, index, *cuts.adders, sums):
        return values[:0], index[:0]
    rest, group = np.empty(len(values)), np.empty(len(values), np.intp)
    left = loops.left_of_parts(values, index, *cuts.adders, rest, group)
    return rest[:left], group[:left]


def integers_of(sums: Ints, cuts: Cuts) -> list[Ints]:
    """The sums of parts in their units, without the bits of adders."""
    adders = np.array(cuts.adders).view(np.int64)
    return [total - adder * sums[:, 0] for total, adder in zip(sums.T[1:], adders, strict=True)]


def pairs(sums: Ints, cuts: Cuts, up: int) -> Compensated:
    """The sums of parts of values times ``2**up``."""
    high, low = np.empty((2, len(sums)))
    loops.join_parts(sums, *cuts.adders, cuts.step, cuts.unit, high, low)
    return Compensated(np.ldexp(high, -up), np.ldexp(low, -up)) if up else Compensated(high, low)


def in_units(sums: Ints, cuts: Cuts, up: int) -> list[Floats]:
    """The same sums in several floats each, none of which has bits of another."""
    return [np.ldexp(part * cuts.unit, -up) for part in in_floats(integers_of(sums, cuts), cuts.step)]
