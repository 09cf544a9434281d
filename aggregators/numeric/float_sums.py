"""The sum of the floats of each group, with what rounding lost of it."""

from __future__ import annotations

import math

import numpy as np

from ..states.arrays import Floats, Index, Ints
from ..states.fields import Compensated, two_sum
from .native import loops

SPAN_PER_FRAME, MIN_SPAN, MAX_SPAN, SPAN_STEP = 16, 1 << 16, 1 << 20, 1 << 15
"""Rows of a subtotal of floats: per frame, the fewest, the most, the unit. Subtotals lose less of low parts."""


def largest_of(values: Floats) -> float:
    """The greatest magnitude, NaN if any value is; 0 of none."""
    if loops is None:
        return float(np.max(np.abs(values), initial=0.0))
    return float(loops.largest(np.ascontiguousarray(values)))


def cut_at(largest: float, rows: int) -> float:
    """The number that, added to a value and subtracted again, leaves its upper part; sums of all of these fit 53 bits.

    ``largest`` is the greatest magnitude of the values, below 2**960.
    """
    bits = max(2 * min(rows.bit_length(), 10), rows.bit_length())
    return math.ldexp(1.5, max(math.frexp(largest)[1] + bits + 1, -968))


def summed(values: Floats, index: Index, size: int, cut: float) -> tuple[Compensated, Ints]:
    """The sum of each frame and how many rows it has.

    Values are cut at one bit position into upper parts whose sum is exact, and low parts (J. Demmel and H. D. Nguyen,
    "Fast Reproducible Floating-Point Summation", 2013).
    """
    high, low = np.zeros((2, size))
    counts = np.zeros(size, np.int64)
    add = add_parts if loops is None else loops.add_parts
    values, index = np.ascontiguousarray(values), np.ascontiguousarray(index)
    span = min(MAX_SPAN, max(MIN_SPAN, SPAN_PER_FRAME * size)) // SPAN_STEP * SPAN_STEP
    for start in range(0, len(values), span):
        above, below = np.zeros((2, size))
        add(values[start : start + span], index[start : start + span], cut, above, below, counts)
        high += above
        low += below
    return Compensated(*two_sum(high, low)), counts


def add_parts(values: Floats, index: Index, cut: float, above: Floats, below: Floats, counts: Ints) -> None:
    """As the compiled loop of this name, to the same bits."""
    part = values + cut
    part -= cut
    np.add.at(above, index, part)
    np.add.at(below, index, values - part)
    np.add.at(counts, index, 1)
