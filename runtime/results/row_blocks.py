"""Partials in blocks of rows, so that no task has to hold all rows of a key."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Ints
from ..columns.ticks import describe
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..partials.partials import Partials
from ..plan.plan import Axis, Plan, with_key

BLOCK = "#block"
"""The column of partials with the number of their block, which is a key like the others."""

WIDTH = 1 << 17
"""The least width of a block, in steps of the windows."""


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
