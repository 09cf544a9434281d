"""A shard of a stream that gives the window which ends now, of the keys for which it differs from the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Ints
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..frames.windows import Windows
from ..partials.merge import merge
from ..partials.partials import Partials
from ..plan.plan import Plan
from ..results.chunks import views_of
from ..results.finish import results
from .key_life import with_empty
from .late_events import among
from .scope import holds
from .shard import Shard, events_in


@dataclass
class LatestShard(Shard):
    """The partials of some keys, of which one window is given at a time.

    Parameters
    ----------
    number
        The number of the window that was given last; None before the first.
    """

    number: int | None = None

    def give(self, new: Partials | None, now: int) -> Iterator[pa.Table | int]:
        """Add partials; yields the number of their late events, and the results of the first window that has the tick.

        These have a row for each key of which the window has other partials than the one given last. A key whose last
        event has left it is given once more, without events, and is forgotten. Events of later times wait.
        """
        before, self.number = self.number, self._number(now)
        if new is None and self.number == before:
            return
        merged = self._merged(self.store.pages())
        touched, fresh = set[int](), np.zeros(len(merged), bool)
        if new is not None:
            new = merge(new)
            ids = self._windows.window_ids(views_of(new)[0])
            late = ids.last < self.number
            yield events_in(new.where(late))
            new = new.where(~late)
            touched, merged = self._pages_of(new.frames), self._both(merged, new)
            fresh = among(merged, new)
        if not len(merged):
            return
        view = views_of(merged)[0]
        ids = self._windows.window_ids(view)
        differs = np.zeros(len(merged), bool)
        for windows in self.plan.axis.windows:
            assert isinstance(windows, NumberedWindows)
            inside = windows.has_rows(view, self.number)
            differs |= inside & fresh
            differs |= inside if before is None else inside != windows.has_rows(view, before)
        changed = np.logical_or.reduceat(differs, view.starts)
        some, frame = merged.where(changed[view.key]), self._windows.frames(np.array([now]))[0]
        assert some.starts is not None
        some = with_empty(some, some.starts, np.repeat(frame, len(some.starts)))
        yield from results(some, wanted=OfNumber(self.number))
        past = ids.last < self.number
        self._write(merged.where(~past), touched | self._pages_of(merged.frames[past]))

    def wakes(self) -> int | None:
        """Tick at which the window given now closes, and the next one is due; None if no partials are kept."""
        if self.number is None or not any(True for _ in self.store.pages()):
            return None
        return int(self._windows.closing_by_id(np.array([self.number]))[0])

    @property
    def _windows(self) -> NumberedWindows:
        windows, *_ = self.plan.axis.windows  # others have the same numbers
        assert isinstance(windows, NumberedWindows)
        return windows

    def _number(self, now: int) -> int:
        frame = self._windows.frames(np.array([now]))[0]
        found = int(self._windows.window_ids(PartialsView(frame, np.zeros(1, np.int64))).first[0])
        return found if self.number is None else max(found, self.number)  # a clock may be put back


@dataclass(frozen=True)
class OfNumber:
    """The windows of one number; see ``results.finish.Wanted``."""

    number: int

    def numbers(self, windows: Windows) -> tuple[int, int]:
        return self.number, self.number

    def among(self, windows: Windows, found: Ranges | Coverage, view: PartialsView) -> Ints | None:
        return None


def why_not_latest(plan: Plan) -> str | None:
    """Why a stream cannot give the window that ends now, in words; None where it can."""
    windows = plan.axis.windows
    if not plan.axis.alike or not isinstance(windows[0], NumberedWindows):
        named = ", ".join(each.named for each in windows)
        return f"there are {named}, and one kind of windows whose times the clock knows is expected, as ff.sliding"
    if windows[0].left_out is not None:
        return f"{windows[0].named} leave out {windows[0].left_out}, where no window ends"
    if plan.until is not None:
        return "events have an end"
    if holds(plan):
        return "the answer depends on the order of events, which only a watermark settles"
    if not pa.types.is_timestamp(plan.times.type) or plan.times.type.tz is None:
        return f"the time {plan.times.name!r} is {plan.times.type}, and the clock's are timestamps with a zone"
    return None
