"""Windows that look back from the steps of a grid, one for each key at each step that the longest of them reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import Duration, TimeColumn, overflow_guard
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView, WindowIds
from ..frames.window_ranges import Coverage, Ranges, ranges_by_id
from ..frames.windows import TypeOf, Windows
from .calendar import Reach, reach_of
from .grid import Grid, grid
from .spec import Spec


@dataclass(frozen=True)
class SteppedBack(Spec):
    """Windows of one size that end at each step, of the sizes of a lookback; made by ``framefold.lookback``."""

    size: Duration
    sizes: tuple[Duration, ...]
    every: Duration
    closed: str
    timezone: str | None

    def __str__(self) -> str:
        return f"{self.size} up to every {self.every}"

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Stepped:
        steps = grid(time, self.every, "every", 0, self.timezone)
        backs = [reach_of(time, size, "lookback()", self.timezone).back() for size in self.sizes]
        fixed = steps.calendar is None and self.closed in ("left", "right")
        surely = min(back.most for back in backs)  # a month may be longer than 30 days, or not
        longest = tuple(back for back in backs if back.least <= surely)
        return Stepped(
            time=time, back=backs[self.sizes.index(self.size)], longest=longest,
            steps=steps, closed=self.closed,
            by_step=fixed and all(back.calendar is None and back.ticks % steps.every == 0 for back in backs),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Stepped(NumberedWindows):
    """Windows that look back from steps, in ticks: a frame a step where all sizes are whole steps, else a frame a time.

    ``back`` is the size, as a negative reach, and ``longest`` has those of the lookback that may be the longest.
    """

    back: Reach
    longest: tuple[Reach, ...]
    steps: Grid
    by_step: bool
    one_for_each = "step"
    stamp: str = "own"

    def closed_by(self, tick: int) -> int:
        return int(self.steps.numbers(np.array([tick - self.after_end]))[0])

    def closing_by_id(self, numbers: Ints) -> Ints:
        return self.steps.begins(numbers) + self.after_end

    def cuts_as(self, other: Windows) -> bool:
        return self.same_rows(other)

    def same_rows(self, other: Windows) -> bool:
        return isinstance(other, Stepped) and (self.steps, self.longest, self.closed, self.by_step) == (
            other.steps, other.longest, other.closed, other.by_step
        )  # fmt: skip

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        far = self.steps.most_ticks + 1 - min(back.least for back in self.longest)
        overflow_guard(ticks, far, far, self.time)
        return (self.steps.numbers(ticks - self.after_end) if self.by_step else ticks), None

    def window_ids(self, partials: PartialsView) -> WindowIds:
        """The first step from which a window may reach back to each row, and the last one."""
        rows, far = partials.frames, max(-back.least for back in self.longest)
        if self.by_step:
            return WindowIds(rows + 1, rows + far // self.steps.every)
        first, last = rows - self.after_end, rows + far - self.after_start
        return WindowIds(self.steps.numbers(first) + 1, self.steps.numbers(last))

    def own_ids(self, partials: PartialsView) -> WindowIds | None:
        if not self.by_step:
            return None
        return WindowIds(partials.frames + 1, partials.frames - self.back.ticks // self.steps.every)

    def cuts(self, first: Ints, until: Ints) -> Bools:
        def apart(later: int) -> Bools:
            """Whether there is a step among the ticks after the first one, all of them some ticks later."""
            found: Bools = self.steps.numbers(first + later) != self.steps.numbers(until - 1 + later)
            return found

        ends = apart(-self.after_end)
        if self.back.calendar is None:
            return ends | apart(-self.back.ticks - self.after_start)
        if not len(first):
            return ends
        bounds = np.array([first.min() - self.back.most, until.max() - self.back.least])
        least, most = self.steps.numbers(bounds).tolist()
        begins = np.sort(self.back.of(self.steps.begins(np.arange(least, most + 2))) + self.after_start)
        return ends | (np.searchsorted(begins, first, side="right") < np.searchsorted(begins, until))

    def reached(self, found: Ranges | Coverage) -> Ints:
        starts: Ints = np.minimum.reduce([back.of(found.end) for back in self.longest])
        return starts

    def has_rows(self, view: PartialsView, number: int) -> Bools:
        begin, stop = self._bounds(self.steps.begins(np.array([number])), self.back)
        found: Bools = (view.frames >= begin) & (view.frames < stop)
        return found

    def ranges(self, partials: PartialsView) -> Ranges:
        found = ranges_by_id(self.describe(), partials, *(partials.ids or self.window_ids(partials)))
        at = self.steps.begins(found.number)
        key = partials.key[found.row]
        ranges = Ranges(*self._rows(partials, key, at, self.back), found.row, self.back.of(at), at, at)
        if len(self.longest) == 1 and self.longest[0].calendar is None:
            return ranges
        # A month may have fewer days than the longest, and of two steps the later one may look back further.
        reached = (self._rows(partials, key, at, back) for back in self.longest)
        return ranges.where(np.logical_or.reduce([low < high for low, high in reached]))

    def _rows(self, partials: PartialsView, key: Ints, at: Ints, back: Reach) -> tuple[Ints, Ints]:
        """The rows of windows that look back from some times."""
        begin, stop = self._bounds(at, back)
        low, high = partials.locate(key, begin), partials.locate_again(key, stop)
        return low, np.maximum(low, high)

    def _bounds(self, at: Ints, back: Reach) -> tuple[Ints, Ints]:
        """The first frames of windows that look back from some times, and the first ones after them."""
        if self.by_step:
            return self.steps.numbers(back.of(at)), self.steps.numbers(at)
        return back.of(at) + self.after_start, at + self.after_end

    def describe(self) -> str:
        size = self.back.words(self.time).removeprefix("-")
        return f"{size} up to every {self.steps.length(self.time)}{self.steps.in_zone}, closed={self.closed!r}"

    def describe_frames(self) -> str:
        return f"one frame every {self.steps.length(self.time)}" if self.by_step else super().describe_frames()
