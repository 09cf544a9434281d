"""Deviations on one grid for all frames of a batch: what most batches need, in two passes over their rows.

Values are cut at one bit position, as those of a sum are (J. Demmel and H. D. Nguyen, "Fast Reproducible Floating-Point
Summation", 2013), so coarsely that neither the upper parts nor their deviations' squares are rounded when they are
added up. Centres lie on the grid, so that no deviation is rounded either. The first pass takes the number of a frame's
rows along with their sum: each row goes in with a ``one`` on top that is more than all of them come to.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blocks import BLOCK, extremes
from .frames import Frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 17
"""Of frames with 2**MOST rows and more there is no room for the number of rows above their sum."""

SIZES = 2.0**300
"""Values below this, that are apart by its reciprocal or more, have squares that can be added up as they are."""

COARSE, ROUGH = 2.0**10, 2.0**12
"""Deviations of a frame, and of the first rows, are at least so many steps of the grid in the mean."""


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
    doubtful: NDArray[np.bool_]


def gridded(frames: Frames, values: Floats) -> Gridded | None:
    """The deviations of each frame's values from about their mean; None where one grid does not do for a batch.

    It does not if values are huge, tiny or not finite, if a frame has many more rows than the others, or if frames'
    values are much nearer to one another than to those of other frames.
    """
    if not len(values):
        return None
    blocks = [slice(start, start + BLOCK) for start in range(0, len(values), BLOCK)]
    least, greatest = extremes(values)
    span, largest = float(greatest - least), max(abs(float(least)), abs(float(greatest)))
    bits = (4 * len(values) // frames.size).bit_length()  # of the number of rows of a frame
    if bits > MOST or not 1 / SIZES <= span <= SIZES or not largest <= SIZES:
        return None
    width = (53 - bits) // 2
    exponent = math.frexp(span)[1] + 1 - width
    grid, adder = math.ldexp(1.0, exponent), math.ldexp(1.5, 52 + exponent)
    one = math.ldexp(1.0, exponent + width + bits)
    if max(largest, one) > math.ldexp(1.0, exponent + 50):
        return None
    origin = float(least) + adder - adder
    part, rest, at = np.empty((3, min(BLOCK, len(values))))
    sums = np.zeros((4, frames.size))
    for rows in blocks:
        index = frames.index[rows]
        upper = np.add(values[rows], adder, out=part[: len(index)])
        upper -= adder + (origin - one)
        np.add.at(sums[0], index, upper)
    count = np.floor(sums[0] / one)
    if count.max() >= 1 << bits:
        return None
    sums[0] -= count * one
    steps = np.rint(sums[0] / count / grid) * grid
    sums[0] -= count * steps
    centre = origin + steps
    for rows in blocks:
        index, column = frames.index[rows], values[rows]
        upper, low, base = part[: len(index)], rest[: len(index)], at[: len(index)]
        np.add(column, adder, out=upper)
        upper -= adder
        np.subtract(column, upper, out=low)
        upper -= np.take(centre, index, out=base, mode="clip")
        np.multiply(upper, upper, out=base)
        if rows.start == 0 and base.mean() < (ROUGH * grid) ** 2:
            return None
        np.add.at(sums[2], index, base)
        np.add.at(sums[1], index, low)
        upper += upper
        upper += low
        upper *= low
        np.add.at(sums[3], index, upper)
    several = count > 1
    near = sums[2] + sums[3] < count * (COARSE * grid) ** 2
    doubtful = several & near & (sums[1:] != 0).any(axis=0)
    # A single value is its own centre.
    centre = np.where(several, centre, centre + sums[1])
    total, total_low, squares, squares_low = np.where(several, sums, 0.0)
    return Gridded(count.astype(np.int64), centre, total, total_low, squares, squares_low, doubtful)
