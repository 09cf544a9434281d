"""Counting multisets: the sorted distinct values of a column and their counts."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, OneColumn, State
from ..states.arrays import Ints
from ..states.ragged import Ragged
from .sort_keys import Keys, Order
from .sorted_merge import distinct_rows, find, insert

DENSE = 1 << 20
"""Values are counted in an array of all possible ones where there are no more of these, or no more than rows."""

MAX_PACKED = 1 << 62
"""Numbers of possible pairs below this are packed into one integer."""


class Multiset(OneColumn):
    """The base of operations on the distribution of a column: states of sorted values and their counts.

    There is no deduct: a running state would have all values of a key, and two-stacks has only those of a window.
    """

    compares = slice(None)
    commutative = True
    order: Order

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        order = Order(self, self.columns[0], types[0])
        state = {"items": {"value": order.plane, "count": "int64"}}
        return self.changed(order=order, state=state, result=self.type_of_result(types[0]))

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        """The type of the result for a column of a type."""
        return type

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        ranks = self.order.ranks(columns[0])
        owner, keys, count = _counted(frames, ranks)
        if not self.order.numeric:
            row = np.empty(int(ranks.max()) + 1, np.intp)
            row[ranks] = np.arange(len(ranks))
            keys = self.order.keys(columns[0].take(pa.array(row[keys])))
        return {"items": Ragged(np.bincount(owner, minlength=frames.size), {"value": keys, "count": count})}

    def combine(self, a: State, b: State) -> State:
        lists, others = items(a), items(b)
        if lists.offsets[-1] < others.offsets[-1]:
            lists, others = others, lists
        if not others.offsets[-1]:
            return {"items": lists}
        place, at, equal = find(lists, others)
        count = lists.planes["count"].copy()
        count[at[equal]] += others.planes["count"][equal]
        return {"items": insert(lists.replaced(count=count), others.kept(~equal), place[~equal])}


def items(a: State) -> Ragged:
    """The items of states."""
    return cast(Ragged, a["items"])


def _counted(frames: Frames, ranks: Ints) -> tuple[Ints, Keys, Ints]:
    """The distinct (frame, rank), sorted: the frame, the rank, and the number of rows."""
    least, greatest = int(ranks.min()), int(ranks.max())
    span = greatest - least + 1
    if frames.size * span < MAX_PACKED:
        packed = frames.index * span + (ranks - least)
        if frames.size * span <= max(DENSE, len(ranks)):
            counts = np.bincount(packed, minlength=frames.size * span)
            present = np.flatnonzero(counts)
            counts = counts[present]
        else:
            present, counts = np.unique(packed, return_counts=True)
        return present // span, present % span + least, counts
    rows, starts, counts = distinct_rows(frames, ranks)
    return frames.index[rows[starts]], ranks[rows[starts]], counts
