"""The events with the extremes of a column: ArgMin, ArgMax, TopN, BottomN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions, StateRanges
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, State
from ..errors import QueryError
from ..ranges.codes import codes_of
from ..ranges.distinct import list_codes
from ..ranges.item_ranges import ItemRanges
from ..states.arrays import Ints
from ..states.ragged import Ragged
from .collect import lists_of, require_count
from .multiset import items, lists_of_ranges
from .pick import TIME, Pick
from .sort_keys import Order, restored, stored
from .sorted_merge import merge, rows_by_frame

__all__ = ["ArgMax", "ArgMin", "BottomN", "TopN"]


class ArgMin(AggregateOperation):
    """The value of a column at the event where another column is least; null where that one has no values.

    Of several such events the earliest is taken, of those at one time the one that came first. Events whose ``by`` is
    null are left out; the value of the one taken may be null. As ``min_by`` in Spark SQL, with NaN above every other
    value.

    Parameters
    ----------
    column
        What is returned: any type.
    by
        What is compared: any type that has an order.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "who": ["a", "b", "c"], "x": [3, 2, 2]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(who=ff.ArgMin("who", "x"))["who"].to_pylist()
    ['b']
    """

    compares = slice(1, 2)
    uses_order = True
    drops_nulls = False  # of the column; those of ``by`` are left out here
    commutative = True
    greatest: ClassVar[bool] = False

    def __init__(self, column: ColumnLike, by: ColumnLike) -> None:
        super().__init__(column, by)

    def bind(self, *types: pa.DataType) -> StateFunctions:
        by = ((Order(self, self.columns[1], types[1]), self.greatest), (TIME, False))
        return Pick(self, types[0], by, last=False)


class ArgMax(ArgMin):
    """The value of a column at the event where another column is greatest; null where that one has no values.

    Parameters and ties as for :class:`ArgMin`. As ``max_by`` in Spark SQL.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "who": ["a", "b", "c"], "x": [3, 9, 9]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(who=ff.ArgMax("who", "x"))["who"].to_pylist()
    ['b']
    """

    greatest = True


class TopN(AggregateOperation):
    """The n greatest values of a column, greatest first; an empty list where a window has none.

    Of equal values the earlier event comes first, of events at one time the one that came first. Works on all types
    that have an order; NaN is above every other value, as in Spark SQL.

    Parameters
    ----------
    column
        What is ranked. Events where it is null are left out.
    n
        The most values of a result.
    *companions
        Other columns. The result is then a list of structs of the ranked column and these, null where they are null.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3, 9, 5], "who": ["a", None, "c"]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(x=ff.TopN("x", 2), y=ff.TopN("x", 2, "who")).select(["x", "y"]).to_pylist()
    [{'x': [9, 5], 'y': [{'x': 9, 'who': None}, {'x': 5, 'who': 'c'}]}]
    """

    compares = slice(1)
    uses_order = True
    drops_nulls = False  # of the companions; those of the ranked column are left out here
    commutative = True
    greatest: ClassVar[bool] = True
    order: Order
    types: tuple[pa.DataType, ...]

    def __init__(self, column: ColumnLike, n: int, *companions: ColumnLike) -> None:
        super().__init__(column, *companions)
        self.n = require_count(self, n)
        if len(set(self.columns)) < len(self.columns):
            raise QueryError(f"{self!r} names a column twice; expected each once, as they are fields of a struct")

    def bind(self, *types: pa.DataType) -> StateFunctions:
        order = Order(self, self.columns[0], types[0])
        planes: dict[str, Any] = {"rank": order.plane, "time": "int64"}
        for i, type in enumerate(types[1:]):
            planes |= {f"value{i}": type, f"known{i}": "bool"}
        each = types[0] if len(types) == 1 else pa.struct(list(zip(self.columns, types, strict=True)))
        return self.changed(order=order, types=types, state={"items": planes}, result=pa.list_(each))

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        if frames.are_rows and not columns[0].null_count:  # each is the greatest of its frame
            return {"items": Ragged.one_each(self._planes(frames.order, columns))}
        kept = np.flatnonzero(columns[0].is_valid().to_numpy(zero_copy_only=False))
        ranked, ticks, index = columns[0].drop_null(), frames.order[kept], frames.index[kept]
        ranks = self.order.ranks(ranked)
        some = Frames(index, frames.size, ticks)
        rows = rows_by_frame(some, ~ranks if self.greatest else ranks, ticks)
        lengths = np.bincount(index, minlength=frames.size)
        rows = rows[Ragged(lengths, {}).place < self.n]
        planes = self._planes(ticks[rows], [column.take(pa.array(kept[rows])) for column in columns])
        return {"items": Ragged(np.minimum(lengths, self.n), planes)}

    def _planes(self, times: Ints, columns: Sequence[Values]) -> dict[str, Any]:
        """Items by plane: those of events at some times, with the ranked column, which has no null, and companions."""
        planes: dict[str, Any] = {"rank": self.order.keys(columns[0]), "time": times}
        for i, column in enumerate(columns[1:]):
            planes[f"value{i}"], planes[f"known{i}"] = stored(column)
        return planes

    def combine(self, a: State, b: State) -> State:
        return {"items": merge(items(a), items(b), (("rank", self.greatest), ("time", False))).head(self.n)}

    range_cost = "n"
    answers_nested = False

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        lists = items(a)
        of_items = ItemRanges(lists.offsets, ranges.low, ranges.high, ranges.ascending)
        ranks = self.order.ranks_of_keys(lists.planes["rank"][of_items.items])
        # Among equal ones the first comes first: items of one frame are in time order, and frames are.
        codes = codes_of(~ranks if self.greatest else ranks, of_items, distinct=False)
        listed = list_codes(codes, None, of_items, most=self.n)
        if listed is None:
            return None
        rows = codes.first[listed.code] + of_items.items.start
        planes = {name: plane[rows] for name, plane in lists.planes.items()}
        return {"items": lists_of_ranges(of_items, Ragged(listed.lengths, planes))}

    def finish(self, a: State) -> Any:
        planes = items(a).planes
        values = self.order.values(planes["rank"])
        if len(self.types) > 1:
            companions = [
                restored(planes[f"value{i}"], type, ~planes[f"known{i}"]) for i, type in enumerate(self.types[1:])
            ]
            values = pa.StructArray.from_arrays([values, *companions], fields=list(self.result.value_type))
        return lists_of(items(a), values, self.result)


class BottomN(TopN):
    """The n least values of a column, least first; an empty list where a window has none.

    Parameters and ties as for :class:`TopN`.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3, 9, 5]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(x=ff.BottomN("x", 2))["x"].to_pylist()
    [[3, 5]]
    """

    greatest = False
