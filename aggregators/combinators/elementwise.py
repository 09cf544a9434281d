"""ElementWise: an operation for each index of a list, or each key of a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions
from ..contract.bound import BoundAggregate
from ..contract.frames import Frames, Values
from ..contract.lists import is_list, unfold
from ..contract.operation import Operation, State, require_operation
from ..errors import ColumnError, QueryError
from ..ordered.sort_keys import Order
from ..states.arrays import Ints
from .grouped import Groups

__all__ = ["ElementWise"]


class ElementWise(Operation):
    """An operation over lists element by element (a list of results), or over maps key by key (a map of results).

    Other operations take lists as whole values: ``First("x")`` of a list column is the first list, ``Count("x")``
    counts lists. Lists, of any or of a fixed size, need not be of one length: the result is as long as the longest of
    the window. Null lists and maps are left out, null elements where the operation leaves out nulls; a window without
    an element has an empty list or map. Of several columns, those without lists repeat their value for each element;
    lists of one event must be of one length.

    Parameters
    ----------
    operation
        What is computed for each index or key; its columns are the lists, or one map.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> maps = pa.array([[("a", 1)], [("a", 2), ("b", 3)]], pa.map_(pa.string(), pa.int64()))
    >>> events = pa.table({"t": [0, 1], "vector": [[1, 2], [3, 4]], "parts": maps})
    >>> query = ff.events(events, time="t").window(ff.tumbling(2))
    >>> query.aggregate(
    ...     vector=ff.ElementWise(ff.Sum("vector")), parts=ff.ElementWise(ff.Max("parts"))
    ... ).select(["vector", "parts"]).to_pylist()
    [{'vector': [4, 6], 'parts': [('a', 2), ('b', 3)]}]
    """

    drops_nulls = False

    def __init__(self, operation: Operation) -> None:
        self.operation = require_operation("ElementWise", operation)
        if not operation.columns:
            raise QueryError(f"ElementWise({operation!r}) has no column; expected an operation on lists or on a map")
        super().__init__(*operation.columns)

    def __repr__(self) -> str:
        return f"ElementWise({self.operation!r})"

    def bind(self, *types: pa.DataType) -> StateFunctions:
        lists = sum(map(is_list, types))
        maps = [place for place, type in enumerate(types) if pa.types.is_map(type)]
        if (lists > 0) + len(maps) != 1:
            raise ColumnError(
                f"{self!r} needs columns of lists, or one of maps; "
                + ", ".join(f"{column!r} is {type}" for column, type in zip(self.columns, types, strict=True))
            )
        inner = BoundAggregate("ElementWise", self.operation, [_element(type) for type in types])
        if not maps:
            return Places(self, inner, Order(self, self.columns[0], pa.int64()))
        return Keys(self, inner, Order(self, self.columns[maps[0]], types[maps[0]].key_type))


def _element(type: pa.DataType) -> pa.DataType:
    if pa.types.is_map(type):
        return type.item_type
    return type.value_type if is_list(type) else type


class Keys(Groups):
    """Groups of the entries of maps, by key."""

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        place = next(place for place, column in enumerate(columns) if pa.types.is_map(column.type))
        entries = pa.struct([pa.field("key", columns[place].type.key_type), ("item", columns[place].type.item_type)])
        lists = [each.cast(pa.list_(entries)) if i == place else each for i, each in enumerate(columns)]
        lengths, inputs = unfold(self, lists)
        key, inputs[place] = inputs[place].flatten()
        return self.grouped(frames.repeated(lengths), inputs, key)


class Places(Groups):
    """Groups of the elements of lists, by index. Every list has all indices up to its length."""

    def __init__(self, spec: Operation, inner: BoundAggregate, order: Order) -> None:
        super().__init__(spec, inner, order)
        self.result = pa.list_(inner.result)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        lengths, inputs = unfold(self, columns)
        place = np.arange(len(inputs[0])) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.grouped(frames.repeated(lengths), inputs, pa.array(place))

    def laid_out(self, offsets: Ints, keys: Any, results: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), results)
