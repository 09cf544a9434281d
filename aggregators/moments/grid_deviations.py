"""Deviations on one grid for all frames of a batch: what most batches need, in one pass over their rows.

Values are cut at one bit position, as those of a sum are (J. Demmel and H. D. Nguyen, "Fast Reproducible Floating-Point
Summation", 2013), so coarsely that neither the upper parts' deviations nor the squares of these are rounded when they
are added up. They deviate from the upper part of their frame's first value, on the grid, so that no deviation is
rounded either. A compiled loop adds them up, or where there is none numpy does: to the same bits, in more passes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..contract.frames import Frames
from ..numeric.cache_chunks import BLOCK, extremes
from ..numeric.native import loops
from ..states.arrays import Bools, Floats, Ints

MOST = 17
"""Of frames with 2**MOST rows and more there is no room for the number of rows above the sum of their deviations."""

SIZES = 2.0**300
"""Values below this, that are apart by its reciprocal or more, have squares that can be added up as they are."""

COARSE = 2.0**10
"""Deviations of a frame from its mean are so many steps of the grid at least, in the mean, ..."""

ASKEW = 2.0**8
"""... and the sum of their squares is more than that about the first value divided by this."""


class Gridded(NamedTuple):
    """Frames' numbers of rows, centres, sums of deviations and of their squares, and what is to be added to these sums.

    ``doubtful`` says of which frames the values are too near to one another for this grid.
    """

    rows: Ints
    centre: Floats
    sum: Floats
    sum_low: Floats
    squares: Floats
    squares_low: Floats
    doubtful: Bools


class Grid(NamedTuple):
    """Where values are cut, for frames of less than ``2**bits`` rows.

    ``adder`` added and taken off leaves a multiple of ``step``. So many times ``one`` on top of a frame's sum of
    deviations as it has rows are no more than 53 bits with it.
    """

    bits: int
    step: float
    adder: float
    one: float


def grid_of(span: float, bits: int) -> Grid:
    """The grid of values that are no further apart than a span: squares of deviations have 53 bits less ``bits``."""
    width = (53 - bits) // 2
    exponent = math.frexp(span)[1] + 1 - width
    return Grid(
        bits, math.ldexp(1.0, exponent), math.ldexp(1.5, 52 + exponent), math.ldexp(1.0, exponent + width + bits)
    )


def gridded(frames: Frames, values: Floats) -> Gridded | None:
    """The deviations of each frame's values; None where one grid does not do for a batch.

    It does not if values are huge, tiny, all equal or not finite, if they are further from 0 than any grid reaches that
    is fine enough for their differences, or if a frame has too many rows.
    """
    if not len(values):
        return None
    least, greatest = map(float, extremes(values))
    span, largest = greatest - least, max(abs(least), abs(greatest))
    if not 1 / SIZES <= span <= SIZES or not largest <= SIZES:
        return None
    most = 4 * len(values) // frames.size
    for _ in range(2):  # once more, if a frame has more rows than was to be expected
        grid = grid_of(span, most.bit_length())
        if grid.bits > MOST or largest > math.ldexp(grid.step, 50):
            return None
        rows, centre, *sums = (by_numpy if loops is None else by_loop)(frames, values, grid)
        if rows.max() < 1 << grid.bits:
            return of_sums(rows, centre, np.array(sums), grid)
        most = int(np.bincount(frames.index).max())
    return None


def of_sums(rows: Floats, centre: Floats, sums: Floats, grid: Grid) -> Gridded:
    """What comes of the number of rows, the centres and the four sums of frames."""
    several = rows > 1
    total, squares = sums[0] + sums[1], sums[2] + sums[3]
    about_mean = squares - total * total / np.maximum(rows, 1)
    near = about_mean < np.maximum(rows * (COARSE * grid.step) ** 2, squares / ASKEW)
    doubtful = several & near & (sums != 0).any(axis=0)
    # A single value is its own centre.
    centre = np.where(several, centre, centre + sums[1])
    moved, low, squared, lacking = np.where(several, sums, 0.0)
    return Gridded(rows.astype(np.int64), centre, moved, low, squared, lacking, doubtful)


def by_loop(frames: Frames, values: Floats, grid: Grid) -> Floats:
    """Each frame's number of rows, its centre, and four sums.

    These are of upper deviations, of lower parts, of the squares of upper deviations, and of what those lack.
    """
    assert loops is not None
    made = np.zeros((frames.size, 6))
    loops.add_deviations(np.ascontiguousarray(values), np.ascontiguousarray(frames.index), grid.adder, made)
    return np.ascontiguousarray(made.T)


def by_numpy(frames: Frames, values: Floats, grid: Grid) -> Floats:
    """The same. Two sums each are one of complex numbers, which takes one look at where they belong."""
    blocks = [slice(start, start + BLOCK) for start in range(0, len(values), BLOCK)]
    upper, low, at = np.empty((3, min(BLOCK, len(values))))
    pair = np.empty(len(upper), np.complex128)
    centre = np.zeros(frames.size)
    for rows in reversed(blocks):
        # Where an index repeats, numpy keeps what is assigned last.
        first = np.add(values[rows], grid.adder, out=upper[: len(frames.index[rows])])
        first -= grid.adder
        centre[frames.index[rows][::-1]] = first[::-1]
    once, twice = np.zeros((2, frames.size), np.complex128)
    for rows in blocks:
        index = frames.index[rows]
        high, rest, base, both = (each[: len(index)] for each in (upper, low, at, pair))
        np.add(values[rows], grid.adder, out=high)
        high -= grid.adder
        np.subtract(values[rows], high, out=rest)
        high -= np.take(centre, index, out=base, mode="clip")
        np.add(high, grid.one, out=both.real)
        both.imag = rest
        np.add.at(once, index, both)
        np.multiply(high, high, out=both.real)
        high += high
        high += rest
        np.multiply(high, rest, out=both.imag)
        np.add.at(twice, index, both)
    count = np.rint(once.real / grid.one)
    return np.array([count, centre, once.real - count * grid.one, once.imag, twice.real, twice.imag])
