"""Windows of one size at a constant step, whole or in two parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from .partials_view import PartialsView, WindowIds
from .window_ranges import RangesById, ranges_by_id


@dataclass(frozen=True)
class Steps:
    """Windows ``[offset + k * every, offset + k * every + size)`` for every integer k.

    The axis is cut wherever a window starts or ends: one frame a step where the step divides the size, else two, a
    first part as long as the remainder and the rest (S. Krishnamurthy, C. Wu and M. Franklin, "On-the-fly sharing for
    streamed aggregation", 2006: paired windows).
    """

    size: int
    every: int
    offset: int = 0

    @property
    def steps(self) -> int:
        """The number of whole steps in a window."""
        return self.size // self.every

    @property
    def rest(self) -> int:
        """The remainder of a window after its whole steps."""
        return self.size % self.every

    @property
    def shortest(self) -> int:
        """The length of the shortest window."""
        return self.size

    @property
    def longest(self) -> int:
        """A length that no window is beyond."""
        return self.size

    @property
    def frames_in_window(self) -> int | None:
        """The number of frames in a window; None where it is not one number."""
        return self.steps if not self.rest else 2 * self.steps + 1

    def frames(self, positions: Ints) -> tuple[Ints, Bools | None]:
        """The frame of each position, and which positions are in any window (None: all)."""
        shifted = positions - self.offset if self.offset else positions
        step = shifted // self.every
        if not self.rest:
            return step, None
        second = shifted - step * self.every >= self.rest
        return 2 * step + second, None if self.steps else ~second

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        """Where each frame starts and ends."""
        if not self.rest:
            start = frames * self.every + self.offset
            return start, start + self.every
        step, second = frames >> 1, frames & 1
        start = step * self.every + self.offset + second * self.rest
        return start, np.where(second, (step + 1) * self.every + self.offset, start + self.rest)

    def windows_of(self, frames: Ints) -> WindowIds:
        """The numbers of the first and the last window that take in each frame."""
        if not self.rest:
            return WindowIds(frames - self.steps + 1, frames)
        step, second = frames >> 1, frames & 1
        return WindowIds(step - self.steps + second, step)

    def ranges_by_id(self, windows: str, partials: PartialsView, empty: str, min_fill: str) -> RangesById:
        """The windows over partials; with ``min_fill="full"`` those that begin with the key's first step or later."""
        found = ranges_by_id(windows, partials, *(partials.ids or self.windows_of(partials.frames)), empty)
        if min_fill == "full" and len(found.number):
            begin, _ = self.bounds(self.windows_of(partials.frames[partials.starts]).last)
            found = found.where(self.bounds(found.number)[0] >= begin[partials.key[found.row]])
        return found

    def ended_by(self, positions: Ints) -> Ints:
        """The last window that ends at each position, or before it."""
        return (positions - self.offset - self.size) // self.every

    def begun_by(self, positions: Ints) -> Ints:
        """The last window that begins at each position, or before it."""
        return (positions - self.offset) // self.every

    def bounds(self, number: Ints) -> tuple[Ints, Ints]:
        """Start and end of windows."""
        start = number * self.every + self.offset
        return start, start + self.size
