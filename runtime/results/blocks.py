"""Partials in blocks of rows or of windows, so that no task has to hold all of a key."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Ints
from ...aggregators.states.ragged import RaggedField
from ..columns.ticks import describe
from ..frames.numbered import NumberedWindows
from ..frames.partials_view import PartialsView, WindowIds
from ..frames.window_ranges import Coverage, Ranges
from ..partials.partials import Partials
from ..plan.plan import Axis, Plan, with_key

BLOCK = "#block"
"""The column of partials with the number of their block, which is a key like the others."""

WIDTH = 1 << 17
"""The least width of a block of rows, in steps of the windows."""

OVERLAPS = 4
"""Windows of a block for each that an event is in: an event is in another block, too, once in as many."""

LEAST, LEAST_TICKS = 1 << 6, 1 << 32
"""The fewest windows of a block, and the fewest ticks where these are around events: about an hour of microseconds."""

PROBED = np.arange(1 << 10)
"""Frames whose windows are counted, to know how many an event is in."""


@dataclass(frozen=True, kw_only=True)
class Blocked(Axis):
    """An axis in blocks of ``width``, each with copies of the partials that its windows take in. A window is in one."""

    width: int

    @abstractmethod
    def places(self, plan: Plan, partials: Partials) -> tuple[Ints, Ints]:
        """The rows of partials, once for each block that they are in, and these blocks."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What a block holds, in words for ``.explain()``."""


@dataclass(frozen=True, kw_only=True)
class Blocks(Blocked):
    """An axis in blocks of ``width`` rows or ticks, each with copies of the partials near it that its windows take in.

    A window belongs to the block of its own row: the one that completes it, or the one it is around. Only there are all
    of its partials, so only there is it given.
    """

    @property
    def span(self) -> tuple[int, int]:
        """(lookback, lookahead) of a window, in rows or ticks."""
        span = self.row_span or self.windows[0].tick_span
        assert span is not None
        return span

    def ranges(self, number: int, view: PartialsView) -> Ranges | Coverage:
        """The windows of one kind that belong to the blocks of partials sorted by key, block and frame."""
        found = super().ranges(number, view)
        assert isinstance(found, Ranges)
        blocks = view.keys[-1].to_numpy()[view.key[found.row]]
        return found.where(view.window_inputs.get("rank", view.frames)[found.row] // self.width == blocks)

    def places(self, plan: Plan, partials: Partials) -> tuple[Ints, Ints]:
        (lookback, lookahead), width = self.span, self.width
        rows = partials.window_inputs().get("rank", partials.frames)  # without ranks a frame is a row
        block = rows // width
        next_too = np.flatnonzero(rows >= (block + 1) * width - lookback)  # a tick is a frame as a row is
        previous_too = np.flatnonzero((rows < block * width + lookahead) & ((block > 0) | (self.row_span is None)))
        each = np.concatenate([np.arange(len(block)), next_too, previous_too])
        return each, np.concatenate([block, block[next_too] + 1, block[previous_too] - 1])

    @property
    def in_words(self) -> str:
        by_rows, windows = self.row_span is not None, self.windows[0]

        def long(size: int) -> str:
            return f"{size:,} rows" if by_rows else describe(size, windows.time.type)

        near = [f"{long(size)} {word} it" for size, word in zip(self.span, ("before", "after"), strict=True) if size]
        return long(self.width) + (f", each with the {' and '.join(near)}" if near else "")


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


def in_blocks(plan: Plan) -> Plan | None:
    """The plan of partials in blocks (:func:`with_neighbours`); None where a window may need a whole key.

    So may those of several kinds together: their results are put in order by time, and events on both sides of a
    block's edge may have one time.

    Parameters
    ----------
    plan
        A plan whose events have row numbers.

    Returns
    -------
    A plan with one more key, the last: the number of the block.
    """
    span = plan.axis.row_span
    if span is None or len(plan.axis.windows) > 1:
        return None
    step = plan.axis.windows[0].step
    width = -(-max(*span, WIDTH * step) // step) * step
    if width >= 1 << 62:
        return None
    return with_block(plan, Blocks, width)


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
    if not isinstance(windows[0], NumberedWindows) or not windows[0].chunkable:
        return None
    if windows[0].emits_empty or windows[0].fill is not None:
        return None
    ids = ids_of(plan, PROBED)
    width = OVERLAPS * int(max((ids.last - ids.first).max() + 1, LEAST))
    return with_block(plan, WindowBlocks, width)


def ids_of(plan: Plan, frames: Ints) -> WindowIds:
    """The windows of frames."""
    ids = plan.axis.windows[0].window_ids(PartialsView(frames, np.zeros(min(len(frames), 1), np.intp)))
    assert ids is not None
    return ids


def with_block(plan: Plan, kind: type[Blocked], width: int) -> Plan:
    """The plan of partials in blocks of a kind: with the number of the block as its last key."""
    axis = kind(**{each.name: getattr(plan.axis, each.name) for each in fields(plan.axis)}, width=width)
    return replace(with_key(plan, BLOCK), axis=axis)


def with_neighbours(plan: Plan, partials: Partials) -> Partials:
    """Partials with the number of their block, once for each block that needs them.

    Parameters
    ----------
    plan
        From :func:`with_block`.
    partials
        Those of the plan that it is made from.
    """
    axis = plan.axis
    assert isinstance(axis, Blocked)
    rows, blocks = axis.places(plan, partials)
    table = partials.table
    if len(rows) != len(table) or (rows[1:] < rows[:-1]).any():
        table = table.take(pa.array(rows))
    place = len(plan.by) - 1
    return Partials(plan, table.add_column(place, plan.partials_schema.field(place), pa.array(blocks)))
