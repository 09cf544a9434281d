"""Variance and StdDev against exact fractions and numpy's two passes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold import ColumnError, QueryError


def windows(values: list[Any], width: int, type: pa.DataType | None = None, **outputs: Any) -> dict[str, list[Any]]:
    """Outputs over windows of the last `width` values."""
    table = pa.table({"t": np.arange(len(values)), "x": pa.array(values, type or pa.float64())})
    result = ff.events(table, time="t").window(ff.sliding(width, 1)).aggregate(**outputs)
    return {name: result[name].to_pylist()[: len(values)] for name in outputs}


def exact_variance(values: list[float], ddof: int) -> Fraction | None:
    if len(values) <= ddof:
        return None
    mean = sum(map(Fraction, values)) / len(values)
    return sum((Fraction(value) - mean) ** 2 for value in values) / (len(values) - ddof)


def two_passes(values: list[float], ddof: int) -> float:
    """How far numpy's two passes are off, at the least."""
    exact = exact_variance(values, ddof)
    assert exact is not None
    return float(abs(Fraction(float(np.var(values, ddof=ddof))) - exact))


values_of_all_sizes = st.one_of(
    st.floats(-1e6, 1e6), st.integers(0, 9).map(lambda n: 1e9 + n), st.sampled_from([1e16, 1e16 + 2, -1e12, 0.0, 1e-9])
)


@given(st.lists(values_of_all_sizes, min_size=1, max_size=12), st.integers(1, 5), st.integers(0, 2))
@example([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16], 4, 1)
@example([1e16, 1.0, 1.0, 1.0, 1.0], 2, 1)
def test_as_good_as_two_passes(values: list[float], width: int, ddof: int) -> None:
    found = windows(values, width, v=ff.Variance("x", ddof=ddof), s=ff.StdDev("x", ddof=ddof))
    for place, (variance, deviation) in enumerate(zip(found["v"], found["s"], strict=True)):
        own = values[max(0, place - width + 1) : place + 1]
        exact = exact_variance(own, ddof)
        if exact is None:
            assert variance is None
            assert deviation is None
            continue
        assert variance >= 0
        magnitude = max(abs(value) for value in own) * 2**-52
        slack = 8 * len(own) * (float(exact) * 2**-52 + magnitude**2) + two_passes(own, ddof)
        assert abs(float(Fraction(variance) - exact)) <= slack + 1e-300
        assert deviation == pytest.approx(math.sqrt(variance), rel=1e-15)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, 1e12, -1e15])
@pytest.mark.parametrize("width", [2, 50])
def test_far_from_zero(offset: float, width: int) -> None:
    """Sums of squares lose every digit of this."""
    chance = np.random.default_rng(1)
    values = (offset + chance.integers(0, 8, 400)).tolist()
    found = windows(values, width, v=ff.Variance("x"))["v"]
    for place in range(1, 400):
        own = values[max(0, place - width + 1) : place + 1]
        assert found[place] == pytest.approx(float(exact_variance(own, 1) or 0), rel=1e-9, abs=1e-12)


def test_equal_values_have_no_variance() -> None:
    for value in (0.1, 1e16, 1e300, -5e-324):
        assert set(windows([value] * 30, 7, v=ff.Variance("x", ddof=0))["v"]) == {0.0}


def test_what_passed_through_leaves_nothing_behind() -> None:
    for nasty in (1e16, 1e200, math.nan, math.inf, -math.inf, 1.7e308):
        found = windows([1.0, 3.0, nasty, 1.0, 3.0, 5.0], 2, v=ff.Variance("x"))["v"]
        assert [found[1], found[4], found[5]] == [2.0, 2.0, 2.0]
        if not math.isfinite(nasty):
            assert math.isnan(found[2])
            assert math.isnan(found[3])


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_too_few_values_are_null(ddof: int) -> None:
    found = windows([1.0, None, None, 4.0, 5.0], 2, v=ff.Variance("x", ddof=ddof), n=ff.Count("x"))
    assert [variance is None for variance in found["v"]] == [count <= ddof for count in found["n"]]


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.int64(), [2**62, 2**62 + 2**20, 3]),
        (pa.uint8(), [1, 2, 255]),
        (pa.float32(), [1.5, 2.5, 8.0]),
        (pa.decimal128(10, 2), [Decimal("1.25"), Decimal("-3.5"), Decimal("9")]),
    ],
    ids=str,
)
def test_every_type_of_number(type: pa.DataType, values: list[Any]) -> None:
    found = windows(values, 3, type, v=ff.Variance("x", ddof=0))["v"][2]
    assert found == pytest.approx(float(np.var(np.array([float(value) for value in values]))), rel=1e-14)


def test_the_largest_floats() -> None:
    """Their squares do not fit: infinite, as numpy has it, and never NaN or negative."""
    assert windows([1.7e308, -1.7e308], 2, v=ff.Variance("x"))["v"][1] == math.inf
    assert windows([1e-200, -1e-200], 2, v=ff.Variance("x"))["v"][1] == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize("ddof", [-1, 1.0, "1", None])
def test_wrong_ddof(ddof: Any) -> None:
    with pytest.raises(QueryError, match="ddof="):
        ff.Variance("x", ddof=ddof)


@pytest.mark.parametrize("operation", [ff.Variance, ff.StdDev])
def test_only_numbers(operation: Any) -> None:
    with pytest.raises(ColumnError, match="numbers"):
        windows(["a"], 1, pa.string(), v=operation("x"))
