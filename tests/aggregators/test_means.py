"""Means against exact fractions of each window's own values."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import framefold as ff

from ..oracles.numeric import STREAMS, Row, assert_right, close, drawn, root, rounded

POSITIVE = {name: [abs(value) for value in values] for name, values in STREAMS.items()}


def geometric(rows: list[Row]) -> float | None:
    values = [float(row[0]) for row in rows]
    if not values or min((value for value in values if value == value), default=0) < 0:
        return None
    if not all(map(math.isfinite, values)):
        return math.prod(value if value == 0 or not math.isfinite(value) else 1.0 for value in values)
    if 0 in values:
        return 0.0
    with localcontext(prec=60):
        return float((sum(Decimal(value).ln() for value in values) / len(values)).exp())


def harmonic(rows: list[Row]) -> float | None:
    values = [float(row[0]) for row in rows]
    if not values or min((value for value in values if value == value), default=0) < 0:
        return None
    if any(map(math.isnan, values)):
        return math.nan
    if 0 in values:
        return 0.0
    total = sum(1 / Fraction(value) for value in values if value != math.inf)
    return rounded(len(values) / total) if total else math.inf


def mean_square(rows: list[Row]) -> float | None:
    values = [float(row[0]) for row in rows]
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan if any(map(math.isnan, values)) else math.inf
    return rounded(root(sum(Fraction(value) ** 2 for value in values) / len(values)))


def weighted(rows: list[Row]) -> float | None:
    if not all(map(math.isfinite, [float(value) for row in rows for value in row])):
        weight = sum(float(row[1]) for row in rows)
        total = sum(float(value) * float(by) for value, by in rows)
        return math.nan if math.isnan(weight) or math.isinf(weight) else total / weight if weight else None
    weight = sum(Fraction(row[1]) for row in rows)
    return rounded(sum(Fraction(value) * Fraction(by) for value, by in rows) / weight) if weight else None


def near_weighted(got: Any, right: Any, rows: list[Row]) -> bool:
    """Right to the last digits; where products cancel, not worse than adding up the window's own ones."""
    if got is None or right is None or close(1e-15)(got, right, rows):
        return close(1e-15)(got, right, rows)
    weight = sum(Fraction(by) for _, by in rows)
    size = sum(abs(Fraction(value) * Fraction(by)) for value, by in rows) / abs(weight)
    return abs(Fraction(got) - Fraction(right)) <= size * len(rows) / 2**53


@pytest.mark.parametrize("stream", POSITIVE)
@pytest.mark.parametrize(
    ("operation", "right"),
    [(ff.GeometricMean("x"), geometric), (ff.RootMeanSquare("x"), mean_square), (ff.HarmonicMean("x"), harmonic)],
    ids=["geometric", "root mean square", "harmonic"],
)
def test_of_awkward_values(stream: str, operation: Any, right: Any) -> None:
    values = [value for value in POSITIVE[stream] if not 0 < value < 1e-307]  # whose reciprocals overflow
    assert_right(operation, {"x": drawn(values, 60, 5)}, right, close(2e-14))


@pytest.mark.parametrize("operation", [ff.GeometricMean("x"), ff.HarmonicMean("x")])
def test_of_negative_values(operation: Any) -> None:
    right = geometric if isinstance(operation, ff.GeometricMean) else harmonic
    assert_right(operation, {"x": drawn([1.0, 2.0, 3.0, 4.5, 5.0, 6.0, 7.0, -1.0], 80, 3)}, right)


@pytest.mark.parametrize("stream", ["near", "huge", "cancelling"])
@pytest.mark.parametrize("weights", [[1.0, 2.0, 0.5], [1.0, -1.0, 0.0], [1e-9, 1e9, 1e16]], ids=str)
def test_weighted(stream: str, weights: list[float]) -> None:
    columns = {"x": drawn(STREAMS[stream], 60, 1), "w": drawn(weights, 60, 2)}
    assert_right(ff.WeightedAverage("x", "w"), columns, weighted, near_weighted)


def test_weighted_non_finite() -> None:
    columns = {"x": drawn([1.0, 2.0, math.inf, math.nan, 3.0, 4.0, 5.0], 60, 1), "w": drawn([1.0, 2.0, 3.0], 60, 2)}
    assert_right(ff.WeightedAverage("x", "w"), columns, weighted)
    columns = {"x": drawn([1.0, 2.0, 3.0], 60, 1), "w": drawn([1.0, 2.0, 3.0, 4.0, 5.0, math.inf], 60, 2)}
    assert_right(ff.WeightedAverage("x", "w"), columns, weighted)


@pytest.mark.parametrize("type", [pa.int8(), pa.float32(), pa.decimal128(12, 3)], ids=str)
def test_types(type: pa.DataType) -> None:
    values = [1, 2, 3, 5, 100]
    columns = {"x": drawn(values, 60, 4, type), "w": drawn([1, 2, 9], 60, 5, pa.int16())}
    for operation, right in [
        (ff.GeometricMean("x"), geometric),
        (ff.HarmonicMean("x"), harmonic),
        (ff.RootMeanSquare("x"), mean_square),
        (ff.WeightedAverage("x", "w"), weighted),
    ]:
        assert_right(operation, columns, right)


def test_as_scipy() -> None:
    values = np.random.default_rng(1).lognormal(size=1000)
    table = pa.table({"t": np.arange(1000), "x": values, "w": values[::-1]})
    row = (
        ff.events(table, time="t")
        .window(ff.tumbling(1000))
        .aggregate(
            g=ff.GeometricMean("x"), h=ff.HarmonicMean("x"), r=ff.RootMeanSquare("x"), w=ff.WeightedAverage("x", "w")
        )
        .to_pylist()[0]
    )
    assert row["g"] == pytest.approx(stats.gmean(values), rel=1e-14)
    assert row["h"] == pytest.approx(stats.hmean(values), rel=1e-14)
    assert row["r"] == pytest.approx(stats.pmean(values, 2), rel=1e-14)
    assert row["w"] == pytest.approx(np.average(values, weights=values[::-1]), rel=1e-14)


@pytest.mark.parametrize("operation", [ff.GeometricMean, ff.HarmonicMean, ff.RootMeanSquare])
def test_needs_numbers(operation: Any) -> None:
    with pytest.raises(ff.ColumnError, match="'x' is string"):
        operation("x").bind(pa.string())


def test_needs_numbers_and_weights() -> None:
    with pytest.raises(ff.ColumnError, match="'w' is bool"):
        ff.WeightedAverage("x", "w").bind(pa.float64(), pa.bool_())


def test_nothing_is_left_of_what_has_passed_through() -> None:
    values = np.ones(2000)
    values[[5, 200, 400, 600]] = [1e16, 1e300, math.inf, math.nan]
    table = pa.table({"t": np.arange(2000), "x": values, "w": values[::-1]})
    for operation in (
        ff.GeometricMean("x"),
        ff.HarmonicMean("x"),
        ff.RootMeanSquare("x"),
        ff.WeightedAverage("x", "w"),
    ):
        result = ff.events(table, time="t").window(ff.sliding(50, every=1)).aggregate(x=operation)
        assert set(result["x"].to_pylist()[700:1300]) == {1.0}
