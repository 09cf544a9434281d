"""Counting multisets: the sorted distinct values of a column with their counts."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions, StateRanges
from ..contract.frames import Frames, Values
from ..contract.operation import OneColumn, State
from ..ranges.codes import Codes, codes_of
from ..ranges.distinct import list_codes
from ..ranges.item_ranges import ItemRanges
from ..states.arrays import Ints
from ..states.ragged import Ragged
from ..tuning import DENSE_VALUES
from .sort_keys import Keys, Order
from .sorted_merge import distinct_rows, find, insert

MAX_PACKED = 1 << 62
"""Numbers of possible pairs below this are packed into one integer."""


class Multiset(OneColumn):
    """The base of operations on the distribution of a column: states of sorted values and their counts.

    Windows are answered over ranges of the values of all states. There is no deduct: a running state would have all
    values of a key.
    """

    compares = slice(None)
    commutative = True
    order: Order

    def bind(self, *types: pa.DataType) -> StateFunctions:
        order = Order(self, self.columns[0], types[0])
        state = {"items": {"value": order.plane, "count": "int64"}}
        return self.changed(order=order, state=state, result=self.type_of_result(types[0]))

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        """The type of the result for a column of a type."""
        return type

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        ranks = self.order.ranks(columns[0])
        if frames.are_rows and self.order.numeric:
            return {"items": Ragged.one_each({"value": ranks, "count": np.ones(len(ranks), np.int64)})}
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
        return {"items": insert(lists.replaced(count=count), others.only(~equal), place[~equal])}

    def ranged(self, a: State, ranges: StateRanges) -> RangedValues:
        """The values of states by their codes, and the ranges of them that windows are."""
        lists = items(a)
        of_items = ItemRanges(lists.offsets, ranges.low, ranges.high, ranges.ascending)
        keys, counts = (lists.planes[plane][of_items.items] for plane in ("value", "count"))
        codes = codes_of(self.order.ranks_of_keys(keys), of_items)
        weights = None if bool((counts == 1).all()) else np.ascontiguousarray(counts)
        return RangedValues(keys[codes.first], codes, weights, of_items)

    def listed(self, a: State, ranges: StateRanges) -> State | None:
        """The states of ranges, at the cost of writing them; None where ranges lie within one another."""
        keys, codes, weights, of_items = self.ranged(a, ranges)
        listed = list_codes(codes, weights, of_items, counted=True)
        if listed is None:
            return None
        planes = {"value": keys[listed.code], "count": cast(Ints, listed.weight)}
        return {"items": lists_of_ranges(of_items, Ragged(listed.lengths, planes))}


class RangedValues(NamedTuple):
    """The items of states that ranges are of.

    Parameters
    ----------
    keys
        The key of each code, shape (codes,).
    codes
        The items.
    weights
        The count of each item; None where each is 1.
    ranges
        The ranges of items.
    """

    keys: Keys
    codes: Codes
    weights: Ints | None
    ranges: ItemRanges


def lists_of_ranges(ranges: ItemRanges, lists: Ragged) -> Ragged:
    """The lists of ranges as they were given, from those of the ranges with an item."""
    ordered = lists if ranges.in_order else lists[np.argsort(ranges.filled)]
    return ordered if len(lists) == ranges.count else Ragged(ranges.spread(lists.lengths), ordered.planes)


def items(a: State) -> Ragged:
    """The items of states."""
    return cast(Ragged, a["items"])


def _counted(frames: Frames, ranks: Ints) -> tuple[Ints, Keys, Ints]:
    """The distinct (frame, rank), sorted: the frame, the rank, and the number of rows."""
    if frames.size == len(ranks):  # a row a frame
        rows = np.empty(len(ranks), np.intp)
        rows[frames.index] = np.arange(len(ranks))
        return np.arange(len(ranks)), ranks[rows], np.ones(len(ranks), np.int64)
    least, greatest = int(ranks.min()), int(ranks.max())
    span = greatest - least + 1
    if frames.size * span < MAX_PACKED:
        packed = frames.index * span
        packed += ranks
        packed -= least
        if frames.size * span <= max(DENSE_VALUES, len(ranks)):
            counts = np.bincount(packed, minlength=frames.size * span)
            present = np.flatnonzero(counts)
            counts = counts[present]
        else:
            packed.sort()  # np.unique would copy it
            first = np.flatnonzero(np.r_[True, packed[1:] != packed[:-1]])
            present, counts = packed[first], np.diff(first, append=len(packed))
        owner = present // span
        present -= owner * span
        present += least
        return owner, present, counts
    rows, starts, counts = distinct_rows(frames, ranks)
    return frames.index[rows[starts]], ranks[rows[starts]], counts
