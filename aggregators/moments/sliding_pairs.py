"""Ranges of states of pairs as sums about centres that ranges share, as :mod:`.sliding_deviations` has those of values.

What is left of squares about a range's own means has too few bits where these are far from the centre: such ranges are
joined from their states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import loops
from ..contract.aggregate import StateRanges
from ..contract.bound import BoundAggregate
from ..contract.operation import State
from ..states.arrays import Floats, Index, Ints
from ..states.double_double import product, quotient, two_sum
from ..states.fields import Compensated
from .scaled_means import NO_EXPONENT, exponent_of
from .sliding_deviations import GRID, MIN_VARIANCE, CentredSums, segments

MAX_EXPONENT = 500
"""Deviations from 2**-MAX_EXPONENT on, and below its reciprocal, have squares that are ordinary floats."""

PRODUCTS = ("xx", "yy", "xy")

Pair = tuple[Floats, Floats]


class SumsOfProducts(CentredSums):
    """The sums of deviations of two columns, and of their products."""

    sums = ("x", "y", *PRODUCTS)


SUMS = BoundAggregate("sums", SumsOfProducts(), [])


class Axis(NamedTuple):
    """One column of states about the centres of their segments.

    Parameters
    ----------
    centre, exponent
        Of each segment: half of the centre, and the unit of deviations, a power of two.
    apart
        How far the mean of each state is from the centre, in this unit.
    own
        The exponents of the states' own deviations.
    sizes
        The number of states of each segment.
    """

    centre: Floats
    exponent: Ints
    apart: Pair
    own: Ints
    sizes: Ints

    @property
    def share(self) -> Ints:
        """By which power of two the states' own deviations are multiplied to be in this unit."""
        return self.own - np.repeat(self.exponent, self.sizes)


def of_ranges(a: State, ranges: StateRanges, *, means: bool) -> tuple[dict[str, Any], Index] | None:
    """The states of ranges, and those of them that are to be joined from their states; None where all are.

    Without their ``means`` unless these are wanted.
    """
    low, high, count = ranges.low, ranges.high, a["count"]
    if not ranges.ascending or not (high > low).all() or not count.any():
        return None
    first, begin = segments(low, high)
    sizes = np.diff(begin, append=len(count))
    x, y = (axis_of(a, name, begin, sizes) for name in ("x_", "y_"))
    if x is None or y is None or not all(np.isfinite(a[name]).all() for name in PRODUCTS if a[name].any()):
        return None
    weight = count.astype(np.float64)
    sums = {
        "count": count,
        "x": gridded(weighted(x.apart, weight)),
        "y": gridded(weighted(y.apart, weight)),
        "xx": gridded(products(x, x, weight, a["xx"])),
        "yy": gridded(products(y, y, weight, a["yy"])),
        "xy": gridded(products(x, y, weight, a["xy"])),
    }
    for each, name in ((x, "xx"), (y, "yy")):
        if np.count_nonzero(sums[name].high) < np.count_nonzero(each.apart[0]):  # too tiny to have squares
            return None
    rows, *parts = (column.to_numpy() for column in ranges.finish(SUMS, sums).flatten())
    total = {name: (parts[2 * at], parts[2 * at + 1]) for at, name in enumerate(SumsOfProducts.sums)}
    filled = np.maximum(rows, 1).astype(np.float64)
    windows = np.diff(first, append=len(low))
    states: dict[str, Any] = {"count": rows}
    for name, each in (("x", x), ("y", y)):
        states[f"{name}_exponent"] = np.repeat(each.exponent, windows)
        if means:
            away = np.add(*total[name])
            away /= filled
            away *= np.repeat(np.ldexp(1.0, each.exponent), windows)
            states[f"{name}_mean"], states[f"{name}_low"] = two_sum(np.repeat(each.centre, windows), away)
    for name in PRODUCTS:
        states[name] = about_means(total[name], total[name[0]], total[name[1]], filled)
    few = np.flatnonzero(
        (states["xx"] < MIN_VARIANCE * filled) & (total["xx"][0] != 0)
        | (states["yy"] < MIN_VARIANCE * filled) & (total["yy"][0] != 0)
        | (rows < 2)
    )
    for name in PRODUCTS:  # of one value they are 0, and what has few bits is joined
        states[name][few] = 0.0
    return states, few[rows[few] > 1]


def axis_of(a: State, name: str, begin: Index, sizes: Ints) -> Axis | None:
    """A column of states about centres; None where deviations are not ordinary floats."""
    count, mean, exponent = a["count"], a[f"{name}mean"], a[f"{name}exponent"]
    filled = np.flatnonzero(count)  # an empty state has no mean
    centre = mean[filled[np.searchsorted(filled, begin).clip(max=len(filled) - 1)]]
    apart, lost = two_sum(mean, -np.repeat(centre, sizes))
    if (low := a[f"{name}low"]).any():
        apart, lost = two_sum(apart, lost + low)
    if len(filled) < len(count):
        apart, lost = (np.where(count > 0, each, 0.0) for each in (apart, lost))
    sizes_of = np.abs(apart)
    if (exponent != NO_EXPONENT).any():
        sizes_of += np.ldexp(1.0, exponent)
        sizes_of *= count
    most = np.maximum.reduceat(sizes_of, begin)
    if not np.isfinite(most).all():
        return None
    unit = exponent_of(most) + 1
    unit[most == 0] = 0
    if (np.abs(unit) > MAX_EXPONENT).any():
        return None
    scale = np.repeat(np.ldexp(1.0, -unit), sizes)
    apart *= scale
    lost *= scale
    return Axis(centre, unit, (apart, lost), exponent, sizes)


def times(a: Pair, b: Pair) -> Pair:
    """The products of pairs of floats."""
    high, low = np.empty((2, len(a[0])))
    if loops.multiply_pairs(a, b, high, low):
        return high, low
    high, low = product(a[0], b[0])
    low += a[1] * b[0]
    low += a[0] * b[1]
    return high, low


def weighted(a: Pair, weight: Floats) -> Pair:
    """The products of pairs of floats and whole numbers."""
    return a if (weight == 1).all() else times(a, (weight, np.zeros(len(weight))))


def products(one: Axis, other: Axis, weight: Floats, own: Floats) -> Pair:
    """The sums of products of the deviations of states, ``own`` about their own means."""
    high, low = times(weighted(one.apart, weight), other.apart)
    if own.any():
        high, lost = two_sum(high, np.ldexp(own, one.share + other.share))
        low += lost
    return high, low


def gridded(pair: Pair) -> Compensated:
    """Pairs of floats up to 1, as sums slide."""
    low = pair[1] + GRID
    low -= GRID
    return Compensated(pair[0], low)


def about_means(total: Pair, one: Pair, other: Pair, count: Floats) -> Floats:
    """The sums of products about the means, of those about a centre."""
    found = np.empty(len(count))
    if loops.about_means(total, one, other, count, found):
        return found
    part, part_low = quotient(*times(one, other), count)
    high, lost = two_sum(total[0], -part)
    return np.add(high, total[1] - part_low + lost, out=found)
