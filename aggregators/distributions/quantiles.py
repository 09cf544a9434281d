"""Exact quantiles: Quantile, Median."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from .. import loops
from ..contract.aggregate import StateFunctions, StateRanges
from ..contract.column_expressions import ColumnLike
from ..contract.numeric_columns import is_decimal, is_number
from ..contract.operation import State
from ..errors import ColumnError, QueryError
from ..ordered.multiset import Multiset, items
from ..ranges.codes import Int32s
from ..ranges.order_statistics import select
from ..states.alike import are_numbers
from ..states.arrays import Ints
from ..states.large import list_offsets
from ..states.limbs import Exact

__all__ = ["Median", "Quantile"]

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

    range_cost = "constant"
    result_parameters: ClassVar[Collection[str]] = ("q", "several")

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

    def bind(self, *types: pa.DataType) -> StateFunctions:
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
        found = []
        for q in self.q:
            rank, rest = self._rank(past - start, q)
            ranks = [rank] if self.method == "discrete" else [rank, np.minimum(rank + 1, past - start - 1)]
            keys = [lists.planes["value"][np.searchsorted(ends, start + each, side="right")] for each in ranks]
            values = self.order.values(np.concatenate(keys))
            if len(keys) > 1:
                low, high = np.arange(2 * len(rank), dtype=np.int32).reshape(2, -1)
                values = between(values, low, high, rest, q.denominator)
            found.append(values)
        places = np.full(len(lists), -1)
        places[filled] = np.arange(len(filled))
        return self._column(found, places)

    def _column(self, found: Sequence[pa.Array], places: Ints) -> pa.Array:
        """The results, of the quantiles of the windows with a value and the place of each window there, -1 for none."""
        none = places < 0
        if not self.several:
            some = found[0]
            return some if are_numbers(places) else some.take(pa.array(places, mask=none))
        source = (np.arange(len(found)) * len(found[0]) + places[~none][:, None]).ravel()  # those of a window together
        values = pa.concat_arrays(found).take(pa.array(source))
        offsets = np.concatenate([[0], np.cumsum(np.where(none, 0, len(found)))])
        return pa.ListArray.from_arrays(list_offsets(offsets), values, type=self.result, mask=pa.array(none))

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        keys, codes, weights, of_items = self.ranged(a, ranges)
        count, values = of_items.sums(weights), self.order.values(keys)
        found = []
        for q in self.q:
            rank, rest = self._rank(count, q)
            low, high = select(codes, weights, of_items, rank)
            if self.method == "discrete":
                found.append(values.take(pa.array(low)))
            else:
                found.append(between(values, low, high, rest, q.denominator))
        if not self.several and of_items.whole:
            return found[0]
        return self._column(found, of_items.places)

    def _rank(self, count: Ints, q: Fraction) -> tuple[Ints, Ints]:
        """The place of the quantile, or of the value before it, among sorted values, from 0; what is left of it."""
        if self.method == "linear":
            place = q.numerator * (count - 1)
            rank = place // q.denominator  # which numpy does in much less time than divmod
            return rank, place - rank * q.denominator
        rank = np.maximum(-(-q.numerator * count // q.denominator) - 1, 0)
        return rank, np.zeros_like(rank)


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


def between(values: pa.Array, low: Int32s, high: Int32s, rest: Ints, denominator: int) -> pa.Array:
    """The values ``rest / denominator`` of the way from those at ``low`` to those at ``high``, as float64.

    Of durations, they are durations of the same unit, rounded towards 0, as those of Spark, pandas and Polars are.

    Parameters
    ----------
    values
        A column of numbers or of durations, without nulls.
    low, high
        Rows of it.
    rest, denominator
        Shares: integers from 0 to below the denominator, which is 10**9 at most.

    Examples
    --------
    >>> zero, one = np.array([0], np.int32), np.array([1], np.int32)
    >>> between(pa.array([2**53 + 1, 2**53 + 2]), zero, one, np.array([1]), 2).to_pylist()
    [9007199254740994.0]
    """
    if pa.types.is_floating(values.type):
        found = np.empty(len(low))
        given = values.to_numpy().astype(np.float64, copy=False)
        loops.interpolate(given, low, high, np.ascontiguousarray(rest), denominator, found)
        return pa.array(found)
    x, y = (_exact(values.take(pa.array(rows))) for rows in (low, high))
    weighted = Exact([a * (denominator - rest) + b * rest for a, b in zip(x.limbs, y.limbs, strict=True)])
    if pa.types.is_duration(values.type):
        return pa.array(weighted.divided(np.full(len(low), denominator), truncated=True).int64()[0]).view(values.type)
    scale = values.type.scale if is_decimal(values.type) else 0
    return pa.array(weighted.quotients(denominator * 10 ** max(scale, 0)) * 10.0 ** max(-scale, 0))


def _exact(values: pa.Array) -> Exact:
    """Integers, the unscaled integers of decimals, or the ticks of durations."""
    if is_decimal(values.type):
        return Exact.of_decimals(values.cast(pa.decimal128(values.type.precision, values.type.scale)))
    return Exact.of((values.view(pa.int64()) if pa.types.is_duration(values.type) else values).to_numpy()).carried()
