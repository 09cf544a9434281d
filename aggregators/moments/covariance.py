"""Aggregates of pairs of columns: Covariance, Correlation, LinearTrend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions, StateRanges
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats, is_number
from ..contract.operation import OfNumbers, State
from ..errors import ColumnError, QueryError
from .scaled_means import NO_EXPONENT, Centre
from .sliding_pairs import of_ranges

__all__ = ["Correlation", "Covariance", "LinearTrend"]


class Paired(OfNumbers):
    """The sums of squares and products of two columns' deviations from their means, combined pairwise.

    T. Chan, G. Golub and R. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979,
    and P. Pébay, "Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical
    Moments", 2008. Windows that move forward slide by running sums, see
    :mod:`framefold.aggregators.moments.sliding_pairs`; there is no deduct, so others slide by two-stacks.
    """

    state = {
        "count": "int64",
        **{f"{axis}_{name}": "float64" for axis in "xy" for name in ("mean", "low")},
        **{f"{axis}_exponent": "int64" for axis in "xy"},
        "xx": "float64",
        "yy": "float64",
        "xy": "float64",
    }

    by_joining = False
    needs_means = False
    """Whether results are made of means, too, and not of deviations alone."""
    range_cost = "constant"
    answers_nested = False

    def __init__(self, x: ColumnLike, y: ColumnLike) -> None:
        super().__init__(x, y)

    def has(self, method: str) -> bool:
        return not (self.by_joining and method == "finish_ranges") and super().has(method)

    def finish(self, a: State) -> Any:
        return self.result_of(a)

    def result_of(self, a: State) -> Any:
        """The results of states."""
        raise AssertionError("written by every kind")

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        if (found := of_ranges(a, ranges, means=self.needs_means)) is None:
            return None
        states, rows = found
        if len(rows):
            joined = ranges.finish_others(JOINED, a, ranges.low[rows], ranges.high[rows])
            for name, column in zip(self.state, joined.flatten(), strict=True):
                if name in states and name != "count":
                    states[name][rows] = column.to_numpy()
        return self.result_of(states)

    def create(self) -> Mapping[str, Any]:
        return {**super().create(), "x_exponent": NO_EXPONENT, "y_exponent": NO_EXPONENT}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        (x, of_x), (y, of_y) = (Centre.of(frames, floats(column)) for column in columns)
        return {
            **x.fields("x_"),
            **y.fields("y_"),
            "xx": frames.sum(of_x * of_x),
            "yy": frames.sum(of_y * of_y),
            "xy": frames.sum(of_x * of_y),
        }

    def combine(self, a: State, b: State) -> State:
        x, y = (Centre.read(a, axis).join(Centre.read(b, axis)) for axis in ("x_", "y_"))
        weight = x.centre.count * (1 - x.share) * x.share
        products = {"xx": (x, x), "yy": (y, y), "xy": (x, y)}
        return {
            **x.centre.fields("x_"),
            **y.centre.fields("y_"),
            **{
                name: np.ldexp(a[name], one.a_shift + other.a_shift)
                + np.ldexp(b[name], one.b_shift + other.b_shift)
                + one.delta * other.delta * weight
                for name, (one, other) in products.items()
            },
        }


class States(Paired):
    """The states themselves, joined."""

    by_joining = True
    result = pa.struct([(name, pa.type_for_alias(kind)) for name, kind in Paired.state.items()])

    def result_of(self, a: State) -> Any:
        return pa.StructArray.from_arrays([pa.array(a[name]) for name in self.state], fields=list(self.result))


JOINED = BoundAggregate("joined", States("x", "y"), [pa.float64(), pa.float64()])


class Covariance(Paired):
    """The covariance of two columns of numbers; null where a window has not more than ``ddof`` pairs.

    Rows with a null in either column are left out. As Spark's ``covar_samp``, and ``covar_pop`` for ``ddof=0``.
    NaN where a window has a NaN or an infinite value.

    Parameters
    ----------
    x, y
        Integers, floats or decimals.
    ddof
        What is subtracted from the count in the divisor: 1 for the sample covariance, 0 for the population's.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [1.0, 2.0, 3.0], "y": [1e9, 1e9 + 2, 1e9 + 4]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(c=ff.Covariance("x", "y"))["c"].to_pylist()
    [2.0]
    """

    result_parameters = ("ddof",)

    def __init__(self, x: ColumnLike, y: ColumnLike, *, ddof: int = 1) -> None:
        super().__init__(x, y)
        if not isinstance(ddof, int) or isinstance(ddof, bool) or ddof < 0:
            raise QueryError(f"ddof= of {self!r} is {ddof!r}; expected an integer of 0 or more")
        self.ddof = ddof

    def result_of(self, a: State) -> Any:
        count = a["count"]
        covariance = a["xy"] / np.maximum(count - self.ddof, 1)
        unit = a["x_exponent"] + a["y_exponent"] + 2  # 2: both columns were halved
        return pa.array(np.ldexp(covariance, unit), mask=count <= self.ddof)


class Correlation(Paired):
    """Pearson's correlation of two columns of numbers, from -1 to 1; null where one of them does not vary.

    Rows with a null in either column are left out, so a window with fewer than two pairs has none. As Spark's
    ``corr``. NaN where a window has a NaN or an infinite value.

    Parameters
    ----------
    x, y
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [1, 2, 3, 3], "y": [1e9, 1e9 - 1, 1e9 - 2, 7.0]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(r=ff.Correlation("x", "y"))["r"].to_pylist()
    [-1.0, None]
    """

    def result_of(self, a: State) -> Any:
        xx, yy = a["xx"], a["yy"]
        correlation = a["xy"] / np.sqrt(xx * yy)
        return pa.array(np.clip(correlation, -1.0, 1.0), mask=(xx == 0) | (yy == 0))


class LinearTrend(Paired):
    """The straight line through a window's points by least squares: a struct of ``slope`` and ``intercept``.

    ``y`` is regressed on ``x``, as Spark's ``regr_slope(y, x)`` and ``regr_intercept(y, x)`` do. Null where the window
    has fewer than two different ``x``; both fields are NaN where it has a NaN or an infinite value. Rows with a null
    in either column are left out.

    Parameters
    ----------
    x
        Integers, floats or decimals; or timestamps, which count as seconds since 1970-01-01 UTC, dates, which count as
        days since then, or durations, which count as seconds.
    y
        Integers, floats or decimals.

    Examples
    --------
    >>> import datetime, pyarrow as pa, framefold as ff
    >>> day = datetime.datetime(1970, 1, 1)
    >>> times = [day + datetime.timedelta(minutes=minute) for minute in (0, 1, 2)]
    >>> events = pa.table({"t": times, "level": [3.0, 33.0, 63.0]})
    >>> query = ff.events(events, time="t").window(ff.tumbling("2 minutes"))
    >>> query.aggregate(trend=ff.LinearTrend("t", "level"))["trend"].to_pylist()
    [{'slope': 0.5, 'intercept': 3.0}, None]
    """

    result = pa.struct([("slope", pa.float64()), ("intercept", pa.float64())])
    needs_means = True
    ticks = 1
    """The ticks of the ``x`` column in its unit of 1."""

    def bind(self, *types: pa.DataType) -> StateFunctions:
        x, y = self.columns
        ticks = 1
        if pa.types.is_timestamp(types[0]) or pa.types.is_duration(types[0]):
            ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[types[0].unit]
        elif pa.types.is_date64(types[0]):
            ticks = 86_400_000
        elif not is_number(types[0]) and not pa.types.is_date(types[0]):
            raise ColumnError(f"{self!r} needs numbers, timestamps, dates or durations as x; {x!r} is {types[0]}")
        if not is_number(types[1]):
            raise ColumnError(f"{self!r} needs numbers (integers, floats or decimals) as y; {y!r} is {types[1]}")
        return self.changed(ticks=ticks)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        x, y = columns
        if isinstance(x, np.ndarray) and x.dtype.kind in "mM":
            x = x.astype(np.int64)
        return super().accumulate(frames, x, y)

    def result_of(self, a: State) -> Any:
        x, y, xx = Centre.read(a, "x_"), Centre.read(a, "y_"), a["xx"]
        ratio = a["xy"] / xx  # the slope in units of deviations, where it cannot overflow
        mean, low = (np.ldexp(ratio * np.ldexp(part, -x.exponent), y.exponent) for part in (x.mean, x.low))
        slope = np.ldexp(ratio, y.exponent - x.exponent)
        intercept = 2 * ((y.mean - mean) + (y.low - low))  # 2: both columns were halved
        return pa.StructArray.from_arrays(
            [pa.array(slope * self.ticks), pa.array(intercept)], fields=list(self.result), mask=pa.array(xx == 0)
        )
