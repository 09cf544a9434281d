"""Which windows over stored partials are asked for: those that end between two times, those that a run has changed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa

from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Bools, Ints
from ..columns.sorting import differs
from ..columns.ticks import NEVER
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView, WindowIds
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
        if windows.needs_order(alone=True):
            return None
        first = FIRST if self.after == FIRST else windows.closed_by(self.after) + 1
        last = LAST_NUMBER if self.until == NEVER else windows.closed_by(self.until + 1)  # ``(start, until]``, too
        if self.changed is not None:
            view = self._views[self.plan.axis.windows.index(windows)]
            ids = windows.window_ids(view)
            first, last = max(first, int(ids.first.min(initial=last))), min(last, int(ids.last.max(initial=first)))
        return first, last

    def among(self, windows: Windows, found: Ranges | Coverage, view: PartialsView) -> Ints | None:
        """See ``Wanted``."""
        wanted = (found.end > self.after) & (found.end <= self.until)
        if self.changed is not None and len(view.frames):
            other = self._views[self.plan.axis.windows.index(windows)]
            keys = [[own.take(view.key), of.take(other.key)] for own, of in zip(view.keys, other.keys, strict=True)]
            frames, others = view.frames, other.frames
            if self._numbers is not None:  # frames of a view stand for others, too, that are in the same windows
                both = [self._ids(windows, each.ids or windows.window_ids(each)) for each in (view, other)]
                keys.append([pa.array(each.first) for each in both])
                frames, others = (each.last for each in both)
            rows = matched(keys, frames, others)
            before = np.concatenate([[0], np.cumsum(rows)])
            assert isinstance(found, Ranges)
            wanted &= before[found.high] > before[found.low]
        return np.flatnonzero(wanted)

    def together(self, others: Ints, ticks: Ints) -> tuple[Ints, Bools] | None:
        """For each tick the first one that is in the same windows, and which ticks are in any; None: each by itself.

        A window is a few of these, however many frames it has. The ``others`` are among those that may be the first.
        """
        if self._numbers is None:
            return None
        unique, inverse = np.unique(np.concatenate([ticks, others]), return_inverse=True)
        kinds = [(each, each.window_ids(view_of(each, unique))) for each in self._numbers]
        ids = [self._ids(windows, found) for windows, found in kinds]
        first = np.maximum.accumulate(np.where(differs(*itertools.chain(*ids)), np.arange(len(unique)), 0))
        inside: Bools = np.logical_or.reduce([each.first <= each.last for each in ids])
        return unique[first][inverse[: len(ticks)]], inside[inverse[: len(ticks)]]

    @cached_property
    def _numbers(self) -> dict[Windows, tuple[int, int]] | None:
        """The first and the last wanted number of each kind; None where one depends on more than its rows."""
        found = {windows: self.numbers(windows) for windows in self.plan.axis.windows}
        if all(of is not None and each.chunkable and each.fill is None for each, of in found.items()):
            return cast("dict[Windows, tuple[int, int]]", found)
        return None

    def _ids(self, windows: Windows, ids: WindowIds) -> WindowIds:
        """The first and the last of the wanted windows that each row is in."""
        assert self._numbers is not None
        first, last = self._numbers[windows]
        begin, end = np.maximum(ids.first, first), np.minimum(ids.last, last)
        return WindowIds(np.where(begin <= end, begin, last + 1), np.where(begin <= end, end, last))

    @cached_property
    def _views(self) -> list[PartialsView]:
        assert self.changed is not None
        return views_of(self.changed)


@dataclass(frozen=True)
class EndingFirst(Asked):
    """Of each kind of windows the first one that ends at a tick or later: the one that it is in, or that ends there.

    Parameters
    ----------
    at
        The tick.
    """

    at: int = 0

    def numbers(self, windows: Windows) -> tuple[int, int] | None:
        """See ``Wanted``.

        Raises
        ------
        QueryError
            If windows have no such numbers, or depend on more than their rows.
        """
        if not isinstance(windows, NumberedWindows) or not windows.chunkable or windows.emits_empty:
            raise QueryError(
                f"lookup() is asked for {windows.named}; expected windows along the time line that are given whatever "
                "the events before them, such as ff.sliding('7 days', every='1 day')"
            )
        number = windows.closed_by(self.at - windows.closes_at_end) + 1
        return number, number


def view_of(windows: Windows, ticks: Ints) -> PartialsView:
    """Ticks as partials, each of a key of its own."""
    return PartialsView(windows.frames(ticks, None)[0], np.arange(len(ticks)))
