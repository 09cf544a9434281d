"""Variance and StdDev."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .compensated import two_sum
from .errors import QueryError
from .frames import Frames, Values
from .operation import AggregateOperation, State
from .sums import Floats, Ints, floats, require_numbers


class Variance(AggregateOperation):
    """The variance of a column of numbers; null where a window has not more than ``ddof`` of them.

    States are count, mean (with what rounding lost of it) and the sum of squared deviations, combined pairwise (T.
    Chan, G. Golub and R. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances",
    1979); it is never negative. NaN where a window has a NaN or an infinite value.

    Parameters
    ----------
    column
        Integers, floats or decimals.
    ddof
        What is taken off the count in the divisor: 1 for the sample variance, 0 for the population's.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [1e9 + 1, 1e9 + 2, 1e9 + 3]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(v=ff.Variance("x"))["v"].to_pylist()
    [1.0]
    """

    state = {"count": "int64", "mean": "float64", "mean_low": "float64", "squares": "float64"}
    result = pa.float64()
    commutative = True

    def __init__(self, column: str, *, ddof: int = 1) -> None:
        super().__init__(column)
        if not isinstance(ddof, int) or ddof < 0:
            raise QueryError(f"ddof= of {self!r} is {ddof!r}; expected an integer of 0 or more")
        self.ddof = ddof

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        require_numbers(self, types[0])
        return self

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        x = floats(columns[0])
        count = frames.count()
        mean = frames.compensated_sum(x).value(divisor=count)
        deviation = x - mean[frames.index]
        low = frames.sum(deviation) / count
        squares = frames.sum(deviation * deviation)
        squares = np.where(np.isinf(squares), np.inf, np.maximum(squares - count * low * low, 0.0))
        return {"count": count, "mean": mean, "mean_low": np.where(np.isfinite(low), low, 0.0), "squares": squares}

    def combine(self, a: State, b: State) -> State:
        a_count, a_mean, a_low, a_squares = columns_of(a)
        b_count, b_mean, b_low, b_squares = columns_of(b)
        count = a_count + b_count
        share = b_count / np.maximum(count, 1)
        apart = b_mean - a_mean
        delta = apart + (b_low - a_low)
        mean, lost = two_sum(a_mean, apart * share)
        low = a_low + (lost + (b_low - a_low) * share)
        overflow = ~np.isfinite(mean) & np.isfinite(a_mean) & np.isfinite(b_mean)
        if overflow.any():
            mean = np.where(overflow, a_mean * (1 - share) + b_mean * share, mean)
        low = np.where(np.isfinite(low), low, 0.0)
        between = np.where((a_count > 0) & (b_count > 0), delta * delta * (a_count * share), 0.0)
        return {"count": count, "mean": mean, "mean_low": low, "squares": a_squares + b_squares + between}

    def variance(self, a: State) -> tuple[Floats, NDArray[np.bool_]]:
        """The variances, and where they are undefined."""
        count = cast(Ints, a["count"])
        return cast(Floats, a["squares"]) / np.maximum(count - self.ddof, 1), count <= self.ddof

    def finish(self, a: State) -> Any:
        values, undefined = self.variance(a)
        return pa.array(values, mask=undefined)


class StdDev(Variance):
    """The standard deviation of a column of numbers: the square root of its :class:`Variance`.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1], "x": [1.0, 3.0]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(s=ff.StdDev("x", ddof=0))["s"].to_pylist()
    [1.0]
    """

    def finish(self, a: State) -> Any:
        values, undefined = self.variance(a)
        return pa.array(np.sqrt(values), mask=undefined)


def columns_of(a: State) -> tuple[Ints, Floats, Floats, Floats]:
    """The fields of states of variance."""
    fields: Mapping[str, Any] = a
    return fields["count"], fields["mean"], fields["mean_low"], fields["squares"]
