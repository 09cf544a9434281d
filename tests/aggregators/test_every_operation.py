"""Every exported operation keeps all laws: of ordinary events, and of the most awkward ones that it takes."""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import NUMBERS, column
from ..oracles.numeric import STREAMS, drawn
from ..support.examples import some
from ..support.plans import Operation

FLOATS = {name: drawn(values, 40, 3) for name, values in STREAMS.items()}
ORDINARY = {
    "x": drawn([1.5, 2.0, -3.25, 7.125, 0.5, 11.0], 40, 1),
    "y": drawn([0.1, 0.2, 0.7, -1.9, 3.3], 40, 2),
    "w": drawn([1.0, 2.0, 0.25], 40, 4),
    "i": drawn([1, -2, 3, 5, 100], 40, 5, pa.int32()),
    "d": column("short decimal", 40),
    "flag": drawn([True, False], 40, 6, pa.bool_()),
    "s": column("string", 40),
    "text": column("string", 40),
    "at": column("timestamp", 40),
    "list": pa.array([None if n % 7 == 5 else [n / 4, None, float(n % 3)][: n % 4] for n in range(40)]),
    "pair": pa.array([[n / 8, -n % 5 / 3] for n in range(40)], pa.list_(pa.float64(), 2)),
    "map": pa.array([[("a", n * 0.1), ("b", None)][: n % 3] for n in range(40)], pa.map_(pa.string(), pa.float64())),
}
"""Values as they usually come."""

AWKWARD = {
    **ORDINARY,
    "x": pa.concat_arrays([FLOATS["huge"][:10], FLOATS["extreme"][:10], FLOATS["rare"][:10], FLOATS["near"][:10]]),
    "y": FLOATS["cancelling"],
    "w": drawn([1e-9, -1.0, 1e9, 1e16, math.inf], 40, 4),
    "i": column("int64", 40),
    "d": column("long decimal", 40),
    "s": column("binary", 40),
    "at": column("date", 40),
    "list": pa.array([[math.nan, -math.inf, 1e300, 5e-324, 0.1][: n % 6] for n in range(40)]),
}
"""Values of which something cancels, overflows or is rounded away."""


def on(columns: str, *operations: Any) -> list[Operation]:
    """Operations on columns, whose names are one letter or parted by spaces."""
    return [operation(*columns.split()) for operation in operations]


def of_each(columns: str, *operations: Any) -> list[Operation]:
    """Operations on one column, on each of these."""
    return [operation(column) for operation in operations for column in columns.split()]


OPERATIONS: list[Operation] = [
    *of_each("x y", ff.Average, ff.Sum, ff.Skewness, ff.Kurtosis, ff.Variance, ff.StdDev, ff.TimeWeightedAverage),
    *of_each("x i", ff.Delta, ff.Rate),
    *of_each("i", ff.BitAnd, ff.BitOr, ff.BitXor, ff.TimeWeightedAverage),
    *of_each("flag", ff.BoolAnd, ff.BoolOr, ff.CountIf),
    *of_each("x d", ff.CollectList, ff.Median),
    *of_each("x s", ff.CollectSet, ff.Histogram),
    *of_each("x", ff.Count, ff.CountDistinct, ff.DistinctSum, ff.Min, ff.Range, ff.OHLC, ff.Product, ff.RootMeanSquare),
    *of_each("w", ff.GeometricMean, ff.HarmonicMean),
    *on("x y", ff.Correlation, ff.Covariance, ff.LinearTrend),
    *on("y i", ff.Correlation, ff.LinearTrend),
    *on("at x", ff.LinearTrend),
    *on("x w", ff.WeightedAverage),
    *on("y w", ff.WeightedAverage, functools.partial(ff.Covariance, ddof=0)),
    *of_each("x", *(functools.partial(ff.TimeWeightedAverage, fill=fill) for fill in ("last", "linear"))),
    *of_each("x", *(functools.partial(of, bias=False) for of in (ff.Skewness, ff.Kurtosis))),
    *of_each("y", *(functools.partial(of, ddof=0) for of in (ff.Variance, ff.StdDev))),
    *(ff.Count(), ff.Covered(), ff.ApproxCountDistinct("s"), ff.ApproxQuantile("y", [0.1, 0.5])),
    *(ff.ArgMax("s", "x"), ff.ArgMin("at", "y"), ff.BottomN("x", 2, "s"), ff.TopN("y", 3), ff.TopN("d", 2, "flag")),
    *(ff.Concat("text", ","), ff.CountDistinct("d", "s"), ff.Max("at"), ff.Mode("y"), ff.Ewma("x", 7)),
    *(ff.First("x", ties="at"), ff.FirstN("at", 3), ff.Last("s"), ff.Last("i", ties="x"), ff.LastN("x", 2)),
    *(ff.FrequentItems("s", 2), ff.ThetaSketch("s", output="value"), ff.TimeInState("flag", True)),
    *(ff.Histogram("d", bins=[-1, 0, 1e9]), ff.Histogram("x", bins=[-1.0, 0.0, 2.0, 1e300])),
    *(ff.Quantile("x", [0.2, 1.0]), ff.Quantile("s", [0.1, 0.5], method="discrete")),
    ff.AllOf(skewness=ff.Skewness("x"), rows=ff.Count(), last=ff.Last("s")),
    *(ff.ElementWise(ff.Sum("list")), ff.ElementWise(ff.Skewness("pair")), ff.ElementWise(ff.Average("map"))),
    *(ff.Filtered(ff.Skewness("y"), "flag"), ff.FlatMapped(ff.Variance("list")),
        ff.GroupedBy(ff.Kurtosis("x"), "flag")),
    ff.Mapped(ff.Covariance("a", "b"), lambda x, y: (x - y, x + y), "x", "y"),
    ff.Reducing("i", 0, np.bitwise_xor, np.bitwise_xor),
    ff.Skewness("x").then(lambda skewness: skewness * 3),
]  # fmt: skip


def kinds(operation: Operation) -> set[str]:
    parts = [vars(operation).get("operation"), *getattr(operation, "parts", {}).values()]
    return {type(operation).__name__}.union(*(kinds(part) for part in parts if part is not None))


def test_no_operation_is_left_out() -> None:
    exported = {value for value in map(vars(ff).get, ff.__all__) if inspect.isclass(value)}
    exported = {value.__name__ for value in exported if issubclass(value, Operation)}
    assert set().union(*map(kinds, OPERATIONS)) >= exported - {"AggregateOperation", "PythonOperation"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("events", ["ordinary", "awkward"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=repr)
def test_laws(operation: Operation, events: str) -> None:
    ff.check_laws(operation, pa.table(ORDINARY if events == "ordinary" else AWKWARD), examples=some(40))


TAKES = [(ff.Count, ff.Sum, ff.Average), (ff.Variance, ff.StdDev, ff.Skewness), (ff.GeometricMean,), (ff.Product,)]
"""Operations on numbers that keep the same laws; those that take any type: ``test_every_type``."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("operations", "kind"), [(TAKES[0], "boolean"), *((of, kind) for of in TAKES for kind in NUMBERS)]
)
def test_laws_of_all_types(operations: tuple[Any, ...], kind: str) -> None:
    parts = {each.__name__: each("x") for each in operations}
    operation = ff.AllOf(**parts) if len(parts) > 1 else operations[0]("x")
    ff.check_laws(operation, pa.table({"x": column(kind, 40)}), examples=some(40))
