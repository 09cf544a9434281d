"""Extremes or other idempotent functions: a window is two overlapping spans of a power of two rows.

Where windows begin and end irregularly, and values are plain, a compiled loop does so with spans of 16 rows and more;
what a window has beside these is known from the rows of two such spans.

The sparse table of M. A. Bender and M. Farach-Colton, "The LCA problem revisited", 2000: spans of 2, 4, 8, ... rows,
each joined from two of the half. That is log2(width) vector passes over columns in the cache, faster than two-stacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aggregators import loops
from .tiles import Tile, Workspace, copy_rows

LEAST, GREATEST = (np.minimum, np.fmin), (np.maximum, np.fmax)


def extremes(values: NDArray[Any], function: np.ufunc, tile: Tile, work: Workspace, out: NDArray[Any]) -> None:
    """Join the rows of each of a tile's windows.

    Parameters
    ----------
    values
        The states of the tile's rows, shape (rows,).
    function
        Joins two states; associative and idempotent.
    tile
        The windows.
    work
        Scratch columns.
    out
        Where the states of the windows go, shape (windows,).
    """
    if values.dtype == bool and values.all():
        out[:] = True  # all functions of True and True give True
        return
    if tile.step:
        highest = tile.widest.bit_length() - 1
        for longest in spans(values, function, highest, work):
            begins = longest
        over = tile.widest - (1 << highest)
        if over:
            ends = begins[over:]
            function(begins[tile.low], ends[tile.low], out=out)
        else:
            copy_rows(begins, tile.low, out)
        return
    begin, end = tile.ranges()
    if loops.compiled and function in (*LEAST, *GREATEST) and compares(values):
        ranges = map(np.ascontiguousarray, (begin, end))
        loops.range_extremes(np.ascontiguousarray(values), *ranges, function in LEAST, out)
        return
    # The exponents of the widths, as floats have them.
    levels = ((end - begin).astype(np.float64).view(np.int64) >> 52) - 1023
    for level, each in enumerate(spans(values, function, int(levels.max()), work)):
        of = np.flatnonzero(levels == level)
        if len(of):
            out[of] = function(each[begin[of]], each[end[of] - (1 << level)])


def compares(values: NDArray[Any]) -> bool:
    """Whether the compiled loop joins values to the same bits: none is NaN, and zeros have one sign."""
    if values.dtype == np.int64:
        return True
    if values.dtype != np.float64 or np.isnan(values.max()):
        return False
    negative = np.signbit(values[values == 0.0])
    return not negative.any() or bool(negative.all())


def spans(values: NDArray[Any], function: np.ufunc, highest: int, work: Workspace) -> Iterator[NDArray[Any]]:
    """The states of 1, 2, 4, ..., 2**highest rows from each row on; the next but one overwrites each."""
    found = values
    yield found
    for level in range(1, highest + 1):
        half = 1 << (level - 1)
        length = len(found) - half
        found = function(found[:length], found[half:], out=work.column(f"spans{level % 2}", length, values.dtype))
        yield found
