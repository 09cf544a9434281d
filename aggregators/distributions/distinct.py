"""CountDistinct, DistinctSum, CollectSet and Mode: aggregates of distinct values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.frames import Frames
from ..contract.numeric_columns import require_summable
from ..contract.operation import AggregateOperation, State
from ..ordered.multiset import Multiset, items
from ..sums.sums import Sum


class CountDistinct(Multiset):
    """The number of distinct values of a column; 0 where a window has none.

    Works on all types that have an order. NaN is one value, and -0.0 is 0.0, as in Spark SQL. The count is exact; its
    states hold every distinct value.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": ["a", "b", "a", None]})
    >>> ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(n=ff.CountDistinct("x"))["n"].to_pylist()
    [1, 2, 2, 1, 0]
    """

    compares = slice(0)

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        return pa.int64()

    def finish(self, a: State) -> Any:
        return items(a).lengths


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

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        return pa.list_(type)

    def finish(self, a: State) -> Any:
        values = self.order.values(items(a).planes["value"])
        return pa.ListArray.from_arrays(pa.array(items(a).offsets).cast(pa.int32()), values, type=self.result)


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
    sum: AggregateOperation

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        require_summable(self, types[0])
        total = Sum(self.columns[0]).bind(types[0])
        return super().bind(*types).changed(sum=total, result=total.result)

    def finish(self, a: State) -> Any:
        lists = items(a)
        values = self.order.values(lists.planes["value"])
        if not pa.types.is_decimal(values.type):
            values = values.to_numpy(zero_copy_only=False)
        frames = Frames(lists.owner, len(lists), np.zeros(len(values), np.int64))
        states = self.sum.accumulate(frames, values)
        counted = {key: lists.lengths for key in ("count", "frames") if key in states}  # a list may be empty
        return self.sum.finish({**states, **counted})
