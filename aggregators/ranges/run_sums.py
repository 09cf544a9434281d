"""Sums of values that each belong to a run of ranges.

Floats are added up as integers of one unit, in limbs, so that nothing is lost when they are taken off again: the long
accumulator of U. Kulisch, "Computer Arithmetic and Validity", 2008, as long as the values need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..states.arrays import Floats, Ints
from ..states.fields import BIG, Column, Compensated
from ..states.limbs import BITS, MASK, Exact, pairs
from ..tuning import SUMMED_ITEMS

MANTISSA = 53
MOST_LIMBS = 12
"""The most limbs of sums of floats, which differ in size by 2**300 then; others are for whoever sums without them."""


class Runs:
    """The runs of ranges that items are in.

    Parameters
    ----------
    first, last
        The first and the last range of each item, inclusive; the first is above the last where it is in none.
    ranges
        The number of ranges.
    """

    def __init__(self, first: Ints, last: Ints, ranges: int) -> None:
        self.some = np.flatnonzero(first <= last)
        self.first, self.past = first[self.some], last[self.some] + 1
        self.ranges = ranges

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of the integers in each range, modulo 2**64; one for each item."""
        change = np.zeros(self.ranges + 1, np.int64)
        for part in self._parts():
            some = values[self.some[part]].astype(np.int64, copy=False)
            np.add.at(change, self.first[part], some)
            np.subtract.at(change, self.past[part], some)
        return np.cumsum(change)[:-1]

    def sums_of_floats(self, values: Floats) -> tuple[Floats, Floats] | None:
        """The sums of finite floats, each as two of them; None where these differ too much in size."""
        sizes = np.abs(values[values != 0])
        least, most = np.frexp([sizes.min(initial=1), sizes.max(initial=0)])[1].tolist() if len(sizes) else (0, 0)
        limbs = (max(most - least, 0) >> 5) + 4
        if limbs > MOST_LIMBS:
            return None
        size = self.ranges + 1
        change = np.zeros(limbs * size, np.int64)
        for part in self._parts():
            place, *limbs_of_each = limbs_from(values[self.some[part]], least)
            for at, limb in enumerate(limbs_of_each):
                row = (place + at) * size
                np.add.at(change, row + self.first[part], limb)
                np.subtract.at(change, row + self.past[part], limb)
        found = list(np.cumsum(change.reshape(limbs, size), axis=1)[:, :-1])
        negative = Exact(found).carried().limbs[-1] < 0
        positive = Exact([np.where(negative, -limb, limb) for limb in found]).carried()
        high, low = pairs(positive.limbs, exponent=least - MANTISSA)
        return np.where(negative, -high, high), np.where(negative, -low, low)

    def _parts(self) -> Iterator[slice]:
        """The items in a range, some at a time: what is made of them is small then."""
        return (slice(start, start + SUMMED_ITEMS) for start in range(0, len(self.some), SUMMED_ITEMS))


def limbs_from(values: Floats, least: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Floats as integers of the unit ``2.0 ** (least - 53)``: the number of the lowest limb, and three from it on."""
    mantissa, exponent = np.frexp(values)
    whole = np.abs(np.ldexp(mantissa, MANTISSA)).astype(np.int64)
    shift = np.where(whole > 0, exponent - least, 0).astype(np.int64)
    place, rest = shift >> 5, shift & BITS - 1
    sign = np.where(values < 0, -1, 1)
    upper = whole >> (BITS - rest)
    return place, sign * ((whole & (1 << (BITS - rest)) - 1) << rest), sign * (upper & MASK), sign * (upper >> BITS)


def states_of_runs(states: Mapping[str, Column], runs: Runs) -> dict[str, Column] | None:
    """The sums of states whose fields are all added up, in each range; None where floats cannot be without loss."""
    found: dict[str, Column] = {}
    for key, column in states.items():
        if isinstance(column, Exact):
            found[key] = Exact([runs.sums(limb) for limb in column.limbs]).carried()
        elif isinstance(column, Compensated):
            special = column.special_values
            if column.low.any() or (special is not None and special[:, BIG].any()):
                return None
            pair = runs.sums_of_floats(column.high)
            if pair is None:
                return None
            counts = None if special is None else np.column_stack([runs.sums(each) for each in special.T])
            found[key] = Compensated(*pair, None if counts is None else counts.astype(np.float64))
        else:
            found[key] = runs.sums(cast(NDArray[Any], column))
    return found
