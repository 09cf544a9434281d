"""The values of a column in time order: CollectList, FirstN, LastN, Concat."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..contract.aggregate import StateFunctions, StateRanges
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, OneColumn, State
from ..errors import ColumnError, QueryError
from ..ranges.item_ranges import ItemRanges, ascends_in_groups, items_of, offsets_of
from ..states.large import list_offsets
from ..states.ragged import Ragged
from .multiset import items, lists_of_ranges
from .sort_keys import objects, restored
from .sorted_merge import TIME, merge, rows_by_frame

__all__ = ["CollectList", "Concat", "FirstN", "LastN"]


class CollectList(OneColumn):
    """The values of a column in time order; an empty list where a window has none.

    Those of one time are in input order: that of the rows of a table, or of the partitions and their rows on Spark.
    Works on every type. There is no deduct: it slides by two-stacks, at the cost of copying each window's values.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [7, 3, 3, 1], "x": ["d", "b", "c", None]})
    >>> ff.events(events, time="t").window(ff.tumbling(10)).aggregate(x=ff.CollectList("x"))["x"].to_pylist()
    [['b', 'c', 'd']]
    """

    keeps = hands_on = slice(None)
    uses_order = True
    commutative = True  # items carry their time, and merging keeps input order among equal times
    type: pa.DataType
    most: int | None = None
    """The most values that a state keeps; None: all."""
    keeps_last = False
    """Whether these are the last ones in time order, and not the first."""

    def bind(self, *types: pa.DataType) -> StateFunctions:
        (type,) = types
        state = {"items": {"time": "int64", "value": type}}
        return self.changed(type=type, state=state, result=self.type_of_result(type))

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        """The type of the result for a column of a type."""
        return pa.list_(type)

    def keep(self, lists: Ragged) -> Ragged:
        """The items that states keep."""
        return lists

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        if frames.are_rows:
            return {"items": Ragged.one_each({"time": frames.order, "value": objects(columns[0])})}
        rows = rows_by_frame(frames, frames.order)
        planes = {"time": frames.order[rows], "value": objects(columns[0])[rows]}
        return {"items": self.keep(Ragged(frames.count(), planes))}

    range_cost = "its output"

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        lists = items(a)
        of_items = ItemRanges(lists.offsets, ranges.low, ranges.high, ranges.ascending)
        if not ascends_in_groups(lists.planes["time"][of_items.items], of_items):
            return None
        offsets = offsets_of(of_items, self.most)
        lists.require_memory(int(offsets[-1]))
        values = items_of(lists.planes["value"][of_items.items], of_items, offsets, last=self.keeps_last)
        unused = np.empty(len(values), np.int64)  # results do not have the times
        return {"items": lists_of_ranges(of_items, Ragged.at(offsets, {"time": unused, "value": values}))}

    def combine(self, a: State, b: State) -> State:
        return {"items": self.keep(merge(items(a), items(b), TIME))}

    def finish(self, a: State) -> Any:
        return lists_of(items(a), restored(items(a).planes["value"], self.type), pa.list_(self.type))


def lists_of(lists: Ragged, values: pa.Array, type: pa.DataType) -> pa.Array:
    """The lists of states as a column, with these values as their items."""
    return pa.ListArray.from_arrays(list_offsets(lists.offsets), values, type=type)


class Concat(CollectList):
    """The strings of a column in time order, concatenated; null where a window has none.

    Those of one time are in input order.

    Parameters
    ----------
    column
        Strings.
    delimiter
        The text between two strings.
    prefix, suffix
        The text before the first one and after the last one.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [2, 0, 1], "x": ["c", "a", "b"]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(x=ff.Concat("x", ", ", prefix="<", suffix=">"))["x"].to_pylist()
    ['<a, b, c>']
    """

    keeps = hands_on = slice(0)

    def __init__(self, column: ColumnLike, delimiter: str = "", prefix: str = "", suffix: str = "") -> None:
        super().__init__(column)
        for name, text in {"delimiter": delimiter, "prefix": prefix, "suffix": suffix}.items():
            if not isinstance(text, str):
                raise QueryError(f"{name}= of {self!r} is {text!r}; expected a string")
        self.delimiter, self.prefix, self.suffix = delimiter, prefix, suffix

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        if not (pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)):
            raise ColumnError(f"{self!r} needs a column of strings; {self.columns[0]!r} is {type}: cast it first")
        return type

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        return super().finish_ranges(a, ranges)

    def finish(self, a: State) -> Any:
        between, before, after, none = (
            pa.scalar(each, pa.large_string()) for each in (self.delimiter, self.prefix, self.suffix, "")
        )
        joined = pc.binary_join(super().finish(a).cast(pa.list_(pa.large_string())), between)
        if self.prefix or self.suffix:
            joined = pc.binary_join_element_wise(before, joined, after, none)
        filled = pa.array(items(a).lengths > 0)
        return pc.if_else(filled, joined, pa.scalar(None, joined.type))


class FirstN(CollectList):
    """The values of the n earliest events whose column is not null, in time order; fewer where a window has fewer.

    Of several events at one time those that came first are taken. Works on every type.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [7, 3, 3, 1], "x": ["d", "b", "c", None]})
    >>> ff.events(events, time="t").window(ff.tumbling(10)).aggregate(x=ff.FirstN("x", 2))["x"].to_pylist()
    [['b', 'c']]
    """

    def __init__(self, column: ColumnLike, n: int) -> None:
        super().__init__(column)
        self.n = self.most = require_count(self, n)

    range_cost = "n"

    def keep(self, lists: Ragged) -> Ragged:
        return lists.head(self.n) if bool((lists.lengths > self.n).any()) else lists


class LastN(FirstN):
    """The values of the n latest events whose column is not null, in time order; fewer where a window has fewer.

    Of several events at one time those that came last are taken. Works on every type.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [7, 3, 3, 1], "x": ["d", "b", "c", None]})
    >>> ff.events(events, time="t").window(ff.tumbling(10)).aggregate(x=ff.LastN("x", 2))["x"].to_pylist()
    [['c', 'd']]
    """

    keeps_last = True

    def keep(self, lists: Ragged) -> Ragged:
        return lists.tail(self.n) if bool((lists.lengths > self.n).any()) else lists


def require_count(operation: AggregateOperation, n: int) -> int:
    """A number of values; QueryError unless it is a positive integer."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise QueryError(f"n= of {operation!r} is {n!r}; expected an integer of 1 or more")
    return min(int(n), sys.maxsize)  # numpy's integers, and more values than there are
