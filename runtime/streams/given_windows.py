"""Which windows of a shard are given: those that a watermark closes, open ones, those that late events change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...aggregators.states.arrays import Ints
from ..columns.ticks import NEVER
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..frames.windows import Windows
from ..partials.partials import Partials
from ..plan.plan import Plan
from .key_life import emits_empty, of_living_keys
from .late_events import matched

FIRST = -(1 << 62)
"""A watermark before any event."""

LAST_NUMBER = 1 << 62
"""A number of a window beyond any."""


@dataclass(frozen=True)
class ClosingWithin:
    """The windows that close after one tick, and at another one at the latest; see ``results.finish.Wanted``.

    Parameters
    ----------
    plan
        What is computed.
    after, until
        The two ticks; ``NEVER`` as the latter for all windows that close later.
    forget
        How long after its last event a key has windows without one, in ticks.
    """

    plan: Plan
    after: int
    until: int
    forget: int | None = None

    def numbers(self, windows: Windows) -> tuple[int, int] | None:
        if self.plan.until is not None or windows.emit != "every" or not isinstance(windows, NumberedWindows):
            return None
        first = FIRST if self.after == FIRST else windows.closed_by(self.after) + 1
        return first, LAST_NUMBER if self.until == NEVER else windows.closed_by(self.until)

    def among(self, windows: Windows, ranges: Ranges | Coverage, view: PartialsView) -> Ints | None:
        if not len(view.frames):
            return np.empty(0, np.int64)
        if emits_empty(self.plan):
            assert isinstance(ranges, Ranges)
            assert isinstance(windows, NumberedWindows)
            assert self.forget is not None
            return np.flatnonzero(of_living_keys(windows, ranges, view, self.forget))
        if self.numbers(windows) is not None:
            return None
        ticks = windows.closing_ticks(ranges, view)
        return np.flatnonzero((ticks > self.after) & (ticks <= self.until))


@dataclass(frozen=True)
class ChangedWithin(ClosingWithin):
    """The windows that close between two ticks and contain a changed partial; partials are merged."""

    changed: Partials | None = None

    def among(self, windows: Windows, ranges: Ranges | Coverage, view: PartialsView) -> Ints | None:
        assert isinstance(ranges, Ranges)
        assert self.changed is not None
        mine = [key.take(view.key) for key in view.keys]
        rows = matched(zip(mine, self.changed.keys, strict=True), view.frames, self.changed.frames)
        before = np.concatenate([[0], np.cumsum(rows)])
        return np.flatnonzero(before[ranges.high] > before[ranges.low])
