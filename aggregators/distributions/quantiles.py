"""Quantile and Median, exact."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ..contract.column_expressions import ColumnLike
from ..contract.numeric_columns import is_number
from ..contract.operation import AggregateOperation, State
from ..errors import ColumnError, QueryError
from ..ordered.multiset import Multiset, items
from ..states.arrays import Ints
from .interpolation import between

LARGEST = 10**9
"""The largest denominator of ``q`` as a fraction; others are rounded to the nearest such fraction."""


class Quantile(Multiset):
    """The exact quantile of a column's values; null where a window has none.

    NaN is above every other value. Of integers and decimals it is correctly rounded, however many digits they have. The
    states hold all distinct values and their counts.

    Parameters
    ----------
    column
        Numbers or durations; with ``method="discrete"`` any type that has an order.
    q
        The share, from 0 to 1, or a list of shares: the result is then a list.
    method
        ``"linear"`` interpolates at the position ``q * (n - 1)`` of the n sorted values and gives float64, as Spark's
        ``percentile``, and for durations a duration, rounded towards 0; ``"discrete"`` takes the value at the position
        ``ceil(q * n) - 1``, counted from 0, and gives the column's type (types 7 and 1 of R. Hyndman and Y. Fan,
        "Sample Quantiles in Statistical Packages", 1996).

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [10, 40, 20, 30]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(4))
    >>> query.aggregate(x=ff.Quantile("x", [0.25, 0.5]), y=ff.Quantile("x", 0.5, method="discrete"))["x"].to_pylist()
    [[17.5, 25.0]]
    """

    def __init__(
        self, column: ColumnLike, q: float | Sequence[float], *, method: Literal["linear", "discrete"] = "linear"
    ) -> None:
        super().__init__(column)
        self.several = isinstance(q, (list, tuple, np.ndarray))
        shares: list[Any] = list(q) if isinstance(q, (list, tuple, np.ndarray)) else [q]
        numbers = all(
            isinstance(each, (int, float, np.integer, np.floating, Fraction)) and not isinstance(each, bool)
            for each in shares
        )
        if not shares or not numbers or not all(0 <= each <= 1 for each in shares):
            raise QueryError(f"q= of {self!r} is {q!r}; expected a number from 0 to 1, or a list of such")
        if method not in ("linear", "discrete"):
            raise QueryError(f"method= of {self!r} is {method!r}; expected 'linear' or 'discrete'")
        self.method = method
        # the decimal number as written, not the binary fraction nearest to it: 0.07 * 100 is 7
        self.q = [Fraction(str(each)).limit_denominator(LARGEST) for each in shares]

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        if self.method == "linear" and not is_number(types[0]) and not pa.types.is_duration(types[0]):
            raise ColumnError(
                f"{self!r} needs a column of numbers (integers, floats or decimals) or durations; {self.columns[0]!r} "
                f"is {types[0]}: method='discrete' takes any type that has an order"
            )
        return super().bind(*types)

    def type_of_result(self, type: pa.DataType) -> pa.DataType:
        each = pa.float64() if self.method == "linear" and not pa.types.is_duration(type) else type
        return pa.list_(each) if self.several else each

    def finish(self, a: State) -> Any:
        lists = items(a)
        filled = np.flatnonzero(lists.lengths)
        ends = np.cumsum(lists.planes["count"])
        past = ends[lists.offsets[filled + 1] - 1]
        start = past - np.diff(past, prepend=0)
        find = self._interpolated if self.method == "linear" else self._taken
        found = [find(lists.planes["value"], ends, start, past - start, q) for q in self.q]
        values = found[0]
        if self.several:  # those of each window together
            places = np.arange(len(self.q) * len(filled)).reshape(len(self.q), -1).T.ravel()
            values = pa.concat_arrays(found).take(pa.array(places))
        if not self.several:
            source = np.zeros(len(lists), np.int64)
            source[filled] = np.arange(len(filled))
            return values.take(pa.array(source, mask=lists.lengths == 0))
        offsets = np.concatenate([[0], np.cumsum(np.where(lists.lengths > 0, len(self.q), 0))])
        mask = pa.array(lists.lengths == 0)
        return pa.ListArray.from_arrays(pa.array(offsets).cast(pa.int32()), values, type=self.result, mask=mask)

    def _taken(self, keys: Any, ends: Ints, start: Ints, count: Ints, q: Fraction) -> pa.Array:
        rank = np.maximum(-(-q.numerator * count // q.denominator) - 1, 0)
        return self.order.values(keys[np.searchsorted(ends, start + rank, side="right")])

    def _interpolated(self, keys: Any, ends: Ints, start: Ints, count: Ints, q: Fraction) -> pa.Array:
        rank, rest = np.divmod(q.numerator * (count - 1), q.denominator)
        ranks = (rank, np.minimum(rank + 1, count - 1))
        low, high = (self.order.values(keys[np.searchsorted(ends, start + each, side="right")]) for each in ranks)
        return between(low, high, rest, q.denominator)


class Median(Quantile):
    """The middle value of a column of numbers or durations; of an even number of them, the mean of the two middle ones.

    Null where a window has none; NaN is above every other value.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [10, 40, 20, 30]})
    >>> ff.events(events, time="t").window(ff.tumbling(4)).aggregate(x=ff.Median("x"))["x"].to_pylist()
    [25.0]
    """

    def __init__(self, column: ColumnLike) -> None:
        super().__init__(column, 0.5)
