"""Windows that reach over so many rows at most, a block of rows at a time: nobody has to hold all rows of a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.key_codes import one_array
from ..partials.partials import FRAME, states_of
from ..plan.axis import Axis
from ..plan.plan import Plan
from ..windows import Coverage, Ints, Ranges

BLOCK = "#block"
"""The column of partials with the number of their block, which is a key like the others."""

WIDTH = 1 << 17
"""The least width of a block, in steps of the windows."""


@dataclass(frozen=True, kw_only=True)
class Blocks(Axis):
    """An axis in blocks of so many rows, each with copies of the partials next to it that its windows take in.

    A window belongs to the block of its own row: the one that completes it, or the one it is around. Only there are all
    of its partials, so only there is it given.
    """

    width: int

    def ranges(
        self,
        number: int,
        frames: Ints,
        starts: Ints,
        window_inputs: Mapping[str, NDArray[Any]],
        keys: tuple[pa.Array, ...] = (),
        within: tuple[int, int] | None = None,
    ) -> Ranges | Coverage:
        """The windows of one kind that belong to the blocks of partials sorted by key, block and frame."""
        found = super().ranges(number, frames, starts, window_inputs, keys, within)
        assert isinstance(found, Ranges)
        blocks = keys[-1].to_numpy()[np.searchsorted(starts, found.row, side="right") - 1]
        return found.where(window_inputs.get("rank", frames)[found.row] // self.width == blocks)


def in_blocks(plan: Plan) -> Plan | None:
    """The query over partials in blocks (:func:`with_neighbours`); None where a window may need a whole key.

    So may those of several kinds together: their results are put in order by time, and events on both sides of a
    block's edge may have one time.

    Parameters
    ----------
    query
        A query whose events have row numbers.

    Returns
    -------
    A query with one more key, the last: the number of the block.
    """
    span = plan.axis.row_span
    if span is None or len(plan.axis.windows) > 1:
        return None
    step = plan.axis.windows[0].step
    width = -(-max(*span, WIDTH * step) // step) * step
    if width >= 1 << 62:
        return None
    name = BLOCK
    while name in plan.partials_schema.names or name in plan.result_schema.names:
        name += "_"
    block, place = pa.field(name, pa.int64()), len(plan.by)
    return replace(
        plan,
        by=(*plan.by, name),
        axis=Blocks(**{each.name: getattr(plan.axis, each.name) for each in fields(plan.axis)}, width=width),
        partials_schema=plan.partials_schema.insert(place, block),
        result_schema=plan.result_schema.insert(place, block),
    )


def with_neighbours(plan: Plan, partials: pa.Table) -> pa.Table:
    """Partials with the number of their block, and once more in the next block or the one before if that needs them.

    Parameters
    ----------
    query
        From :func:`in_blocks`.
    partials
        Those of the query that it is made from.
    """
    axis = plan.axis
    assert isinstance(axis, Blocks)
    assert axis.row_span is not None
    (lookback, lookahead), width = axis.row_span, axis.width
    rank = plan.window_inputs.get("#rank")
    if rank is None:  # a frame is a row
        rows = one_array(partials.column(FRAME)).to_numpy()
    else:
        rows = rank.finish(states_of(partials, "#rank", rank)).to_numpy()
    block = rows // width
    next_too = np.flatnonzero(rows >= (block + 1) * width - lookback)
    previous_too = np.flatnonzero((rows < block * width + lookahead) & (block > 0))
    blocks = np.concatenate([block, block[next_too] + 1, block[previous_too] - 1])
    if len(blocks) > len(block):
        partials = partials.take(pa.array(np.concatenate([np.arange(len(block)), next_too, previous_too])))
    place = len(plan.by) - 1
    return partials.add_column(place, plan.partials_schema.field(place), pa.array(blocks))
