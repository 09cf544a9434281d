"""Sums of squared deviations from a centre, in pairs of floats: what a variance is made of.

Any value within the range of the others will do as a centre ``c``: their sum of squares about it is at most n + 1 times
that about their mean, so that little is lost in ``S - s * s / n`` (T. Chan, G. Golub and R. LeVeque, "Algorithms for
Computing the Sample Variance", 1983). Moving a centre by ``d`` adds ``n * d`` to ``s`` and ``d * (2 * s + n * d)`` to
``S``: without a division, so that rounding errors of pairs of floats are tiny.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import loops
from ..contract.frames import Frames
from ..states.alike import ones, zeros
from ..states.arrays import Floats, Index, Ints
from ..states.double_double import add, halves, product, quotient, two_sum
from ..tuning import CACHED_ROWS, DEVIATION_ROWS
from .grid_deviations import gridded
from .scaled_means import exponent_of

HALF_BITS = 25
"""Bits of the upper part of a deviation, so that squares are summed without rounding."""

ORDINARY = 2.0**420
"""Squares of deviations below this, and from its reciprocal on, neither overflow nor vanish."""

LARGEST = float(np.finfo(np.float64).max)

UNIT = 600
"""Deviations of level 1 are kept divided by ``2**UNIT``, those of level -1 (tiny ones) multiplied by it."""


@dataclass
class Deviations:
    """A column of states: sums of values' deviations from a centre.

    Attributes
    ----------
    count
        The number of values.
    centre
        What they deviate from: finite, within their range.
    sum, sum_low
        The sum of deviations, and what rounding lost of it.
    squares, squares_low
        The sum of their squares, NaN if a value was NaN or infinite, and what rounding lost of it.
    level
        The unit of deviations: ``2**(UNIT * level)``, of -1, 0 and 1.
    """

    count: Ints
    centre: Floats
    sum: Floats
    sum_low: Floats
    squares: Floats
    squares_low: Floats
    level: NDArray[np.int8]

    @classmethod
    def of(cls, frames: Frames, values: Floats) -> Deviations:
        """The deviations of each frame's values."""
        if frames.are_rows and ordinary(values):
            none = zeros(frames.size).view(np.float64)
            return cls(ones(frames.size), values + 0.0, none, none, none, none, np.zeros(frames.size, np.int8))
        found = gridded(frames, values)
        if found is None:
            return cls._of_each(frames, values)
        frames.counts = found.rows
        total, squares = two_sum(*found.sums[:2]), two_sum(*found.sums[2:])
        made = cls(found.rows, found.centre, *total, *squares, np.zeros(frames.size, np.int8))
        if found.doubtful.any():
            rows = found.doubtful[frames.index]
            some, which = frames.where(rows)
            made._replace(which, cls._of_each(some, values[rows]))
        return made

    @classmethod
    def _of_each(cls, frames: Frames, values: Floats) -> Deviations:
        """The deviations of each frame's values, with a grid for each frame."""
        count = frames.count()
        centre = frames.sum(values) / np.maximum(count, 1)
        made = about(frames, values, count, centre)
        size = np.abs(centre)
        ordinary = (made.squares >= ORDINARY**-2) & (made.squares <= ORDINARY**2)
        odd = ~(ordinary | ((made.squares == 0) & (size < ORDINARY) & (size * ORDINARY > 1)))
        if odd.any():
            # A centre of 0 is most often one of zeros and nothing else; but tiny values have squares of 0, too.
            odd &= ~((made.squares == 0) & (frames.max(np.abs(values)) == 0))
        if odd.any():
            some, which = frames.where(odd[frames.index])
            made._replace(which, scaled(some, values[odd[frames.index]]))
        return made

    def _replace(self, which: Index, other: Deviations) -> None:
        """Put others in the place of some of the states."""
        for name, column in other.fields().items():
            self.fields()[name][which] = column

    def fields(self) -> dict[str, NDArray[Any]]:
        """The fields of states."""
        return dict(vars(self))

    def join(self, other: Deviations) -> Deviations:
        """The deviations of both states' values, about the left one's centre."""
        if not (self.level | other.level).any():
            made = Deviations(*(column.copy() for column in self.fields().values()))
            rows = np.arange(len(self.count))
            if loops.join_groups_of_deviations(other._contiguous(), rows, made._contiguous(), ORDINARY):
                return made
        return self._join(other)

    @classmethod
    def join_groups(cls, blocks: Iterable[tuple[Deviations, Index]], groups: int) -> Deviations | None:
        """The deviations of each group of states joined, in their order; None where they are to be joined by pairs."""
        room = np.zeros((5, groups))
        none = np.zeros(groups, np.int64), np.zeros(groups, np.int8)
        made = cls(none[0], room[0], room[1], room[2], room[3], room[4], none[1])
        columns = made._contiguous()
        for states, group in blocks:
            if states.level.any():
                return None
            index = np.ascontiguousarray(group)
            if not loops.join_groups_of_deviations(states._contiguous(), index, columns, ORDINARY):
                return None
        return made

    def _contiguous(self) -> list[NDArray[Any]]:
        """The columns without their levels, each contiguous."""
        return [np.ascontiguousarray(each) for each in (self.count, self.centre, *self._sums())]

    def _join(self, other: Deviations) -> Deviations:
        """As :meth:`join`, by numpy."""
        left = self
        if not self.count.all():
            centre = np.where(self.count == 0, other.centre, self.centre)
            left = Deviations(self.count, centre, *self._sums(), self.level)
        apart, low = two_sum(other.centre, -left.centre)
        size = np.abs(apart)
        ordinary = size.max(initial=0.0) < ORDINARY and not (
            size.min(initial=1.0) < 1 / ORDINARY and ((size < 1 / ORDINARY) & (size > 0)).any()
        )
        if ordinary and not (self.level | other.level).any():
            return left._moved(other, apart, low)
        return left._join_levels(other)

    def _join_levels(self, other: Deviations) -> Deviations:
        """As :meth:`_join`, where deviations are too huge or too tiny to have squares."""
        half = np.where(other.count > 0, other.centre * 0.5 - self.centre * 0.5, 0.0)
        level = np.maximum(np.maximum(self._filled(), other._filled()), level_of(half))
        down = np.where(level > 0, 2.0**-UNIT, 1.0)
        up = np.where(level < 0, 2.0**UNIT, 1.0)
        apart, low = two_sum(np.where(other.count > 0, other.centre, self.centre) * down, -self.centre * down)
        joined = self._at(level)._moved(other._at(level), apart * up, low * up)
        return Deviations(
            joined.count, joined.centre, *joined._sums(), np.where(joined.squares == 0, 0, level).astype(np.int8)
        )

    def _moved(self, other: Deviations, apart: Floats, low: Floats) -> Deviations:
        """Joined with deviations of the same level, whose centre is ``apart + low`` away, without low-low products."""
        count = other.count.astype(np.float64)
        upper, lower = halves(apart)
        lower += low
        many, rest = halves(count)
        shift = count * apart
        shift_low = many * upper - shift + rest * upper + count * lower
        moved, moved_low = add(other.sum, other.sum_low, shift, shift_low)
        total, total_low = add(self.sum, self.sum_low, moved, moved_low)
        twice, twice_low = add(moved, moved_low, other.sum, other.sum_low)
        more = apart * twice
        twice_upper, twice_lower = halves(twice)
        twice_lower += twice_low
        more_low = upper * twice_upper - more + twice_lower * upper + lower * twice
        squares, squares_low = add(other.squares, other.squares_low, more, more_low)
        squares, squares_low = add(self.squares, self.squares_low, squares, squares_low)
        return Deviations(self.count + other.count, self.centre, total, total_low, squares, squares_low, self.level)

    def variance(self, ddof: int) -> tuple[Floats, Floats]:
        """The variances, never negative, in units of ``4**(UNIT * level)``, and what rounding lost of them."""
        high, low = np.empty((2, len(self.count)))
        if loops.variances(list(map(np.ascontiguousarray, (self.count, *self._sums()))), ddof, high, low):
            return high, low
        count = np.maximum(self.count, 1).astype(np.float64)
        square, lost = product(self.sum, self.sum)
        part, part_low = quotient(square, lost + 2 * self.sum * self.sum_low, count)
        squares, lost = two_sum(self.squares, -part)
        high, low = quotient(squares, self.squares_low - part_low + lost, np.maximum(count - ddof, 1))
        some = ~(high + low <= 0)
        return np.where(some, high, 0.0), np.where(some, low, 0.0)

    def _sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.sum, self.sum_low, self.squares, self.squares_low

    def _filled(self) -> NDArray[np.int8]:
        """The levels; the least where there are no deviations, which are of any level."""
        return np.where(self.squares == 0, -1, self.level).astype(np.int8)

    def _at(self, level: NDArray[np.int8]) -> Deviations:
        """The deviations in units of other levels."""
        by = UNIT * (self.level.astype(np.int64) - level)
        once, twice = (self.sum, self.sum_low), (self.squares, self.squares_low)
        total, total_low = (np.ldexp(column, by) for column in once)
        squares, squares_low = (np.ldexp(column, 2 * by) for column in twice)
        return Deviations(self.count, self.centre, total, total_low, squares, squares_low, level)


def about(frames: Frames, values: Floats, count: Ints, centre: Floats) -> Deviations:
    """The deviations of each frame's values from its centre.

    Each is cut into an upper part, whose sums and sums of squares are exact, and a lower one (J. Demmel and H. D.
    Nguyen, "Fast Reproducible Floating-Point Summation", 2013), at a place that a frame's sum of squares gives.
    """
    size = frames.size
    tiles = [slice(start, start + DEVIATION_ROWS) for start in range(0, len(values), DEVIATION_ROWS)]
    deviation, lost = np.empty_like(values), np.empty_like(values)
    rough, sums = np.zeros(size), np.zeros((4, size))
    for rows in tiles:
        index = frames.index[rows]
        deviation[rows], lost[rows] = two_sum(values[rows], -centre[index])
        np.add.at(rough, index, deviation[rows] * deviation[rows])
    cut = np.ldexp(1.5, exponent_of(np.sqrt(rough)) + (52 - HALF_BITS))
    for rows in tiles:
        index, high = frames.index[rows], deviation[rows]
        at = cut[index]
        upper = high + at - at
        lower = lost[rows] + (high - upper)
        for total, part in zip(sums, (upper, lower, upper * upper, (upper + upper + lower) * lower), strict=True):
            np.add.at(total, index, part)
    return Deviations(count, centre, *two_sum(sums[0], sums[1]), *two_sum(sums[2], sums[3]), np.zeros(size, np.int8))


def scaled(frames: Frames, values: Floats) -> Deviations:
    """The deviations of frames with values that are too huge, too tiny, infinite or NaN."""
    count = frames.count()
    finite = np.isfinite(values)
    values = np.where(finite, values, 0.0)
    level = level_of(frames.max(np.abs(values)))
    unit = np.ldexp(1.0, UNIT * level.astype(np.int64))
    values = values / unit[frames.index]
    centre = np.clip(frames.sum(values) / count * unit, -LARGEST, LARGEST)
    made = about(frames, values, count, centre / unit)
    squares = np.where(frames.sum(~finite) > 0, np.nan, made.squares)
    level = np.where(squares == 0, 0, level).astype(np.int8)
    return Deviations(count, centre, made.sum, made.sum_low, squares, made.squares_low, level)


def ordinary(values: Floats) -> bool:
    """Whether the squares of values neither overflow nor vanish."""
    for start in range(0, len(values), CACHED_ROWS):
        sizes = np.abs(values[start : start + CACHED_ROWS])
        if not ((sizes < ORDINARY).all() and ((sizes > 1 / ORDINARY) | (sizes == 0)).all()):
            return False
    return True


def level_of(sizes: Floats) -> NDArray[np.int8]:
    """The levels of deviations of these sizes; the least for 0."""
    sizes = np.abs(sizes)
    return np.where(sizes >= ORDINARY, 1, np.where(sizes < 1 / ORDINARY, -1, 0)).astype(np.int8)
