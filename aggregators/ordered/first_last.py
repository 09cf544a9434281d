"""The first or last value of a column by event time: First, Last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions, StateRanges
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, State
from ..states.alike import numbers
from ..states.arrays import Index, Ints
from ..states.fields import field
from .pick import TIME, Pick
from .sort_keys import Order, restored

__all__ = ["First", "Last"]


class First(AggregateOperation):
    """The value of the earliest event whose column is not null; of several at one time, the one that came first.

    Works on every type. Input order is that of the rows of a table, or of the partitions and their rows on Spark.

    Parameters
    ----------
    column
        Any type.
    ties
        A column that says which of several events at one time is the first: the one where it is least. Any type that
        has an order, NaN above all others; events where it is null are left out. Where it ties too, input order
        decides.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [7, 3, 3, 1], "x": ["d", "b", "c", None], "id": [9, 8, 7, 6]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(10))
    >>> query.aggregate(x=ff.First("x"), y=ff.First("x", ties="id")).select(["x", "y"]).to_pylist()
    [{'x': 'b', 'y': 'c'}]
    """

    compares = slice(1, 2)
    uses_order = True
    commutative = True  # states carry their time, and merging keeps input order among equal times
    earliest: ClassVar[bool] = True
    picks: Literal["first", "last"] | None = "first"

    def __init__(self, column: ColumnLike, *, ties: ColumnLike | None = None) -> None:
        super().__init__(column, *() if ties is None else (ties,))

    def bind(self, *types: pa.DataType) -> StateFunctions:
        if len(types) == 1:
            return self.changed(result=types[0], state={"time": "int64", "value": types[0], "seen": "bool"})
        latest = not self.earliest
        by = ((TIME, latest), (Order(self, self.columns[1], types[1]), latest))
        return Pick(self, types[0], by, last=latest)

    def create(self) -> Mapping[str, Any]:
        neutral = None if field(self.result).full(None, 0).dtype == object else 0  # type: ignore[union-attr]
        return {"time": 0, "value": neutral, "seen": False}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        time, value = frames.order, columns[0]
        if not frames.are_rows:
            rows = frames.first_row if self.earliest else frames.last_row
            time, value = time[rows], (frames.first if self.earliest else frames.last)(value)
        return {"time": time, "value": value, "seen": np.ones(frames.size, bool)}

    def combine(self, a: State, b: State) -> State:
        a_time, b_time = a["time"], b["time"]
        a_seen, b_seen = a["seen"], b["seen"]
        if self.earliest:
            keep = a_seen & (~b_seen | (a_time <= b_time))
        else:
            keep = a_seen & (~b_seen | (a_time > b_time))
        value = np.where(keep, a["value"], b["value"])
        return {"time": np.where(keep, a_time, b_time), "value": value, "seen": a_seen | b_seen}

    def finish(self, a: State) -> Any:
        seen = a["seen"]
        return restored(a["value"], self.result, None if seen.all() else ~seen)

    range_cost = "constant"

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        low, high = ranges.low, ranges.high
        seen = numbers(len(a["seen"])) if a["seen"].all() else np.flatnonzero(a["seen"])
        if not len(seen) or not ascends_in_ranges(a["time"], ranges, seen):
            return None
        if len(seen) == len(a["seen"]):
            rows, found = (low if self.earliest else high - 1), high > low
        else:
            before = np.concatenate([[0], np.cumsum(a["seen"])])
            places = before[low] if self.earliest else before[high] - 1
            rows = seen[np.clip(places, 0, len(seen) - 1)]
            found = (rows >= low) & (rows < high)
        rows = rows if found.all() else np.where(found, rows, 0)
        unused = np.empty(len(rows), np.int64)  # results do not have the times
        return {"time": unused, "value": a["value"][rows], "seen": found}


def ascends_in_ranges(times: Ints, ranges: StateRanges, rows: Index) -> bool:
    """Whether no time of some rows is below the one before it in a range."""
    own = times if len(rows) == len(times) else times[rows]
    later = np.flatnonzero(own[1:] < own[:-1]) + 1
    before, after = rows[later - 1], rows[later]
    if ranges.ascending:  # of the ranges that go beyond a row, the first one begins first
        first = np.searchsorted(ranges.high, after, side="right")
        low = np.append(ranges.low, np.iinfo(np.int64).max)[first]
        return not (low <= before).any()
    ends = np.searchsorted(before, ranges.low), np.searchsorted(after, ranges.high)
    return not (ends[1] > ends[0]).any()


class Last(First):
    """The value of the latest event whose column is not null; of several at one time, the one that came last.

    Parameters
    ----------
    column
        Any type.
    ties
        A column that says which of several events at one time is the last: the one where it is greatest. As for
        :class:`First`.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [7, 3, 3, 1], "x": ["d", "b", "c", None]})
    >>> ff.events(events, time="t").window(ff.tumbling(5)).aggregate(x=ff.Last("x"))["x"].to_pylist()
    ['c', 'd']
    """

    earliest = False
    picks = "last"
