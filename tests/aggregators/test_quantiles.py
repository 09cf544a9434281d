"""Quantile and Median against numpy's on each window's own values, and the discrete rank by its definition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import ANY, Row, assert_right, close, column, ordered, table_of

Q = [0.0, 0.07, 0.25, 0.5, 0.9, 1.0]


def known(rows: list[Row]) -> list[Any]:
    return sorted((value for (value,) in rows if value is not None), key=ordered)


def linear(values: list[Any], q: float) -> float:
    """By the definition, with the place as a fraction; NaN is the greatest."""
    place = Fraction(str(q)) * (len(values) - 1)
    low, share = math.floor(place), float(place - math.floor(place))
    a, b = float(values[low]), float(values[math.ceil(place)])
    return a if a == b or share == 0 else a * (1 - share) + b * share


def test_random_values() -> None:
    table = table_of(x=pa.array(np.random.default_rng(3).normal(size=220)))

    def right(rows: list[Row]) -> list[float]:
        values = known(rows)
        found = [float(value) for value in np.quantile(values, Q, method="linear")]
        assert all(math.isclose(linear(values, q), value, rel_tol=1e-12) for q, value in zip(Q, found, strict=True))
        return found

    assert_right(ff.Quantile("x", Q), table, right, close)
    assert_right(ff.Median("x"), table, lambda rows: float(np.median(known(rows))), close)


@pytest.mark.parametrize("kind", ["int8", "uint64", "float64", "float32", "short decimal", "long decimal"])
def test_linear_of_every_type_of_number(kind: str) -> None:
    def right(rows: list[Row]) -> list[float] | None:
        values = known(rows)
        return [linear(values, q) for q in Q] if values else None

    assert_right(ff.Quantile("x", Q), table_of(x=column(kind)), right, close, windows=[(1, 1), (24, 3)])


@pytest.mark.parametrize("kind", ANY)
def test_discrete_of_every_type(kind: str) -> None:
    def right(rows: list[Row]) -> list[Any] | None:
        values = known(rows)
        ranks = [max(math.ceil(Fraction(str(q)) * len(values)) - 1, 0) for q in Q]
        return [values[rank] for rank in ranks] if values else None

    table = table_of(x=column(kind))
    assert_right(ff.Quantile("x", Q, method="discrete"), table, right, windows=[(5, 2)])
    single = lambda rows: None if right(rows) is None else right(rows)[3]  # type: ignore[index]  # noqa: E731
    assert_right(ff.Quantile("x", 0.5, method="discrete"), table, single, windows=[(1, 1)])


def test_the_share_is_what_is_written() -> None:
    """0.07 * 100 is 7.000000000000001 in floats, one rank too far."""
    table = pa.table({"t": [0] * 100, "x": range(100)})
    query = ff.events(table, time="t").window(ff.tumbling(1))
    assert query.aggregate(x=ff.Quantile("x", 0.07, method="discrete"))["x"].to_pylist() == [6]


def test_infinite_values() -> None:
    table = pa.table({"t": [0, 0, 1, 1], "x": [math.inf, math.inf, -math.inf, math.inf]})
    found = ff.events(table, time="t").window(ff.tumbling(1)).aggregate(x=ff.Median("x"))["x"].to_pylist()
    assert found[0] == math.inf
    assert math.isnan(found[1])


def test_no_windows_with_values() -> None:
    table = pa.table({"t": [0], "x": pa.array([None], pa.int64())})
    query = ff.events(table, time="t").window(ff.tumbling(1))
    found = query.aggregate(
        x=ff.Quantile("x", [0.5]), y=ff.Median("x"), z=ff.Quantile("x", 0.5, method="discrete")
    ).to_pylist()
    assert (found[0]["x"], found[0]["y"], found[0]["z"]) == (None, None, None)


def test_wrong_arguments() -> None:
    for q in (1.5, -0.1, math.nan, "0.5", [], [0.5, 2]):
        with pytest.raises(ff.QueryError, match="expected a number from 0 to 1, or a list of such"):
            ff.Quantile("x", q)  # type: ignore[arg-type]
    with pytest.raises(ff.QueryError, match="expected 'linear' or 'discrete'"):
        ff.Quantile("x", 0.5, method="nearest")
    query = ff.events(pa.table({"t": [0], "x": ["a"]}), time="t").window(ff.tumbling(1))
    with pytest.raises(ff.ColumnError, match="method='discrete' takes any type that has an order"):
        query.aggregate(x=ff.Median("x"))
