"""Windows over values, a block of them at a time by their numbers or times: no task has to hold all values of a key."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...aggregators.states.arrays import Ints
from ...aggregators.states.ragged import RaggedField
from ..frames.partials_view import PartialsView, WindowIds
from ..partials.partials import Partials
from ..plan.plan import Plan
from .row_blocks import Blocked, Blocks, with_block

OVERLAPS = 4
"""Windows of a block for each that an event is in: an event is in another block, too, once in as many."""

LEAST, LEAST_TICKS = 1 << 6, 1 << 32
"""The fewest windows of a block, and the fewest ticks where these are around events: about an hour of microseconds."""

PROBED = np.arange(1 << 10)
"""Frames whose windows are counted, to know how many an event is in."""


@dataclass(frozen=True, kw_only=True)
class WindowBlocks(Blocked):
    """An axis in blocks of ``width`` windows by their numbers, each with copies of all partials that these take in."""

    def views(self, view: PartialsView) -> list[PartialsView]:
        """Partials sorted by key, block and frame as the windows see them: each in those of its block only."""
        (found,) = super().views(view)
        assert found.ids is not None
        low = view.keys[-1].to_numpy()[view.key] * self.width
        ids = WindowIds(np.maximum(found.ids.first, low), np.minimum(found.ids.last, low + self.width - 1))
        return [replace(found, ids=ids)]

    def places(self, plan: Plan, partials: Partials) -> tuple[Ints, Ints]:
        ids = ids_of(plan, partials.frames)
        first = ids.first // self.width
        times = np.where(ids.first <= ids.last, ids.last // self.width - first + 1, 0)
        rows = np.repeat(np.arange(len(times)), times)
        return rows, first[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)

    @property
    def in_words(self) -> str:
        return f"{self.width:,} windows"


def in_window_blocks(plan: Plan) -> Plan | None:
    """The plan of partials in blocks of windows; None where a window may need a whole key, or partials are small.

    Returns
    -------
    A plan with one more key, the last: the number of the block.
    """
    windows = plan.axis.windows
    lists = any(isinstance(kind, RaggedField) for bound in plan.states.values() for kind in bound.fields.values())
    if not lists or len(windows) > 1 or plan.until is not None or plan.axis.fill_frames is not None:
        return None
    if windows[0].tick_span is not None:
        width = max(OVERLAPS * (sum(windows[0].tick_span) + 1), LEAST_TICKS)
        return with_block(plan, Blocks, width) if width < 1 << 61 else None
    if not windows[0].chunkable or windows[0].emits_empty or windows[0].fill is not None:
        return None
    ids = ids_of(plan, PROBED)
    width = OVERLAPS * int(max((ids.last - ids.first).max() + 1, LEAST))
    return with_block(plan, WindowBlocks, width)


def ids_of(plan: Plan, frames: Ints) -> WindowIds:
    """The windows of frames."""
    ids = plan.axis.windows[0].window_ids(PartialsView(frames, np.zeros(min(len(frames), 1), np.intp)))
    assert ids is not None
    return ids
