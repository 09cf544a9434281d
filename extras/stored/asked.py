"""Which windows over stored partials are asked for: those that end between two times, those that a run has changed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa

from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Bools, Ints
from ...runtime.columns.key_codes import key_codes
from ...runtime.columns.sorting import differs
from ...runtime.columns.ticks import NEVER
from ...runtime.frames.numbered import NumberedWindows
from ...runtime.frames.partials_view import PartialsView, WindowIds
from ...runtime.frames.window_ranges import Coverage, Ranges
from ...runtime.frames.windows import Windows
from ...runtime.plan.plan import Plan
from ...runtime.streams.given_windows import FIRST, LAST_NUMBER
from .layout import after_end, after_start


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
        Keys, and ticks in frames of which they have any; None: windows with whatever partials.
    since
        The ticks from which on there are outputs that were added later, and those that are asked for.
    expired
        The tick before which frames are no longer kept: windows that reach there are not given.
    """

    plan: Plan
    after: int = FIRST
    until: int = NEVER
    changed: tuple[list[pa.Array], Ints] | None = None
    since: Mapping[str, int] = field(default_factory=dict)
    expired: int | None = None

    def numbers(self, windows: Windows) -> tuple[int, int] | None:
        """See ``Wanted``; None also where windows depend on those before them."""
        if windows.emit != "every" or windows.emits_empty or not isinstance(windows, NumberedWindows):
            return None
        if windows.needs_order(alone=True):
            return None
        first = FIRST if self.after == FIRST else windows.closed_by(self.after) + 1
        last = LAST_NUMBER if self.until == NEVER else windows.closed_by(self.until + 1)  # ``(start, until]``, too
        if self.changed is not None:
            ids = windows.window_ids(view_of(windows, self.changed[1]))
            first, last = max(first, int(ids.first.min(initial=last))), min(last, int(ids.last.max(initial=first)))
        return first, last

    def among(self, windows: Windows, found: Ranges | Coverage, view: PartialsView) -> Ints | None:
        """See ``Wanted``."""
        wanted = (found.end > self.after) & (found.end <= self.until)
        after, start = after_start(windows), windows.reached(found)
        begins = start + after
        if self.changed is not None:
            wanted &= self._changes(found.row, begins, found.end + after_end(windows), view)
        if self.expired is not None:
            wanted &= begins >= self.expired
        for name, tick in self.since.items():
            if (early := wanted & (begins < tick)).any():
                word, first, last = self.plan.times.word, start[early].min(), found.end[early].max()
                raise QueryError(
                    f"{name!r} is stored from {word(tick - after)} on, and {windows.named} are asked for that reach "
                    f"further back, the first to {word(int(first))}; expected .ending(after={word(int(last))!r}), "
                    "other outputs, or .refresh(...) from there on"
                )
        return np.flatnonzero(wanted)

    def _changes(self, of: Ints, begins: Ints, ends: Ints, view: PartialsView) -> Bools:
        """Which windows of the keys of some rows have a frame that has changed, whether anything is in it now or not.

        They are from some ticks on, up to others.
        """
        assert self.changed is not None
        keys, ticks = self.changed
        rows = len(view.frames)
        both = [pa.concat_arrays([own.take(view.key), other]) for own, other in zip(view.keys, keys, strict=True)]
        codes = key_codes(both, rows + len(ticks), ordered=False)[0]
        times, place = np.unique(ticks, return_inverse=True)
        several = len(times) + 1
        changes = np.sort(codes[rows:] * several + place)
        low, high = (
            np.searchsorted(changes, codes[:rows][of] * several + np.searchsorted(times, bounds))
            for bounds in (begins, ends)
        )
        there: Bools = high > low
        return there

    def together(self, others: Ints, ticks: Ints) -> tuple[Ints, Bools] | None:
        """For each tick the first one that is in the same windows, and which ticks are in any; None: each by itself.

        A window is a few of these, however many frames it has. The ``others`` are among those that may be the first.
        """
        if self._numbers is None:
            return None
        unique, inverse = np.unique(np.concatenate([ticks, others]), return_inverse=True)
        ids = []
        for windows, numbers in self._numbers.items():
            assert isinstance(windows, NumberedWindows)
            if (found := windows.own_ids(view_of(windows, unique))) is None:
                return None
            ids.append(within(found, *numbers))
        first = np.maximum.accumulate(np.where(differs(*itertools.chain(*ids)), np.arange(len(unique)), 0))
        inside: Bools = np.logical_or.reduce([each.first <= each.last for each in ids])
        return unique[first][inverse[: len(ticks)]], inside[inverse[: len(ticks)]]

    @cached_property
    def _numbers(self) -> dict[Windows, tuple[int, int]] | None:
        """The first and the last wanted number of each kind; None where one depends on more than its rows."""
        found = {windows: self.numbers(windows) for windows in self.plan.axis.windows}
        if all(of is not None and of_own_rows(each) and each.fill is None for each, of in found.items()):
            return cast("dict[Windows, tuple[int, int]]", found)
        return None


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
        if not isinstance(windows, NumberedWindows) or not of_own_rows(windows) or windows.emits_empty:
            raise QueryError(
                f"lookup() is asked for {windows.named}; expected windows along the time line that are given whatever "
                "the events before them, such as ff.sliding('7 days', every='1 day')"
            )
        number = windows.closed_by(self.at - windows.closes_at_end) + 1
        return number, number


def of_own_rows(windows: Windows) -> bool:
    """Whether windows, with others in one row with them, depend only on what is in them."""
    return windows.chunkable or windows.one_for_each == "step"


def within(ids: WindowIds, first: int, last: int) -> WindowIds:
    """The first and the last window of each row among those between two numbers."""
    begin, end = np.maximum(ids.first, first), np.minimum(ids.last, last)
    return WindowIds(np.where(begin <= end, begin, last + 1), np.where(begin <= end, end, last))


def view_of(windows: Windows, ticks: Ints) -> PartialsView:
    """Ticks as partials, each of a key of its own."""
    return PartialsView(windows.frames(ticks, None)[0], np.arange(len(ticks)))
