"""The windows that interval events live in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.intervals.time_weighted import lifetimes_of
from ...aggregators.states.arrays import Ints
from ..frames.live_frames import LiveFrames, changed
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Ranges
from ..frames.windows import Windows
from ..sliding.range_facts import RangeFacts
from ..sliding.slide import slide
from .coverage import cover, over_frames


@dataclass(frozen=True)
class Lifespans:
    """Windows of interval events.

    ``ranges`` are the windows over the frames in which any event lives; its ``row`` is a partial of the window's key.
    """

    ranges: Ranges
    alive: LiveFrames

    def where(self, rows: Ints) -> Lifespans:
        """Some of the windows."""
        return replace(self, ranges=self.ranges.where(rows))

    @cached_property
    def runs(self) -> tuple[Ints, Ints]:
        """The first and the last window that each partial's events live in, by their places among all."""
        # Windows without a frame are in no run: they would seem to lie in the midst of one where there are gaps.
        filled = np.flatnonzero(self.ranges.high > self.ranges.low)
        first = np.searchsorted(self.ranges.high[filled], self.alive.first, side="right")
        last = np.searchsorted(self.ranges.low[filled], self.alive.last, side="right") - 1
        some, places = first <= last, np.append(filled, 0)
        return np.where(some, places[first], 1), np.where(some, places[last], 0)


def lifespans(windows: Windows, partials: PartialsView) -> Lifespans:
    """The windows of one kind that interval events live in, from partials that each start in one frame and end in one.

    The window inputs ``"first"`` and ``"until"`` of each partial are a tick in each of these two frames.
    """
    alive = windows.live_frames(partials, partials.window_inputs["first"], partials.window_inputs["until"])
    ranges = replace(windows, emit="every").emitted(windows.ranges(alive.frames), alive.frames)
    assert isinstance(ranges, Ranges)
    found = Lifespans(ranges._replace(row=partials.starts[alive.frames.key[ranges.row]]), alive)
    if windows.emit == "on_change" and len(ranges.row):
        found = found.where(changed(*found.runs, partials.key[found.ranges.row]))
    return found


def states_of_lifespans(bound: BoundAggregate, states: State, spans: Lifespans, whole: bool) -> State:
    """The state of each window: of all events that live in it, or of their lives as far as they are in it.

    ``whole`` says that events live all through every frame they are in.
    """
    operation = lifetimes_of(bound)
    if operation is None:
        return cover(bound, states, *spans.runs, len(spans.ranges.row))
    alive = spans.alive
    assert alive.ticks is not None
    if whole:
        level = operation.part("level", states)
        levels = cover(operation.clipped, level, alive.first, alive.last, len(alive.ticks))
        clipped = operation.over_ticks(levels, alive.ticks)
    else:
        clipped = over_frames(operation, states, alive.first, alive.last, alive.ticks)
    return slide(operation.clipped, clipped, RangeFacts(spans.ranges.low, spans.ranges.high))
