"""Deviations on one grid for all frames of a batch, in one pass over its rows; most batches have such a grid.

Values are cut at one bit position (J. Demmel and H. D. Nguyen, "Fast Reproducible Floating-Point Summation", 2013), so
that deviations of the upper parts from that of their frame's first value, and their squares, are summed without
rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import loops
from ..contract.frames import Frames
from ..states.arrays import Bools, Floats, Ints
from ..tuning import CACHED_ROWS

MAX_BITS = 17
"""Frames have fewer than ``2**MAX_BITS`` rows: squares of deviations have the bits that their number leaves."""

SIZES = 2.0**300
"""Values are below this and differ by its reciprocal or more, so that squares neither overflow nor vanish."""

MIN_STEPS = 2.0**10
"""The least standard deviation of a frame, in steps of the grid."""

MAX_LOSS = 2.0**8
"""The most that the sum of squares about the first value may be, relative to that about the mean."""


class Gridded(NamedTuple):
    """Frames' numbers of rows, centres and sums; the grid is too coarse for frames that are ``doubtful``.

    Sums, of shape (4, frames), are those of deviations, their low parts, their squares, and the low parts of these.
    """

    rows: Ints
    centre: Floats
    sums: Floats
    doubtful: Bools


class Grid(NamedTuple):
    """Where values are cut, for frames of less than ``2**bits`` rows.

    ``adder`` added and subtracted leaves a multiple of ``step``.
    """

    bits: int
    step: float
    adder: float


def grid_of(span: float, bits: int) -> Grid:
    """The grid of values within a span: squares of deviations have ``53 - bits`` bits."""
    width = (53 - bits) // 2
    exponent = math.frexp(span)[1] + 1 - width
    return Grid(bits, math.ldexp(1.0, exponent), math.ldexp(1.5, 52 + exponent))


def gridded(frames: Frames, values: Floats) -> Gridded | None:
    """The deviations of each frame's values; None where no grid fits the batch.

    None fits values that are huge, tiny, all equal or not finite, or too far from 0 for a grid as fine as their
    differences, nor a frame of too many rows.
    """
    if not len(values):
        return None
    chunks = [values[start : start + CACHED_ROWS] for start in range(0, len(values), CACHED_ROWS)]
    least = float(np.min([chunk.min() for chunk in chunks]))
    greatest = float(np.max([chunk.max() for chunk in chunks]))
    span, largest = greatest - least, max(abs(least), abs(greatest))
    if not 1 / SIZES <= span <= SIZES or not largest <= SIZES:
        return None
    most = 4 * len(values) // frames.size
    for _ in range(2):  # once more, if a frame has more rows than was to be expected
        grid = grid_of(span, most.bit_length())
        if grid.bits > MAX_BITS or largest > math.ldexp(grid.step, 50):
            return None
        made = np.zeros((frames.size, 6))
        loops.add_deviations(np.ascontiguousarray(values), np.ascontiguousarray(frames.index), grid.adder, made)
        rows, centre, *sums = np.ascontiguousarray(made.T)
        if rows.max() < 1 << grid.bits:
            break
        most = int(np.bincount(frames.index).max())
    else:
        return None
    several = rows > 1
    total, squares = sums[0] + sums[1], sums[2] + sums[3]
    about_mean = squares - total * total / np.maximum(rows, 1)
    near = about_mean < np.maximum(rows * (MIN_STEPS * grid.step) ** 2, squares / MAX_LOSS)
    doubtful = several & near & np.any(sums, axis=0)
    # A single value is its own centre.
    centre = np.where(several, centre, centre + sums[1])
    return Gridded(rows.astype(np.int64), centre, np.where(several, sums, 0.0), doubtful)
