"""Windows with a row span, a block of rows at a time: no task has to hold all rows of a key."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from ..partials.merge import Partials, window_inputs_of
from ..plan.plan import Axis, Plan, with_key
from ..windows import Coverage, PartialsView, Ranges

BLOCK = "#block"
"""The column of partials with the number of their block, which is a key like the others."""

WIDTH = 1 << 17
"""The least width of a block, in steps of the windows."""


@dataclass(frozen=True, kw_only=True)
class Blocks(Axis):
    """An axis in blocks of ``width`` rows, each with copies of the partials next to it that its windows take in.

    A window belongs to the block of its own row: the one that completes it, or the one it is around. Only there are all
    of its partials, so only there is it given.
    """

    width: int

    def ranges(self, number: int, view: PartialsView) -> Ranges | Coverage:
        """The windows of one kind that belong to the blocks of partials sorted by key, block and frame."""
        found = super().ranges(number, view)
        assert isinstance(found, Ranges)
        blocks = view.keys[-1].to_numpy()[view.key[found.row]]
        return found.where(view.window_inputs.get("rank", view.frames)[found.row] // self.width == blocks)


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
    axis = Blocks(**{each.name: getattr(plan.axis, each.name) for each in fields(plan.axis)}, width=width)
    return replace(with_key(plan, BLOCK), axis=axis)


def with_neighbours(plan: Plan, partials: Partials) -> Partials:
    """Partials with the number of their block, and once more in the next block or the one before if that needs them.

    Parameters
    ----------
    plan
        From :func:`in_blocks`.
    partials
        Those of the plan that it is made from.
    """
    axis = plan.axis
    assert isinstance(axis, Blocks)
    assert axis.row_span is not None
    (lookback, lookahead), width = axis.row_span, axis.width
    rows = window_inputs_of(plan, partials).get("rank", partials.frames())  # without ranks a frame is a row
    block = rows // width
    next_too = np.flatnonzero(rows >= (block + 1) * width - lookback)
    previous_too = np.flatnonzero((rows < block * width + lookahead) & (block > 0))
    blocks = np.concatenate([block, block[next_too] + 1, block[previous_too] - 1])
    table = partials.table
    if len(blocks) > len(block):
        table = table.take(pa.array(np.concatenate([np.arange(len(block)), next_too, previous_too])))
    place = len(plan.by) - 1
    return Partials(table.add_column(place, plan.partials_schema.field(place), pa.array(blocks)))
