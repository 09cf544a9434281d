"""Histogram: counts of values, or of bins."""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.aggregate import StateFunctions, StateRanges, TypedOperation
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats, is_number
from ..contract.operation import State
from ..errors import ColumnError, QueryError
from ..ordered.multiset import Multiset, items
from ..states.arrays import Ints
from ..states.large import list_offsets
from ..states.ragged import Ragged

__all__ = ["Histogram"]

KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "numbers": is_number,
    "dates, such as datetime.date(2024, 1, 31)": pa.types.is_date,
    "datetimes, such as datetime.datetime(2024, 1, 31, 12)": pa.types.is_timestamp,
    "durations, such as datetime.timedelta(hours=1)": pa.types.is_duration,
}
"""The kinds of bin edges in words, each with the test of a column's type."""


class Histogram(Multiset):
    """The counts of a column's values: a map from value to count, ascending by value, or a list of counts of bins.

    Parameters
    ----------
    column
        Any type that has an order (NaN is one value, above all others); with bins numbers, dates, timestamps or
        durations.
    bins
        The edges of bins, ascending, of the column's own kind: numbers, ``datetime.date``, ``datetime.datetime`` (with
        a time zone where the column has one) or ``datetime.timedelta``. The result is then a list with one count for
        each bin; a bin includes its left edge, the last one its right edge too, as in ``numpy.histogram``. Values
        outside are not counted.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [5, 7, 5]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(x=ff.Histogram("x"), y=ff.Histogram("x", bins=[0, 6, 7, 9])).select(["x", "y"]).to_pylist()
    [{'x': [(5, 2), (7, 1)], 'y': [2, 0, 1]}]
    """

    range_cost = "its output"
    answers_nested = False

    def __init__(self, column: ColumnLike, bins: Sequence[Any] | None = None) -> None:
        super().__init__(column)
        self.bins: list[Any] | None = None
        if bins is None:
            return
        try:
            self.bins = list(bins)
            ascending = len(self.bins) > 1 and all(a < b for a, b in itertools.pairwise(self.bins))
        except TypeError:
            ascending = False
        if not ascending:
            raise QueryError(f"bins= of {self!r} is {bins!r}; expected two or more edges, ascending")

    def bind(self, *types: pa.DataType) -> StateFunctions:
        return super().bind(*types) if self.bins is None else BinnedHistogram(self, types[0])

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        return pa.map_(type, pa.int64())

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        return self.listed(a, ranges)

    def finish(self, a: State) -> Any:
        lists = items(a)
        offsets = list_offsets(lists.offsets)
        values, counts = self.order.values(lists.planes["value"]), pa.array(lists.planes["count"])
        return pa.MapArray.from_arrays(offsets, values, counts)


class BinnedHistogram(TypedOperation):
    """Counts of bins: a list of one count per bin for each state; the identity is an empty list."""

    state = {"bins": {"count": "int64"}}
    result = pa.list_(pa.int64())
    commutative = True
    exact_deduct = True  # counts are integers, and a running state is no larger than others

    def __init__(self, spec: Histogram, type: pa.DataType) -> None:
        super().__init__(spec)
        self.edges = edges_of(spec, type)
        self.size = len(self.edges) - 1

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        values = columns[0] if isinstance(columns[0], np.ndarray) else floats(columns[0])
        number = np.searchsorted(self.edges, values, side="right") - 1
        number[values == self.edges[-1]] = self.size - 1
        inside = (number >= 0) & (number < self.size)
        packed = frames.index[inside] * self.size + number[inside]
        return self._state(np.bincount(packed, minlength=frames.size * self.size).reshape(-1, self.size))

    def combine(self, a: State, b: State) -> State:
        return self._state(self._counts(a) + self._counts(b))

    def deduct(self, a: State, b: State) -> State:
        return self._state(self._counts(a) - self._counts(b))

    def finish(self, a: State) -> Any:
        counts = self._counts(a)
        offsets = np.arange(len(counts) + 1) * self.size
        return pa.ListArray.from_arrays(list_offsets(offsets), pa.array(counts.ravel()))

    def _counts(self, a: State) -> Ints:
        """The counts of states, shape (states, bins)."""
        lists: Ragged = a["bins"]
        count: Ints = lists.planes["count"]
        filled = lists.lengths > 0
        if filled.all():
            return count.reshape(-1, self.size)
        counts = np.zeros((len(lists), self.size), np.int64)
        counts[filled] = count.reshape(-1, self.size)
        return counts

    def _state(self, counts: Ints) -> State:
        return {"bins": Ragged(np.full(len(counts), self.size), {"count": counts.ravel()})}


def edges_of(spec: Histogram, type: pa.DataType) -> NDArray[Any]:
    """The edges of bins, comparable with the values of a column of a type."""
    column, bins = spec.columns[0], cast("list[Any]", spec.bins)
    words, is_kind = next((item for item in KINDS.items() if item[1](type)), ("", is_number))
    if not words:
        raise ColumnError(
            f"{spec!r} needs a column of numbers, dates, timestamps or durations for its bins; {column!r} is {type}"
        )
    try:
        if is_number(type):
            return _numbers(bins, type)
        edges = pa.array(np.array(bins) if isinstance(bins[0], np.generic) else bins)
    except (pa.ArrowException, TypeError, ValueError):  # of another kind, or of several
        edges = None
    if edges is None or not is_kind(edges.type):
        raise QueryError(f"bins= of {spec!r} is {bins!r}; expected {words}, as {column!r} is {type}")
    if pa.types.is_timestamp(type) and (edges.type.tz is None) != (type.tz is None):
        zone = "without a time zone" if type.tz is None else "with a time zone"
        raise QueryError(f"bins= of {spec!r} is {bins!r}; expected datetimes {zone}, as {column!r} is {type}")
    try:
        return cast("NDArray[Any]", edges.cast(type).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid as error:
        raise QueryError(f"bins= of {spec!r} is {bins!r}; expected edges that {type} can hold") from error


def _numbers(bins: list[Any], type: pa.DataType) -> NDArray[Any]:
    """Numbers as edges: integers for a column of integers, so that none of them is rounded."""
    if any(isinstance(edge, bool) or not isinstance(edge, (int, float, decimal.Decimal, np.number)) for edge in bins):
        raise TypeError(f"{bins!r} are not numbers")
    if pa.types.is_integer(type) and all(isinstance(edge, (int, np.integer)) for edge in bins):
        for dtype in (np.uint64, np.int64) if type == pa.uint64() else (np.int64,):
            with suppress(OverflowError):
                return np.array([int(edge) for edge in bins], dtype)
    return np.array(bins, np.float64)
