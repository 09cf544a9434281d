"""The time line of a query: cut into frames that all its windows share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..aggregators.errors import QueryError
from .times import describe, overflow_guard
from .windows import Grid, Ints, Ranges, ranges

MOST_CUTS = 1 << 20
"""Windows whose steps meet only after more cuts than this are refused one pass."""


@dataclass(frozen=True)
class Line:
    """The windows of a query on one time line.

    One kind of windows cuts it by itself. Several cut it together wherever any of them starts or ends, in a pattern
    that repeats after the least common multiple of their steps; a frame of it is a stretch between two cuts.
    """

    grids: tuple[Grid, ...]

    @cached_property
    def period(self) -> int:
        """After how many ticks the cuts repeat."""
        return math.lcm(*(grid.every for grid in self.grids))

    @cached_property
    def cuts(self) -> Ints:
        """The cuts of one period, counted from the origin.

        Raises
        ------
        QueryError
            If there are too many for one pass.
        """
        origin, _ = self.block
        if sum(2 * (self.period // grid.every) for grid in self.grids) > MOST_CUTS:
            steps = " and ".join(describe(grid.every, grid.time.type) for grid in self.grids)
            raise QueryError(
                f"windows every {steps} share hardly any frame; expected steps that are multiples of one another, or a "
                "query for each"
            )
        cuts = [
            (grid.block[0] - origin + np.arange(self.period // grid.every) * grid.every + end) % self.period
            for grid in self.grids
            for end in {0, grid.rest}
        ]
        return np.unique(np.concatenate(cuts)).astype(np.int64)

    @property
    def block(self) -> tuple[int, int]:
        """(origin, width) in ticks: no frame straddles two of ``(ticks - origin) // width``."""
        return self.grids[0].block[0], self.period

    def frames(self, ticks: Ints) -> tuple[Ints, NDArray[np.bool_] | None]:
        """The frame of each event, and which events are in any window (None: all)."""
        if len(self.grids) == 1:
            return self.grids[0].frames(ticks)
        if not len(ticks):
            return ticks, None
        reach = self.period + max(grid.size for grid in self.grids)
        overflow_guard(int(ticks.min()) - reach, int(ticks.max()) + reach, self.grids[0].time)
        shifted = ticks - self.block[0]
        period = shifted // self.period
        place = np.searchsorted(self.cuts, shifted - period * self.period, side="right") - 1
        inside = np.zeros(len(self.cuts), bool)
        for number in range(len(self.grids)):
            first, last = self.windows_of(number, np.arange(len(self.cuts)))
            inside |= first <= last
        return period * len(self.cuts) + place, None if inside.all() else inside[place]

    def windows_of(self, number: int, frames: Ints) -> tuple[Ints, Ints]:
        """The first and the last window of one of the grids that take in each frame."""
        grid = self.grids[number]
        if len(self.grids) == 1:
            return grid.windows_of(frames)
        starts = self.cuts - (grid.block[0] - self.block[0])
        stops = np.append(starts[1:], starts[0] + self.period)
        last = starts // grid.every
        first = -((grid.size - stops) // grid.every)
        period, place = np.divmod(frames, len(self.cuts))
        ahead = period * (self.period // grid.every)
        return first[place] + ahead, last[place] + ahead

    def ranges(self, number: int, frames: Ints, starts: Ints) -> Ranges:
        """The windows of one of the grids over partials sorted by key and frame, as :func:`ranges` has them."""
        first, last = self.windows_of(number, frames)
        covered = np.flatnonzero(first <= last)
        if len(covered) == len(frames):
            return ranges(self.grids[number], first, last, starts)
        key = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(frames))))[covered]
        anew = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
        found = ranges(self.grids[number], first[covered], last[covered], anew)
        rows = np.append(covered, len(frames))
        low, filled = rows[found.low], found.high > found.low
        high = np.where(filled, rows[found.high - 1] + 1, low)
        return Ranges(low, high, rows[found.row], found.number)

    def describe_frames(self) -> str:
        """How the line is cut, in words."""
        if len(self.grids) == 1:
            return self.grids[0].describe_frames()
        every = describe(self.period, self.grids[0].time.type)
        return f"{len(self.cuts)} frames every {every}, shared by {len(self.grids)} kinds of windows"
