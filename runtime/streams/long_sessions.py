"""Sessions that ``longest=`` ends while events go on: what of them the next ones depend on."""

from __future__ import annotations

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from ..frames.window_ranges import PartialsView
from ..windows.session import Sessions
from .closing import closing_ticks


def open_or_last(windows: Sessions, view: PartialsView, watermark: int) -> Bools:
    """Which partials are in a session that a watermark has not closed, or the last ones of those before it."""
    found = windows.ranges(view)
    closed = closing_ticks(windows, found, view) <= watermark
    next_is_open = np.append(~closed[1:] | (view.key[found.low[1:]] != view.key[found.low[:-1]]), True)
    kept: Bools = np.repeat(~closed, found.high - found.low)
    kept[found.high[closed & next_is_open] - 1] = True
    return kept


def standing_for(windows: Sessions, view: PartialsView, watermark: int) -> Ints:
    """The first tick of each partial, to be stored; of the last one of a session that is over that of its multiple.

    A session that begins at a multiple of ``longest`` ends at the next one, as those do that follow on one that was
    ended. So with that tick one partial stands for all before it.
    """
    assert windows.longest is not None
    found = windows.ranges(view)
    closed = closing_ticks(windows, found, view) <= watermark
    first: Ints = view.window_inputs["first"].copy()
    first[found.high[closed] - 1] = found.end[closed] - windows.longest
    return first
