"""Which windows over stored partials are asked for: those that end between two times, those that a run has changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...aggregators.states.arrays import Ints
from ..columns.ticks import NEVER
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..frames.windows import Windows
from ..partials.partials import Partials
from ..plan.plan import Plan
from ..results.chunks import views_of
from ..streams.given_windows import FIRST, LAST_NUMBER
from ..streams.late_events import matched


@dataclass(frozen=True)
class Asked:
    """Some windows; see ``results.finish.Wanted``.

    Parameters
    ----------
    plan
        What is computed.
    after, until
        The ticks after which they end, and by which.
    changed
        Merged partials, of which they have any; None: windows with whatever partials.
    """

    plan: Plan
    after: int = FIRST
    until: int = NEVER
    changed: Partials | None = None

    def numbers(self, windows: Windows) -> tuple[int, int] | None:
        """See ``Wanted``; None also where windows depend on those before them."""
        if windows.emit != "every" or windows.emits_empty or not isinstance(windows, NumberedWindows):
            return None
        first = FIRST if self.after == FIRST else windows.closed_by(self.after) + 1
        last = LAST_NUMBER if self.until == NEVER else windows.closed_by(self.until)
        if self.changed is not None:
            view = self._views[self.plan.axis.windows.index(windows)]
            ids = windows.window_ids(view)
            first, last = max(first, int(ids.first.min(initial=last))), min(last, int(ids.last.max(initial=first)))
        return first, last

    def among(self, windows: Windows, found: Ranges | Coverage, view: PartialsView) -> Ints | None:
        """See ``Wanted``."""
        ticks = windows.closing_ticks(found, view)
        wanted = (ticks > self.after) & (ticks <= self.until)
        if self.changed is not None and len(view.frames):
            other = self._views[self.plan.axis.windows.index(windows)]
            keys = [(own.take(view.key), of.take(other.key)) for own, of in zip(view.keys, other.keys, strict=True)]
            rows = matched([list(both) for both in keys], view.frames, other.frames)
            before = np.concatenate([[0], np.cumsum(rows)])
            assert isinstance(found, Ranges)
            wanted &= before[found.high] > before[found.low]
        return np.flatnonzero(wanted)

    @cached_property
    def _views(self) -> list[PartialsView]:
        assert self.changed is not None
        return views_of(self.changed)
