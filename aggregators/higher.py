"""Skewness and Kurtosis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa

from .centred import LEAST, Centre, Floats, Ints
from .frames import Frames, Values
from .operation import AggregateOperation, State
from .sums import floats, require_numbers


class Skewness(AggregateOperation):
    """The skewness of a column of numbers: the third central moment over the 3/2th power of the second.

    Of the population, as Spark's ``skewness``. Null where a window has no values or all of them are equal; NaN where
    it has a NaN or an infinite value. States are count, mean and the sums of powers of deviations, combined pairwise
    (P. Pébay, "Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical
    Moments", 2008). There is no deduct, which would leave rounding errors behind: it slides by two-stacks.

    Parameters
    ----------
    column
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [1e9, 1e9, 1e9, 1e9 + 0.5]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(2))
    >>> query.aggregate(skewness=ff.Skewness("x"))["skewness"].to_pylist()
    [None, 0.0]
    """

    state = {
        "count": "int64",
        "mean": "float64",
        "low": "float64",
        "exponent": "int64",
        "squares": "float64",
        "cubes": "float64",
    }
    result = pa.float64()
    commutative = True

    def __init__(self, column: str) -> None:
        super().__init__(column)

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        require_numbers(self, types[0])
        return self

    def create(self) -> Mapping[str, Any]:
        return {**super().create(), "exponent": LEAST}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        centre, deviation = Centre.of(frames, floats(columns[0]))
        squared = deviation * deviation
        return {**centre.fields(), "squares": frames.sum(squared), "cubes": frames.sum(squared * deviation)}

    def combine(self, a: State, b: State) -> State:
        joined = Centre.read(a).join(Centre.read(b))
        delta, p, q = joined.delta, 1 - joined.share, joined.share
        a_squares, b_squares = scaled(a, "squares", 2 * joined.a_shift), scaled(b, "squares", 2 * joined.b_shift)
        between = delta * delta * (joined.centre.count * p * q)
        cubes = scaled(a, "cubes", 3 * joined.a_shift) + scaled(b, "cubes", 3 * joined.b_shift)
        return {
            **joined.centre.fields(),
            "squares": a_squares + b_squares + between,
            "cubes": cubes + delta * (between * (p - q) + 3 * (p * b_squares - q * a_squares)),
        }

    def finish(self, a: State) -> Any:
        count, squares = cast(Ints, a["count"]), cast(Floats, a["squares"])
        return pa.array(cast(Floats, a["cubes"]) / squares * np.sqrt(count / squares), mask=squares == 0)


class Kurtosis(Skewness):
    """The excess kurtosis of a column of numbers: the fourth central moment over the square of the second, less 3.

    Of the population, as Spark's ``kurtosis``; never below -2. Null where a window has no values or all of them are
    equal; NaN where it has a NaN or an infinite value. Combined pairwise as :class:`Skewness` is.

    Parameters
    ----------
    column
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [1, 1, 1, 5]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(4))
    >>> [round(kurtosis, 6) for kurtosis in query.aggregate(k=ff.Kurtosis("x"))["k"].to_pylist()]
    [-0.666667]
    """

    state = {**Skewness.state, "fourths": "float64"}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        centre, deviation = Centre.of(frames, floats(columns[0]))
        squared = deviation * deviation
        return {
            **centre.fields(),
            "squares": frames.sum(squared),
            "cubes": frames.sum(squared * deviation),
            "fourths": frames.sum(squared * squared),
        }

    def combine(self, a: State, b: State) -> State:
        joined = Centre.read(a).join(Centre.read(b))
        delta, p, q = joined.delta, 1 - joined.share, joined.share
        a_squares, b_squares = scaled(a, "squares", 2 * joined.a_shift), scaled(b, "squares", 2 * joined.b_shift)
        a_cubes, b_cubes = scaled(a, "cubes", 3 * joined.a_shift), scaled(b, "cubes", 3 * joined.b_shift)
        fourths = scaled(a, "fourths", 4 * joined.a_shift) + scaled(b, "fourths", 4 * joined.b_shift)
        between = delta * delta * (joined.centre.count * p * q)
        mixed = between * (1 - 3 * p * q) + 6 * (p * p * b_squares + q * q * a_squares)
        return {
            **joined.centre.fields(),
            "squares": a_squares + b_squares + between,
            "cubes": a_cubes + b_cubes + delta * (between * (p - q) + 3 * (p * b_squares - q * a_squares)),
            "fourths": fourths + delta * (delta * mixed + 4 * (p * b_cubes - q * a_cubes)),
        }

    def finish(self, a: State) -> Any:
        count, squares = cast(Ints, a["count"]), cast(Floats, a["squares"])
        kurtosis = count * (cast(Floats, a["fourths"]) / squares / squares)
        return pa.array(np.maximum(kurtosis, 1.0) - 3.0, mask=squares == 0)  # at least 1 (Cauchy and Schwarz)


def scaled(a: State, field: str, shift: Ints) -> Floats:
    """A field of states times a power of 2."""
    return cast(Floats, np.ldexp(cast(Floats, a[field]), shift))
