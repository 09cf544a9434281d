"""Exact sums of floats in groups, each as a pair of floats.

Values are cut at bit positions into integers, whose sums are exact and the same in any order (J. Demmel and H. D.
Nguyen, "Fast Reproducible Floating-Point Summation", 2013). Two integers hold what most columns have; what is left of
some values, beside far greater ones, is summed again, with cuts of its own. So no sum depends on other groups.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..states.arrays import Floats, Index, Ints
from ..states.double_double import to_odd, two_sum
from ..states.fields import Compensated
from ..states.limbs import MASK
from .native import loops

MAX_STEP = 50
"""The most bits of an integer: those of a float but for sign, carry and bias."""

CACHED_ROWS = 1 << 14
"""Rows that numpy works on at a time, so that intermediate columns stay in the cache."""

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
    if loops is None:
        return float(np.max(np.abs(values), initial=0.0))
    return float(loops.largest(np.ascontiguousarray(values)))


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
        values, index = (by_numpy if loops is None else by_loop)(values, index, cuts, sums)
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


def by_loop(values: Floats, index: Index, cuts: Cuts, sums: Ints) -> tuple[Floats, Index]:
    """Add the parts of each value to the sums of its group, and count its row; what is left of values, and of which.

    Columns of ``sums``: the number of rows, and the bits of both parts, each with those of its adder, modulo 2**64.
    """
    assert loops is not None
    values, index = np.ascontiguousarray(values), np.ascontiguousarray(index)
    if loops.add_parts(values, index, *cuts.adders, sums):
        return values[:0], index[:0]
    rest, group = np.empty(len(values)), np.empty(len(values), np.intp)
    left = loops.left_of_parts(values, index, *cuts.adders, rest, group)
    return rest[:left], group[:left]


def by_numpy(values: Floats, index: Index, cuts: Cuts, sums: Ints) -> tuple[Floats, Index]:
    """As :func:`by_loop`."""
    counts, *totals = np.zeros((3, len(sums)), np.int64)  # contiguous, which numpy is fast with
    rest = np.empty(len(values))
    for start in range(0, len(values), CACHED_ROWS):
        rows = slice(start, start + CACHED_ROWS)
        left, groups = values[rows], index[rows]
        np.add.at(counts, groups, 1)
        for adder, total in zip(cuts.adders, totals, strict=True):
            moved = left + adder
            np.add.at(total, groups, moved.view(np.int64))
            moved -= adder
            left = left - moved
        rest[rows] = left
    sums[:] = np.column_stack([counts, *totals])
    kept = np.flatnonzero(rest)
    return rest[kept], index[kept]


def integers_of(sums: Ints, cuts: Cuts) -> list[Ints]:
    """The sums of parts in their units, without the bits of adders."""
    adders = np.array(cuts.adders).view(np.int64)
    return [total - adder * sums[:, 0] for total, adder in zip(sums.T[1:], adders, strict=True)]


def pairs(sums: Ints, cuts: Cuts, up: int) -> Compensated:
    """The sums of parts of values times ``2**up``."""
    if loops is None:
        high, low = (part * cuts.unit for part in joined(integers_of(sums, cuts), cuts.step))
    else:
        high, low = np.empty((2, len(sums)))
        loops.join_parts(sums, *cuts.adders, cuts.step, cuts.unit, high, low)
    return Compensated(np.ldexp(high, -up), np.ldexp(low, -up)) if up else Compensated(high, low)


def in_units(sums: Ints, cuts: Cuts, up: int) -> list[Floats]:
    """The same sums in several floats each, none of which has bits of another."""
    return [np.ldexp(part * cuts.unit, -up) for part in in_floats(integers_of(sums, cuts), cuts.step)]


def joined(integers: list[Ints], step: int) -> tuple[Floats, Floats]:
    """Sums of integers, in units ``2**step`` apart, as pairs of floats in the first unit: nearest float, what it lacks.

    All integers but the first are of values of up to ``step`` bits and a sign. The compiled twin is ``join_parts``.
    """
    return distilled(in_floats(integers, step), 2)


def in_floats(integers: list[Ints], step: int) -> list[Floats]:
    """Such integers as floats, none of which has bits of another."""
    for place in range(len(integers) - 1, 0, -1):  # all but the first have no more bits than a float
        integers[place - 1] = integers[place - 1] + (integers[place] >> step)
        integers[place] = integers[place] & ((1 << step) - 1)
    first, *others = integers
    parts = [(first & ~MASK).astype(np.float64), (first & MASK).astype(np.float64)]
    return parts + [np.ldexp(each.astype(np.float64), -step * place) for place, each in enumerate(others, 1)]


def distilled(parts: list[Floats], rounds: int) -> tuple[Floats, Floats]:
    """The sums of columns, coarsest first, as pairs of floats.

    As many rounds as columns are enough for whatever cancels (T. Ogita, S. Rump and S. Oishi, "Accurate Sum and Dot
    Product", 2005).
    """
    for _ in range(rounds):
        for place in reversed(range(len(parts) - 1)):
            parts[place], parts[place + 1] = two_sum(parts[place], parts[place + 1])
    rest = parts[-1]
    for part in reversed(parts[2:-1]):
        rest = part + rest
    return two_sum(parts[0], to_odd(*two_sum(parts[1], rest)))
