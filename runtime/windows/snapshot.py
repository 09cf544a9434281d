"""Snapshot windows of interval events: one between any two changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from ..columns.sorting import differs
from ..columns.ticks import NEVER, TimeColumn
from ..frames.live_frames import LiveFrames
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..frames.windows import TypeOf, Windows
from .spec import Emit, Spec, check_words


@dataclass(frozen=True)
class Snapshot(Spec):
    """One window between any two changes; made by :func:`snapshot`."""

    emit: str = "every"
    intervals = "only"

    def __str__(self) -> str:
        return "a window between any two changes"

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Snapshots:
        """The windows on a time column."""
        return Snapshots(time=time, emit=self.emit)


def snapshot(*, emit: Emit = "every") -> Snapshot:
    """One window between any two changes of a key's interval events: where one starts or ends.

    For the events of the last hour, let each live for an hour: ``until`` an hour after its time.

    Parameters
    ----------
    emit
        As for :func:`sliding`.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"from": [0, 4, 12], "to": [10, 14, 20], "x": [1, 2, 4]})
    >>> result = ff.events(events, time="from", until="to").window(ff.snapshot()).aggregate(x=ff.Sum("x"))
    >>> [(w["window"]["start"], w["window"]["end"], w["x"]) for w in result.to_pylist()]
    [(0, 4, 1), (4, 10, 3), (10, 12, 2), (12, 14, 6), (14, 20, 4)]
    """
    check_words(emit=emit)
    return Snapshot(emit)


@dataclass(frozen=True, kw_only=True)
class Snapshots(Windows):
    """Snapshot windows: a frame is what lies between two changes, known once all events are; until then, a tick."""

    whole_frames = True
    endless = True
    block = (0, 1)

    def live_frames(self, partials: PartialsView, first: Ints, until: Ints) -> LiveFrames:
        """The frames in which events live: from one change to the next."""
        rows = len(first)
        key = np.concatenate([partials.key, partials.key])
        ticks = np.concatenate([first, until + 1])
        order = np.lexsort((ticks, key))
        fresh = differs(key[order], ticks[order])
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(fresh) - 1
        change = order[fresh]
        begins, stops = place[:rows], place[rows:]
        living = np.cumsum(np.bincount(begins, minlength=len(change)) - np.bincount(stops, minlength=len(change))) > 0
        number = np.cumsum(living) - 1
        frame = np.flatnonzero(living)
        starts = np.searchsorted(key[change[frame]], np.arange(len(partials.starts)))
        start, end = ticks[change[frame]], ticks[change[np.minimum(frame + 1, len(change) - 1)]]
        found = PartialsView(np.arange(len(frame)), starts, {"first": start, "last": end}, partials.keys)
        return LiveFrames(number[begins], number[stops - 1], found, end - start)

    def ranges(self, partials: PartialsView) -> Ranges:
        """Every window over frames in which events live: each of them by itself."""
        row = np.arange(len(partials.frames))
        return Ranges(row, row + 1, row, partials.window_inputs["first"], partials.window_inputs["last"])

    def needs_order(self, alone: bool) -> bool:
        return False

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        """An event that starts where they end can still come, and be what ends them."""
        return ranges.end + 1

    def next_closing(self, ranges: Ranges | Coverage, view: PartialsView, watermark: int) -> int:
        """An event ends a window of others, too, which need not be among these."""
        starts = view.window_inputs["first"] + 1
        own = int(starts[starts > watermark].min(initial=NEVER))
        return min(own, super().next_closing(ranges, view, watermark))

    def open_rows(self, view: PartialsView, watermark: int) -> Bools:
        lives: Bools = view.window_inputs["until"] + 1 >= watermark  # that one ends is a change, too
        return lives

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        """Partials that live, and partials that ended where their key's last window that has not closed begins."""
        first, until = view.window_inputs["first"], view.window_inputs["until"]
        change = np.full(len(view.starts), np.iinfo(np.int64).min)
        for ticks in (first, until + 1):
            past = np.flatnonzero(ticks < watermark)
            np.maximum.at(change, view.key[past], ticks[past])
        lives = self.open_rows(view, watermark)
        living = np.zeros(len(view.starts), bool)
        living[view.key[lives]] = True
        return lives | (living[view.key] & (until + 1 >= change[view.key]))

    def describe(self) -> str:
        return "one between any two changes"

    def describe_frames(self) -> str:
        return "wherever an event of the key starts or ends"
