"""Windows of one size at a constant step along an axis of integers: ticks, rows, days or months."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .partials_view import Ints, Mask, PartialsView, RangesById, WindowIds, ranges_by_id


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
        """How many whole steps a window has."""
        return self.size // self.every

    @property
    def rest(self) -> int:
        """What is left of a window after its whole steps."""
        return self.size % self.every

    @property
    def frames_in_window(self) -> int:
        """How many frames a window has."""
        return self.steps if not self.rest else 2 * self.steps + 1

    def frames(self, positions: Ints) -> tuple[Ints, Mask | None]:
        """The frame of each position, and which positions are in any window (None: all)."""
        shifted = positions - self.offset if self.offset else positions
        step = shifted // self.every
        if not self.rest:
            return step, None
        second = shifted - step * self.every >= self.rest
        return 2 * step + second, None if self.steps else ~second

    def step_of(self, frames: Ints) -> Ints:
        """The step that each frame is in."""
        return frames >> 1 if self.rest else frames

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
            first = self.step_of(partials.frames[partials.starts])
            found = found.where(found.number >= first[partials.key[found.row]])
        return found

    def bounds(self, number: Ints) -> tuple[Ints, Ints]:
        """Start and end of windows."""
        start = number * self.every + self.offset
        return start, start + self.size


def describe_ends(closed: str, empty: str, min_fill: str = "partial") -> str:
    """Which end belongs to a window, and what becomes of empty and half-filled ones, in words."""
    ends = "[start, end)" if closed == "left" else "(start, end]"
    half = ", half-filled ones at the start are left out" if min_fill == "full" else ""
    return f"{ends}, windows without an event are {'left out' if empty == 'skip' else 'given too'}{half}"


def describe_gaps(size: int, every: int, words: Callable[[int], str], *, even: bool = True) -> str | None:
    """How much of the axis is in no window, with its share where units are all of a length; None where nothing is.

    >>> describe_gaps(1, 60, "{} minutes".format), describe_gaps(2, 2, str), describe_gaps(1, 3, str, even=False)
    ('59 minutes of every 60 minutes (98 %)', None, '2 of every 3')
    """
    if every <= size:
        return None
    share = round(100 * (every - size) / every)
    percent = "less than 1" if share < 1 else "more than 99" if share > 99 else share
    one = words(every)
    one = one.removeprefix("1 ") if one.count(" ") == 1 else one
    return f"{words(every - size)} of every {one}" + (f" ({percent} %)" if even else "")


def describe_steps(steps: Steps, words: Callable[[int], str]) -> str:
    """How windows cut the axis, with a function that says a length in words."""
    every = words(steps.every)
    if not steps.rest:
        return f"one frame every {every}; {steps.frames_in_window} to a window"
    first, second = words(steps.rest), words(steps.every - steps.rest)
    if not steps.steps:
        return f"one frame of {first} every {every}; the {second} after it are in no window"
    return f"two frames every {every}, of {first} and {second}; {steps.frames_in_window} to a window"
