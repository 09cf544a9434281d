"""Sums of floats in groups, and what rounding lost of them; how many rows a group has comes along.

Values are cut at one bit position into parts whose sum is exact, and small rests (J. Demmel and H. D. Nguyen, "Fast
Reproducible Floating-Point Summation", 2013). A compiled loop adds them up, or numpy to the same bits.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..states.arrays import Floats, Index, Ints
from ..states.fields import Compensated, two_sum
from .cache_chunks import BLOCK, extremes
from .native import loops

MIN_SPAN, MAX_SPAN = 1 << 16, 1 << 18
"""Bounds of the rows of a subtotal, multiples of ``BLOCK``: subtotals lose less of the rests to rounding."""

SPAN_PER_GROUP = 16
"""Rows of a subtotal for each group, within these bounds."""

COUNT_BITS = 10
"""Fewer than ``2**COUNT_BITS`` rows of a group can be counted in the bits above the parts."""


class Cut(NamedTuple):
    """Where values are cut: ``above`` added and taken off leaves a part; ``one`` counts fewer than ``most`` rows."""

    above: float
    one: float
    most: int


def cut_at(largest: float, rows: int) -> Cut:
    """Where to cut a number of values, at most ``largest`` and less than 2**960.

    53 bits hold the sum of the parts of all rows; or of ``most`` rows of a group with ``one`` for each of them on top.
    """
    room = min(rows.bit_length(), COUNT_BITS)
    bits = max(2 * room, rows.bit_length())
    exponent = math.frexp(largest)[1]
    return Cut(math.ldexp(1.5, max(exponent + bits + 1, -968)), math.ldexp(1.0, exponent + room + 1), 1 << room)


def largest_of(values: Floats) -> float:
    """The greatest magnitude, NaN if any value is; 0 of none."""
    if loops is not None:
        return float(loops.largest(np.ascontiguousarray(values)))
    return float(np.max(np.abs(extremes(values)))) if len(values) else 0.0


def summed(
    values: Floats, index: Index, size: int, cut: Cut, *, counting: bool = True
) -> tuple[Compensated, Ints | None]:
    """The sum of each group, and if ``counting`` how many rows it has."""
    high, low = np.zeros((2, size))
    counts = np.zeros(size, np.int64)
    way = partial(by_numpy, counting=counting) if loops is None else by_loop
    span = min(MAX_SPAN, max(MIN_SPAN, SPAN_PER_GROUP * size)) // BLOCK * BLOCK
    for start in range(0, len(values), span):
        rows = slice(start, start + span)
        above, below, own = way(values[rows], index[rows], size, cut)
        high += above
        low += below
        counts += own
        if own.max() >= cut.most:  # and so in the next rows, most likely
            cut = cut._replace(one=0.0)
    return Compensated(*two_sum(high, low)), counts if counting else None


def by_loop(values: Floats, index: Index, size: int, cut: Cut) -> tuple[Floats, Floats, Ints]:
    """The sums of the parts and of the rests of each group, and how many rows it has."""
    assert loops is not None
    above, below = np.zeros((2, size))
    counts = np.zeros(size, np.int64)
    loops.add_parts(np.ascontiguousarray(values), np.ascontiguousarray(index), cut.above, above, below, counts)
    return above, below, counts


def by_numpy(values: Floats, index: Index, size: int, cut: Cut, *, counting: bool) -> tuple[Floats, Floats, Ints]:
    """As :func:`by_loop`. Rows are counted in the bits above their parts, unless a group has too many."""
    if counting and cut.one:
        both = parts_and_rests(values, index, size, cut, cut.one)
        counts = np.rint(both.real / cut.one)
        if counts.max() < cut.most:
            return both.real - counts * cut.one, both.imag, counts.astype(np.int64)
    both = parts_and_rests(values, index, size, cut, 0.0)
    counts = np.bincount(index, minlength=size) if counting else np.zeros(size, np.int64)
    return both.real, both.imag, counts


def parts_and_rests(values: Floats, index: Index, size: int, cut: Cut, one: float) -> NDArray[np.complex128]:
    """The sums of the parts, with ``one`` on top of each, and of the rests: complex numbers, for one ``np.add.at``."""
    total = np.zeros(size, np.complex128)
    parts = np.empty(min(BLOCK, len(values)))
    pairs = np.empty(len(parts), np.complex128)
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK]
        part, pair = parts[: len(block)], pairs[: len(block)]
        np.add(block, cut.above, out=part)
        part -= cut.above
        np.add(part, one, out=pair.real)
        np.subtract(block, part, out=pair.imag)
        np.add.at(total, index[start : start + BLOCK], pair)
    return total
