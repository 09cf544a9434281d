"""Windows along the time line that are numbered one after the other, whatever the events."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ...aggregators.states.arrays import Bools, Ints
from .partials_view import PartialsView, WindowIds
from .window_ranges import Coverage, Ranges
from .windows import Windows


@dataclass(frozen=True, kw_only=True)
class NumberedWindows(Windows):
    """Windows with consecutive numbers, both of whose ends move forward with these.

    With ``empty="emit"`` there are all windows from a key's first to its last.
    """

    @abstractmethod
    def window_ids(self, partials: PartialsView) -> WindowIds:
        """The first and the last window of each row; the former is above the latter where it is in none."""

    def own_ids(self, partials: PartialsView) -> WindowIds | None:
        """As :meth:`window_ids`, of these windows alone where others are in one row with them; None: not known."""
        return self.window_ids(partials)

    def has_rows(self, view: PartialsView, number: int) -> Bools:
        """Which rows are in the window of a number."""
        ids = self.window_ids(view)
        found: Bools = (ids.first <= number) & (number <= ids.last)
        return found

    @abstractmethod
    def closed_by(self, tick: int) -> int:
        """The number of the last window that no event from a tick on is in."""

    @abstractmethod
    def closing_by_id(self, numbers: Ints) -> Ints:
        """For each of some windows the first tick from which on no event is in it."""

    def ids_at(self, view: PartialsView, ticks: Ints) -> WindowIds:
        """The windows at a time for each partial."""
        return self.window_ids(PartialsView(self.frames(ticks)[0], view.starts))

    def last_ids(self, view: PartialsView) -> Ints:
        """The number of the last window that each partial is in, with events that live on."""
        until = view.window_inputs.get("until")
        return (self.window_ids(view) if until is None else self.ids_at(view, until)).last

    @property
    def closes_at_end(self) -> bool:
        return not self.after_end

    def why_no_stream(self, alone: bool) -> str | None:
        if alone or not self.emits_empty:
            return None
        return "there are several kinds of windows in one pass, and empty='emit' asks for those without an event"

    def needs_order(self, alone: bool) -> bool:
        return False

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        return ranges.end + self.after_end

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        last = ticks + forget if self.emits_empty else ticks
        return self.closing_by_id(self.window_ids(PartialsView(self.frames(last)[0], np.arange(len(last)))).last)

    def open_rows(self, view: PartialsView, watermark: int) -> Bools:
        # A step with no window of its own has the number of the window before: no event there is in any.
        return self.last_ids(view) > self.closed_by(watermark)

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        kept = self.open_rows(view, watermark)
        if self.emit == "on_change":  # the window before the next one, which is compared with it
            closed = self.closed_by(watermark)
            kept = kept | self.open_rows(view, int(self.closing_by_id(np.array([closed - 1]))[0]))
        if self.emits_empty:  # the last event before the windows to come
            rows = np.where(kept, -1, np.arange(len(kept)))
            before = np.maximum.reduceat(rows, view.starts)
            kept[before[before >= 0]] = True
        return kept
