"""Extremes and the like: windows from two overlapping spans of a power of two.

Where a value counts as much twice as once, a window is the span at its beginning and the one at its end (M. A. Bender
and M. Farach-Colton, "The LCA problem revisited", 2000); spans of 2, 4, 8, ... rows are each joined from two of the
half, all at once. That is log2(width) passes over columns in the cache, none of which waits for the value before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .range_blocks import Places, Workspace, taken


def extremes(values: NDArray[Any], function: np.ufunc, places: Places, work: Workspace, out: NDArray[Any]) -> None:
    """The states of windows over a column.

    Parameters
    ----------
    values
        One state a row of the block.
    function
        What joins two states; associative, and of a state with itself that state.
    places
        The windows.
    out
        Where the states of the windows go.
    """
    if values.dtype == bool and values.all():
        out[:] = True  # of itself and itself it is True
        return
    begin, end = places.begin, places.end
    if isinstance(begin, slice) or isinstance(end, slice):
        assert isinstance(begin, slice)
        highest = places.widest.bit_length() - 1
        for spans in doubled(values, function, highest, work):
            longest = spans
        over = places.widest - (1 << highest)
        if over:
            function(longest[begin], longest[over : over + begin.stop : begin.step], out=out)
        else:
            taken(longest, begin, out)
        return
    # The exponents of the widths, as floats have them.
    levels = ((end - begin).astype(np.float64).view(np.int64) >> 52) - 1023
    for level, spans in enumerate(doubled(values, function, int(levels.max()), work)):
        of = np.flatnonzero(levels == level)
        if len(of):
            out[of] = function(spans[begin[of]], spans[end[of] - (1 << level)])


def doubled(values: NDArray[Any], function: np.ufunc, highest: int, work: Workspace) -> Iterator[NDArray[Any]]:
    """The states of spans of 1, 2, 4, ..., 2**highest rows from each row on; the next but one overwrites each."""
    spans = values
    yield spans
    for level in range(1, highest + 1):
        half = 1 << (level - 1)
        length = len(spans) - half
        joined = work.column(f"spans{level % 2}", values.dtype, length)
        spans = function(spans[:length], spans[half:], out=joined)
        yield spans
