"""Means of other kinds: GeometricMean, HarmonicMean, RootMeanSquare, WeightedAverage.

None has a deduct: two-stacks is as fast, and no rounding error depends on values outside the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats, in_pairs
from ..contract.operation import OfNumbers, OfSums, OneColumn, State
from ..states.arrays import Floats
from ..states.double_double import product
from ..states.fields import Compensated
from .scaled_means import exponent_of

__all__ = ["GeometricMean", "HarmonicMean", "RootMeanSquare", "WeightedAverage"]


class GeometricMean(OneColumn, OfSums):
    """The geometric mean of a column of numbers: the n-th root of their product.

    Null where a window has no values or a negative one; 0 where it has a zero. NaN and inf propagate as in IEEE 754
    (zero and inf together are NaN). Exponents are summed as integers and mantissas as logarithms, so that the result is
    right to a few units in the last place however large or small the values are. It slides by two-stacks.

    Parameters
    ----------
    column
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [2.0, 8.0, -1.0]})
    >>> ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(m=ff.GeometricMean("x"))["m"].to_pylist()
    [2.0, 4.0, None, None]
    """

    state = {"logs": "compensated", "exponents": "int64", "negative": "int64", "count": "int64"}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        x = floats(columns[0])
        mantissa, exponent = np.frexp(np.abs(x))
        return {
            "logs": frames.compensated_sum(np.log2(mantissa)),
            "exponents": frames.sum(exponent),
            "negative": frames.sum(x < 0),
            "count": frames.count(),
        }

    def finish(self, a: State) -> Any:
        count = np.maximum(a["count"], 1)
        whole, rest = np.divmod(a["exponents"], count)
        mean = np.ldexp(np.exp2(a["logs"].value(divisor=count) + rest / count), whole)
        return pa.array(mean, mask=(a["count"] == 0) | (a["negative"] > 0))


class HarmonicMean(OneColumn, OfSums):
    """The harmonic mean of a column of numbers: their number over the sum of their reciprocals.

    Null where a window has no values or a negative one; 0 where it has a zero. NaN where it has a NaN. It slides by
    two-stacks.

    Parameters
    ----------
    column
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1], "speed": [30.0, 60.0]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(m=ff.HarmonicMean("speed"))["m"].to_pylist()
    [40.0]
    """

    state = {"reciprocals": "compensated", "negative": "int64", "count": "int64"}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        x = floats(columns[0])
        return {
            "reciprocals": frames.compensated_sum(1 / np.abs(x)),
            "negative": frames.sum(x < 0),
            "count": frames.count(),
        }

    def finish(self, a: State) -> Any:
        count = a["count"]
        mean = 1 / a["reciprocals"].value(divisor=np.maximum(count, 1))
        return pa.array(mean, mask=(count == 0) | (a["negative"] > 0))


class RootMeanSquare(OneColumn, OfNumbers):
    """The root of the mean of the squares of a column of numbers; null where a window has none.

    Squares are summed in units of the largest, so that none of them overflows or vanishes (J. L. Blue, "A Portable
    Fortran Program to Find the Euclidean Norm of a Vector", 1978). Such sums cannot be deducted: it slides by
    two-stacks.

    Parameters
    ----------
    column
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [1e200, -7e200, 5.0, None]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(r=ff.RootMeanSquare("x"))["r"].to_pylist()
    [5e+200, 5.0]
    """

    state = {"squares": "float64", "exponent": "int64", "count": "int64"}

    def create(self) -> dict[str, Any]:
        return {"squares": 0.0, "exponent": int(exponent_of(np.zeros(1))[0]), "count": 0}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        x = floats(columns[0])
        exponent = exponent_of(frames.max(np.abs(x)))
        x = np.ldexp(x, -exponent[frames.index])
        return {"squares": frames.sum(x * x), "exponent": exponent, "count": frames.count()}

    def combine(self, a: State, b: State) -> State:
        a_exponent, b_exponent = a["exponent"], b["exponent"]
        exponent = np.maximum(a_exponent, b_exponent)
        return {
            "squares": np.ldexp(a["squares"], 2 * (a_exponent - exponent))
            + np.ldexp(b["squares"], 2 * (b_exponent - exponent)),
            "exponent": exponent,
            "count": a["count"] + b["count"],
        }

    def finish(self, a: State) -> Any:
        count = a["count"]
        root = np.sqrt(a["squares"] / np.maximum(count, 1))
        return pa.array(np.ldexp(root, a["exponent"]), mask=count == 0)


class WeightedAverage(OfSums):
    """The mean of a column of numbers, weighted by another column.

    Null where a window has no row with both, or the sum of its weights is 0. Products are pairs of floats, summed with
    compensation. NaN and inf propagate as in IEEE 754. It slides by two-stacks.

    Parameters
    ----------
    value, weight
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "price": [10.0, 20.0, 5.0], "amount": [3, 1, 0]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(2))
    >>> query.aggregate(m=ff.WeightedAverage("price", "amount"))["m"].to_pylist()
    [12.5, None]
    """

    state = {"total": "compensated", "weight": "compensated"}

    def __init__(self, value: ColumnLike, weight: ColumnLike) -> None:
        super().__init__(value, weight)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        value, weight = (_parts(column) for column in columns)
        total, *others = (_sum_of_products(frames, x, y) for x in value for y in weight)
        return {
            "total": sum(others, total),
            "weight": sum(map(frames.compensated_sum, weight[1:]), frames.compensated_sum(weight[0])),
        }

    def finish(self, a: State) -> Any:
        weight = a["weight"].value()
        size = np.where(np.isfinite(weight), np.abs(weight), np.nan)  # infinite weights: inf / inf
        mean = a["total"].value(divisor=size) * np.sign(weight)
        return pa.array(np.where(np.isfinite(weight), mean, np.nan), mask=weight == 0)


def _parts(values: Values) -> list[Floats]:
    """A column of numbers as one column of floats, or as two whose sums are integers that one cannot hold."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        pairs = in_pairs(values)
        return [pairs.high, pairs.low] if pairs.low.any() else [pairs.high]
    return [floats(values)]


def _sum_of_products(frames: Frames, x: Floats, y: Floats) -> Compensated:
    """The sums of the products of two columns, each with what rounding loses of it."""
    rounded, lost = product(x, y)
    lost[~np.isfinite(lost)] = 0.0
    return frames.compensated_sum(rounded) + frames.compensated_sum(lost)
