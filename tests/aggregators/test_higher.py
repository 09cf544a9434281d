"""Skewness and Kurtosis against exact fractions of each window's own values, and scipy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import framefold as ff

from ..oracles.exact import about_mean
from ..oracles.numeric import STREAMS, Row, assert_right, close, drawn, root


def central(values: list[float], power: int) -> Fraction:
    away, unit = about_mean(values)
    return sum(each**power for each in away) * unit**power / len(values)


def skewness(rows: list[Row]) -> float | None:
    values = [float(row[0]) for row in rows]
    if not all(map(math.isfinite, values)):
        return math.nan
    if len(set(values)) < 2:
        return None
    third = central(values, 3)
    size = float(root(third**2 / central(values, 2) ** 3))
    return size if third > 0 else -size


def kurtosis(rows: list[Row]) -> float | None:
    values = [float(row[0]) for row in rows]
    if not all(map(math.isfinite, values)):
        return math.nan
    if len(set(values)) < 2:
        return None
    return float(central(values, 4) / central(values, 2) ** 2 - 3)


def near(got: Any, right: Any, rows: list[Row]) -> bool:
    """Right up to a few roundings of the largest that this number of values could have; a kurtosis never below -2."""
    if right is None or got is None or math.isnan(right):
        return close()(got, right, rows)
    return bool(abs(got - right) <= 1e-14 * len(rows) and got >= -len(rows))


OPERATIONS = [(ff.Skewness("x"), skewness), (ff.Kurtosis("x"), kurtosis)]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("operation", "right"), OPERATIONS, ids=["skewness", "kurtosis"])
def test_of_awkward_values(stream: str, operation: Any, right: Any) -> None:
    assert_right(operation, {"x": drawn(STREAMS[stream], 60, 5)}, right, near)


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.001, 1e300, 5e-324, 1 / 3, -7e-310])
@pytest.mark.parametrize("operation", [ff.Skewness("x"), ff.Kurtosis("x")])
def test_of_equal_values_is_null(value: float, operation: Any) -> None:
    table = pa.table({"t": np.arange(300) % 41, "x": np.full(300, value)})
    for size in (1, 3, 7, 41):
        result = ff.events(table, time="t").window(ff.sliding(size, every=1)).aggregate(x=operation)
        assert result["x"].null_count == len(result)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-200, 1e200])
@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_as_scipy(scale: float, shift: float) -> None:
    values = np.random.default_rng(1).exponential(size=2000).round(6)
    table = pa.table({"t": np.arange(2000) % 50, "x": (values + shift) * scale})
    row = (
        ff.events(table, time="t")
        .window(ff.tumbling(50))
        .aggregate(s=ff.Skewness("x"), k=ff.Kurtosis("x"))
        .to_pylist()[0]
    )
    exact = (values + shift) - shift
    assert row["s"] == pytest.approx(stats.skew(exact), rel=1e-12 if scale == 1 else 1e-6)
    assert row["k"] == pytest.approx(stats.kurtosis(exact), rel=1e-12 if scale == 1 else 1e-6)


def test_two_values_have_the_least_kurtosis() -> None:
    values = np.random.default_rng(2).normal(size=400)
    table = pa.table({"t": np.arange(400), "x": values})
    result = ff.events(table, time="t").window(ff.sliding(2, every=1)).aggregate(k=ff.Kurtosis("x"), s=ff.Skewness("x"))
    found = result["k"].drop_null().to_numpy()
    assert (found >= -2).all()
    assert np.abs(found + 2).max() < 1e-14
    assert np.abs(result["s"].drop_null().to_numpy()).max() < 1e-14


@pytest.mark.parametrize("type", [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(12, 3)], ids=str)
def test_types(type: pa.DataType) -> None:
    for operation, right in OPERATIONS:
        assert_right(operation, {"x": drawn([1, 2, 3, 5, 100], 60, 4, type)}, right, near)


def test_needs_numbers() -> None:
    with pytest.raises(ff.ColumnError, match="'x' is string"):
        ff.Kurtosis("x").bind(pa.string())
