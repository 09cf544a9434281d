"""Aggregates of distinct values: CountDistinct, DistinctSum, CollectSet, Mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..contract.aggregate import StateFunctions, StateRanges
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import require_summable
from ..contract.operation import AggregateOperation, State
from ..ordered.collect import lists_of
from ..ordered.multiset import Multiset, items, lists_of_ranges
from ..ordered.sort_keys import Keys, Order
from ..ranges.distinct import count_distinct, most_frequent, runs
from ..ranges.run_sums import Runs, states_of_runs
from ..states.arrays import Ints
from ..states.ragged import Ragged
from ..states.rows import join, take
from ..sums.sums import Sum
from ..tuning import SUMMED_ITEMS

__all__ = ["CollectSet", "CountDistinct", "DistinctSum", "Mode"]


class CountDistinct(Multiset):
    """The number of distinct values of a column, or of several together; 0 where a window has none.

    Works on all types that have an order. NaN is one value, and -0.0 is 0.0, as in Spark SQL. The count is exact; its
    states hold every distinct value. Of several columns, rows with a null in any of them are left out.

    Parameters
    ----------
    column, *more
        The columns whose values are counted together.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": ["a", "b", "a", None]})
    >>> ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(n=ff.CountDistinct("x"))["n"].to_pylist()
    [1, 2, 2, 1, 0]
    """

    compares = slice(0)
    keeps = slice(None)
    range_cost = "constant"
    orders: tuple[Order, ...] = ()
    """Those of the columns, where there are several: a value is then the bytes of all of theirs."""

    def __init__(self, column: ColumnLike, *more: ColumnLike) -> None:
        AggregateOperation.__init__(self, column, *more)

    def bind(self, *types: pa.DataType) -> StateFunctions:
        if len(types) == 1:
            return super().bind(*types)
        orders = tuple(Order(self, *pair) for pair in zip(self.columns, types, strict=True))
        return cast(CountDistinct, super().bind(pa.large_binary())).changed(orders=orders)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return super().accumulate(frames, together(self.orders, columns) if self.orders else columns[0])

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        return pa.int64()

    def finish(self, a: State) -> Any:
        return items(a).lengths

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        _, codes, _, of_items = self.ranged(a, ranges)
        return of_items.spread(count_distinct(codes, of_items))


def together(orders: Sequence[Order], columns: Sequence[Values]) -> pa.Array:
    """The values of each row as bytes, equal where all values are: keys of numbers, and texts after their lengths."""
    parts = []
    for order, column in zip(orders, columns, strict=True):
        if order.numeric:
            parts.append(eight_bytes(order.keys(column)))
            continue
        text = column.cast(pa.string()) if pa.types.is_decimal(column.type) else column
        parts += [eight_bytes(pc.binary_length(text.cast(pa.large_binary())).to_numpy()), text.cast(pa.large_binary())]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def eight_bytes(numbers: Ints) -> pa.Array:
    """Integers as their bytes."""
    data = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(pa.binary(8), len(numbers), [None, data]).cast(pa.large_binary())


class CollectSet(Multiset):
    """The distinct values of a column, ascending; an empty list where a window has none.

    Works on all types that have an order; NaN is one value, above all others.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": ["b", "a", "b", None]})
    >>> ff.events(events, time="t").window(ff.tumbling(4)).aggregate(x=ff.CollectSet("x"))["x"].to_pylist()
    [['a', 'b']]
    """

    range_cost = "its output"
    answers_nested = False

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        return pa.list_(type)

    def finish(self, a: State) -> Any:
        values = self.order.values(items(a).planes["value"])
        return lists_of(items(a), values, self.result)

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        return self.listed(a, ranges)


class Mode(Multiset):
    """The most frequent value of a column, the least of equally frequent ones; null where a window has none.

    Works on all types that have an order; NaN is one value, above all others.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3, 4], "x": [3, 2, 3, 2, 1]})
    >>> ff.events(events, time="t").window(ff.tumbling(5)).aggregate(x=ff.Mode("x"))["x"].to_pylist()
    [2]
    """

    range_cost = "O(log n)"
    answers_nested = False

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        keys, codes, weights, of_items = self.ranged(a, ranges)
        found = most_frequent(codes, weights, of_items)
        if found is None:
            return None
        ones = np.ones(len(found), np.int64)
        return {"items": lists_of_ranges(of_items, Ragged.one_each({"value": keys[found], "count": ones}))}

    def finish(self, a: State) -> Any:
        lists = items(a)
        count = lists.planes["count"]
        filled = np.flatnonzero(lists.lengths)
        most = np.maximum.reduceat(count, lists.offsets[filled]) if len(filled) else count
        best = np.flatnonzero(count == np.repeat(most, lists.lengths[filled]))
        owner = lists.owner[best]
        first = best[np.flatnonzero(np.diff(owner, prepend=-1))]
        keys = np.full(len(lists), self.order.neutral, lists.planes["value"].dtype)
        keys[filled] = lists.planes["value"][first]
        return self.order.values(keys, lists.lengths == 0)


class DistinctSum(Multiset):
    """The sum of the distinct values of a column of numbers or durations; null where a window has none.

    Typed and exact as :class:`~framefold.aggregators.sums.sums.Sum` is: an integer sum that does not fit is an error.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [5, 7, 5]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(x=ff.DistinctSum("x"))["x"].to_pylist()
    [12]
    """

    compares = slice(0)
    range_cost = "constant"
    answers_nested = False
    sum: BoundAggregate

    def bind(self, *types: pa.DataType) -> StateFunctions:
        require_summable(self, types[0])
        total = BoundAggregate("DistinctSum", Sum(self.columns[0]), types)
        return super().bind(*types).changed(sum=total, result=total.result)

    def finish(self, a: State) -> Any:
        lists = items(a)
        values = self.order.values(lists.planes["value"])
        if not pa.types.is_decimal(values.type):
            values = values.to_numpy(zero_copy_only=False)
        frames = Frames(lists.owner, len(lists), np.zeros(len(values), np.int64))
        states = self.sum.accumulator.accumulate(frames, values)
        counted = {key: lists.lengths for key in ("count", "frames") if key in states}  # a list may be empty
        return self.sum.operation.finish({**states, **counted})

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        keys, codes, _, of_items = self.ranged(a, ranges)
        if not of_items.ascending or not len(keys):
            return None
        states = join(
            [self._one_each(keys[start : start + SUMMED_ITEMS]) for start in range(0, len(keys), SUMMED_ITEMS)]
        )
        of_windows = states_of_runs(
            take(states, codes.code.astype(np.int64)), Runs(*runs(codes, of_items), len(of_items.filled))
        )
        if of_windows is None:
            return None
        return self.sum.finish(self.sum.scatter(of_items.count, of_items.filled, of_windows))

    def _one_each(self, keys: Keys) -> State:
        """A state of the sum for each value."""
        each = Frames(np.arange(len(keys)), len(keys), np.zeros(len(keys), np.int64))
        return self.sum.accumulate(each, [self.order.values(keys)])
