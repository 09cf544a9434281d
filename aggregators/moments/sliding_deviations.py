"""Deviations of ranges of states as sums about centres that ranges share, which slide by running sums.

Ranges that overlap, one with the next, are a segment. Its states are moved to one centre, that of its first one, and
divided by a power of two, so that no deviation is above 1; then their sums are plain ones, in pairs of floats. What is
left of the squares about a range's own mean has as many bits less as that is from the centre, counted in standard
deviations, twice: ranges with too few bits are left to be joined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .. import loops
from ..contract.aggregate import State, StateFunctions, StateRanges
from ..contract.bound import BoundAggregate
from ..states.alike import are_ones, are_zeros, zeros
from ..states.arrays import Bools, Floats, Index, Ints
from ..states.double_double import two_sum
from ..states.fields import Compensated
from .deviations import ORDINARY, Deviations

GRID = 1.5 * 2.0 ** (52 - 98)
"""Added and subtracted it leaves multiples of ``2**-98``: what three planes of sums hold of numbers up to 1."""

MIN_VARIANCE = 2.0**-32
"""The least variance, in squares of the greatest deviation of a segment: it has more than 60 bits."""


class CentredSums(StateFunctions):
    """Sums of deviations about common centres, and of products of these, in pairs of floats; without a deduct."""

    sums: tuple[str, ...] = ()
    commutative = True

    def __init_subclass__(cls) -> None:
        parts = [(f"{name}{part}", pa.float64()) for name in cls.sums for part in ("", "_low")]
        cls.state = {"count": "int64", **dict.fromkeys(cls.sums, "compensated")}
        cls.ufuncs = dict.fromkeys(cls.state, np.add)
        cls.result = pa.struct([("count", pa.int64()), *parts])

    def combine(self, a: State, b: State) -> State:
        return {field: a[field] + b[field] for field in self.state}

    def finish(self, a: State) -> Any:
        columns = [a["count"], *(part for name in self.sums for part in (a[name].high, a[name].low))]
        return pa.StructArray.from_arrays(list(map(pa.array, columns)), fields=list(self.result))


class SumsOfSquares(CentredSums):
    """The sums of deviations, and of their squares."""

    sums = ("sum", "squares")


SUMS = BoundAggregate("sums", SumsOfSquares(), [])


def of_ranges(states: Deviations, ranges: StateRanges) -> tuple[Deviations, Floats] | None:
    """The sums of ranges, and the powers of two that these are divided by; None where states are to be joined."""
    low, high = ranges.low, ranges.high
    if not ranges.ascending or not (high > low).all() or states.level.any():
        return None
    first, begin = segments(low, high)
    codes = np.repeat(np.arange(len(begin), dtype=np.int32), np.diff(begin, append=len(states.count)))
    centred = centred_sums(states, single(states), codes, len(begin))
    if centred is None:
        return None
    sums, unit = centred
    count, *parts = (each.to_numpy() for each in ranges.finish(SUMS, sums).flatten())
    return about_centres(count, *parts), np.repeat(unit, np.diff(first, append=len(low)))


def about_centres(count: Ints, total: Floats, total_low: Floats, squares: Floats, squares_low: Floats) -> Deviations:
    """Deviations of sums about centres that do not matter any more."""
    return Deviations(count, total, total, total_low, squares, squares_low, zeros(len(count)).astype(np.int8))


def of_codes(states: Deviations, codes: NDArray[np.int32], size: int) -> tuple[State, Floats] | None:
    """As :func:`centred_sums`; None also where states are of several values, or of none."""
    return None if states.level.any() or not single(states) else centred_sums(states, True, codes, size)


def single(states: Deviations) -> bool:
    """Whether each state is of one value."""
    return are_ones(states.count) and all(are_zeros(each) or not each.any() for each in states._sums())


def centred_sums(states: Deviations, single: bool, codes: NDArray[np.int32], size: int) -> tuple[State, Floats] | None:
    """States as those of ``SUMS`` about a centre for each code, and the powers of two that these are divided by.

    Codes are below ``size``, in any order. ``single``: whether states are known to be of one value each. None where
    states are too huge or tiny to have squares.
    """
    exponent, made = np.empty(size, np.int64), list(np.empty((4, len(codes))))
    if not (
        loops.sums_about(states._contiguous(), single, codes, made, exponent, ORDINARY)
        or (not loops.compiled and sums_about(states, codes, made, exponent))
    ):
        return None
    sums = {"count": states.count, "sum": Compensated(*made[:2]), "squares": Compensated(*made[2:])}
    return sums, np.ldexp(1.0, exponent)


def segments(low: Ints, high: Ints) -> tuple[Index, Index]:
    """The first range of each segment, and the first state of each."""
    fresh = np.ones(len(low), bool)
    np.greater_equal(low[1:], high[:-1], out=fresh[1:])
    first = np.flatnonzero(fresh)
    begin = low[first]
    begin[:1] = 0
    return first, begin


def all_equal(states: Deviations, low: Ints, high: Ints) -> Bools:
    """Which ranges are known to have one value only."""
    if not (states.centre[low] == states.centre[high - 1]).any():
        return np.zeros(len(low), bool)
    rows = np.arange(len(states.count))
    last = np.zeros(len(rows), np.int64)  # the first row that a range may begin with, if it ends here
    last[1:] = np.where(states.centre[1:] == states.centre[:-1], 0, rows[1:])
    several = np.logical_or.reduce([each != 0 for each in states._sums()])
    last = np.maximum.accumulate(np.where(several, rows + 1, last))
    equal: Bools = last[high - 1] <= low
    return equal


def sums_about(states: Deviations, codes: NDArray[np.int32], made: list[Floats], exponents: Ints) -> bool:
    """As ``loops.sums_about``, by numpy."""
    centre, most = np.zeros((2, len(exponents)))
    centre[codes[::-1]] = states.centre[::-1]  # where a code repeats, numpy keeps what is assigned last
    moved = about(states, centre[codes])
    if moved is None:
        return False
    np.maximum.at(most, codes, moved.squares)
    exponents[:] = np.frexp(np.sqrt(most))[1] + 1
    unit = np.ldexp(1.0, -exponents)[codes]
    sums, sums_low, squares, squares_low = moved._sums()
    made[0][:], made[1][:] = sums * unit, (sums_low * unit + GRID) - GRID
    unit *= unit
    made[2][:], made[3][:] = squares * unit, (squares_low * unit + GRID) - GRID
    return True


def about(states: Deviations, centre: Floats) -> Deviations | None:
    """Deviations moved to other centres; None where that is too far, or too near, or they are not finite."""
    apart, low = two_sum(states.centre, -centre)
    size = np.abs(apart)
    if not (size.max() < ORDINARY and states.squares.max() < ORDINARY * ORDINARY):
        return None
    if size.min() < 1 / ORDINARY and ((size < 1 / ORDINARY) & (size > 0)).any():
        return None
    none = np.zeros(len(size))
    return Deviations(np.zeros(len(size), np.int64), centre, none, none, none, none, states.level)._moved(
        states, apart, low
    )
