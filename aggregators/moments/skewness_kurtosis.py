"""The third or fourth central moment: Skewness, Kurtosis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats
from ..contract.operation import OfNumbers, OneColumn, State
from ..errors import QueryError
from ..states.arrays import Bools, Floats
from .scaled_means import NO_EXPONENT, Centre

__all__ = ["Kurtosis", "Skewness"]


class CentralPowers(OneColumn, OfNumbers):
    """The sums of powers of a column's deviations from its mean, combined pairwise.

    P. Pébay, "Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical
    Moments", 2008. There is no deduct, which would leave rounding errors behind: they slide by two-stacks.
    """

    state = {
        "count": "int64",
        "mean": "float64",
        "low": "float64",
        "exponent": "int64",
        "squares": "float64",
        "cubes": "float64",
    }

    def create(self) -> Mapping[str, Any]:
        return {**super().create(), "exponent": NO_EXPONENT}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        centre, deviation = Centre.of(frames, floats(columns[0]))
        squared = deviation * deviation
        powers = {"squares": frames.sum(squared), "cubes": frames.sum(squared * deviation)}
        if "fourths" in self.state:
            powers["fourths"] = frames.sum(squared * squared)
        return {**centre.fields(), **powers}

    def combine(self, a: State, b: State) -> State:
        joined = Centre.read(a).join(Centre.read(b))
        delta, p, q = joined.delta, 1 - joined.share, joined.share

        def scaled(field: str, power: int) -> tuple[Floats, Floats]:
            """A field of both states, in the joined unit."""
            shifts = (a, joined.a_shift), (b, joined.b_shift)
            left, right = (np.ldexp(state[field], power * shift) for state, shift in shifts)
            return left, right

        (a_squares, b_squares), (a_cubes, b_cubes) = scaled("squares", 2), scaled("cubes", 3)
        between = delta * delta * (joined.centre.count * p * q)
        powers = {
            "squares": a_squares + b_squares + between,
            "cubes": a_cubes + b_cubes + delta * (between * (p - q) + 3 * (p * b_squares - q * a_squares)),
        }
        if "fourths" in self.state:
            a_fourths, b_fourths = scaled("fourths", 4)
            mixed = between * (1 - 3 * p * q) + 6 * (p * p * b_squares + q * q * a_squares)
            powers["fourths"] = a_fourths + b_fourths + delta * (delta * mixed + 4 * (p * b_cubes - q * a_cubes))
        return {**joined.centre.fields(), **powers}


class Standardized(CentralPowers):
    """A moment of the population, or as a sample of it estimates it."""

    least: ClassVar[int]
    """The fewest values of which a sample estimates it."""

    def __init__(self, column: ColumnLike, *, bias: bool = True) -> None:
        super().__init__(column)
        if not isinstance(bias, bool):
            raise QueryError(f"bias= of {self!r} is {bias!r}; expected True or False")
        self.bias = bias

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}{'' if getattr(self, 'bias', True) else ', bias=False'})"

    def undefined(self, a: State) -> Bools:
        """Where the result is null."""
        undefined: Bools = a["squares"] == 0
        return undefined if self.bias else undefined | (a["count"] < self.least)


class Skewness(Standardized):
    """The skewness of a column of numbers: the third central moment over the 3/2th power of the second.

    Of the population, as Spark's ``skewness``. Null where a window has no values or all of them are equal; NaN where
    it has a NaN or an infinite value. Deviations from the mean are combined pairwise (P. Pébay, 2008); it slides by
    two-stacks.

    Parameters
    ----------
    column
        Integers, floats or decimals.
    bias
        False for the estimate from a sample, as pandas' ``skew`` and scipy's ``skew(bias=False)`` give it: times
        ``sqrt(n (n - 1)) / (n - 2)``, null with fewer than 3 values.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [1e9, 1e9, 1e9, 1e9 + 0.5]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(2))
    >>> query.aggregate(skewness=ff.Skewness("x"))["skewness"].to_pylist()
    [None, 0.0]
    """

    least = 3

    def finish(self, a: State) -> Any:
        count, squares = a["count"], a["squares"]
        skewness = a["cubes"] / squares * np.sqrt(count / squares)
        if not self.bias:
            n = count.astype(np.float64)
            skewness = skewness * np.sqrt(n * (n - 1)) / (n - 2)
        return pa.array(skewness, mask=self.undefined(a))


class Kurtosis(Standardized):
    """The excess kurtosis of a column of numbers: the fourth central moment over the square of the second, less 3.

    Of the population, as Spark's ``kurtosis``; never below -2. Null where a window has no values or all of them are
    equal; NaN where it has a NaN or an infinite value. Combined pairwise as :class:`Skewness` is.

    Parameters
    ----------
    column
        Integers, floats or decimals.
    bias
        False for the estimate from a sample, as pandas' ``kurt`` and scipy's ``kurtosis(bias=False)`` give it:
        ``(n - 1) ((n + 1) k + 6) / ((n - 2) (n - 3))`` of the population's ``k``, null with fewer than 4 values.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [1, 1, 1, 5]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(4))
    >>> [round(kurtosis, 6) for kurtosis in query.aggregate(k=ff.Kurtosis("x"))["k"].to_pylist()]
    [-0.666667]
    """

    least = 4
    state = {**CentralPowers.state, "fourths": "float64"}

    def finish(self, a: State) -> Any:
        count, squares = a["count"], a["squares"]
        kurtosis = np.maximum(count * (a["fourths"] / squares / squares), 1.0) - 3.0  # at least 1 (Cauchy and Schwarz)
        if not self.bias:
            n = count.astype(np.float64)
            kurtosis = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * kurtosis + 6)
        return pa.array(kurtosis, mask=self.undefined(a))
