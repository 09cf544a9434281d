"""Windows of some months that end every few days, by the calendar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from ..columns.months import LAST, day_of, month_of
from .partials_view import WindowIds
from .steps import Steps


@dataclass(frozen=True)
class MonthsBack(Steps):
    """Windows that end on the day ``offset + k * every`` for every integer k: positions are days since 1970.

    A window begins on the same day of an earlier month, or on the last one of a shorter month. ``size`` is the number
    of months. A frame is a day.

    >>> windows = MonthsBack(1, every=1)
    >>> [day.astype("datetime64[D]").item().isoformat() for day in windows.bounds(np.array([88]))]
    ['1970-02-28', '1970-03-30']
    >>> windows.windows_of(np.array([58]))  # 28 February is in those that end on 1 to 31 March
    WindowIds(first=array([59]), last=array([89]))
    """

    @property
    def shortest(self) -> int:
        """The days of the shortest window."""
        month = np.arange(400 * 12)
        return int((day_of(month + self.size, 0) - day_of(month, 0)).min())

    @property
    def longest(self) -> int:
        """A number of days that no window is beyond."""
        return self.size * (LAST + 1)

    @property
    def frames_in_window(self) -> None:
        """Not one number."""

    def frames(self, positions: Ints) -> tuple[Ints, Bools | None]:
        return positions, None

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        return frames, frames + 1

    def windows_of(self, frames: Ints) -> WindowIds:
        return WindowIds(self.ended_by(frames) + 1, self.begun_by(frames))

    def ended_by(self, positions: Ints) -> Ints:
        return (positions - self.offset) // self.every

    def begun_by(self, positions: Ints) -> Ints:
        month, day = month_of(positions)
        ends_month = positions == day_of(month, LAST)  # windows that end on all later days of a month begin here
        return self.ended_by(day_of(month + self.size, np.where(ends_month, LAST, day)))

    def bounds(self, number: Ints) -> tuple[Ints, Ints]:
        end = number * self.every + self.offset
        month, day = month_of(end)
        return day_of(month - self.size, day), end
