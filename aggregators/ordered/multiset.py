"""Counting multisets: the values of a column, sorted, each with how often it occurs."""

from __future__ import annotations

import copy
from typing import Self, cast

import numpy as np
import pyarrow as pa

from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, State
from ..states.arrays import Ints
from ..states.ragged import Ragged
from .sort_keys import Keys, Order
from .sorted_merge import find, insert, rows_by_frame

ROOM = 1 << 20
"""Values are counted in an array where there are no more possible ones than this, or than rows."""

LIMIT = 1 << 62
"""Below it a frame and a value are packed into one integer."""


class Multiset(AggregateOperation):
    """What operations on the distribution of a column have in common: a state of sorted values and their counts.

    A multiset can be taken out of another exactly, but they slide by two-stacks: a running state has all values of a
    key since it began, a window only its own. Measured at 100 keys, 1,440 frames with an event each and windows of 60
    frames: 1,000 distinct values take 1 to 3 s by two-stacks and 26 to 70 s by deduct, 10 of them 0.6 and 1.1 s.
    """

    commutative = True
    order: Order

    def __init__(self, column: str) -> None:
        super().__init__(column)

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        return self.of_type(types[0])

    def of_type(self, type: pa.DataType) -> Self:
        """The operation for a column of a type."""
        bound = copy.copy(self)
        bound.order = Order(self, self.columns[0], type)
        bound.state = {"items": {"value": bound.order.plane, "count": "int64"}}  # type: ignore[misc]  # by type of input
        bound.result = bound.type_of_result(type)
        return bound

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

    def deduct(self, a: State, b: State) -> State:
        lists, others = items(a), items(b)
        _, at, equal = find(lists, others)
        count = lists.planes["count"].copy()
        count[at[equal]] -= others.planes["count"][equal]
        return {"items": lists.replaced(count=count).kept(count != 0)}


def items(a: State) -> Ragged:
    """The items of states."""
    return cast(Ragged, a["items"])


def _counted(frames: Frames, ranks: Ints) -> tuple[Ints, Keys, Ints]:
    """The distinct (frame, rank) in order: the frame, the rank, and how many rows have them."""
    least, greatest = int(ranks.min()), int(ranks.max())
    span = greatest - least + 1
    if frames.size * span < LIMIT:
        packed = frames.index * span + (ranks - least)
        if frames.size * span <= max(ROOM, len(ranks)):
            counts = np.bincount(packed, minlength=frames.size * span)
            present = np.flatnonzero(counts)
            counts = counts[present]
        else:
            present, counts = np.unique(packed, return_counts=True)
        return present // span, present % span + least, counts
    rows = rows_by_frame(frames, ranks)
    index, ranks = frames.index[rows], ranks[rows]
    starts = np.flatnonzero(np.r_[True, (index[1:] != index[:-1]) | (ranks[1:] != ranks[:-1])])
    return index[starts], ranks[starts], np.diff(np.append(starts, len(rows)))
