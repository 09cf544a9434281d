"""Covariance, Correlation and LinearTrend against exact fractions of each window's own values, scipy and DuckDB."""

from __future__ import annotations

import math
from fractions import Fraction
from operator import mul
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import framefold as ff

from ..oracles.exact import about_mean, in_units
from ..oracles.numeric import STREAMS, Row, assert_right, close, drawn, root, rounded

UNIT = Fraction(1, 2**52)


def moments(rows: list[Row]) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
    """Both means, and the sums of squares and products of deviations."""
    (x, one), (y, other) = (in_units(values) for values in zip(*rows, strict=True))
    (a, of_x), (b, of_y) = (about_mean(values) for values in zip(*rows, strict=True))
    return (
        sum(x) * one / len(x),
        sum(y) * other / len(y),
        sum(each * each for each in a) * of_x**2,
        sum(each * each for each in b) * of_y**2,
        sum(map(mul, a, b)) * of_x * of_y,
    )


def finite(rows: list[Row]) -> bool:
    return all(math.isfinite(float(value)) for row in rows for value in row)


def covariance(ddof: int) -> Any:
    def right(rows: list[Row]) -> float | None:
        if len(rows) <= ddof:
            return None
        return rounded(moments(rows)[4] / (len(rows) - ddof)) if finite(rows) else math.nan

    return right


def near_covariance(ddof: int) -> Any:
    def near(got: Any, right: Any, rows: list[Row]) -> bool:
        if right is None or got is None or not math.isfinite(right) or not math.isfinite(got):
            return close()(got, right, rows)
        _, _, xx, yy, xy = moments(rows)
        slack = 4 * len(rows) * UNIT * max(root(xx * yy), Fraction(1e-323)) / (len(rows) - ddof)
        return abs(Fraction(got) - xy / (len(rows) - ddof)) <= slack + Fraction(5e-324)

    return near


def correlation(rows: list[Row]) -> float | None:
    if not rows or (finite(rows) and 0 in moments(rows)[2:4]):
        return None
    if not finite(rows):
        return math.nan
    _, _, xx, yy, xy = moments(rows)
    size = float(root(xy * xy / xx / yy))
    return size if xy > 0 else -size


def near_correlation(got: Any, right: Any, rows: list[Row]) -> bool:
    if right is None or got is None or math.isnan(right):
        return close()(got, right, rows)
    return bool(abs(got) <= 1 and abs(got - right) <= 4e-16 * (len(rows) + 2))


def trend(rows: list[Row]) -> dict[str, float] | None:
    if not rows or len({float(x) for x, _ in rows}) == 1:
        return None
    if not finite(rows):
        return {"slope": math.nan, "intercept": math.nan}
    x, y, xx, _, xy = moments(rows)
    return {"slope": rounded(xy / xx), "intercept": rounded(y - xy / xx * x)}


def near_trend(got: Any, right: Any, rows: list[Row]) -> bool:
    """As the line's own rounding has it: slopes to a few units of how far y varies, intercepts where that leads."""
    if right is None or got is None:
        return bool(got == right)
    if math.isnan(right["slope"]):
        return math.isnan(got["slope"]) and math.isnan(got["intercept"])
    x, y, xx, yy, xy = moments(rows)
    slack = 4 * (len(rows) + 2) * UNIT * root(yy / xx)
    at_zero = slack * abs(x) + 4 * UNIT * (abs(y) + abs(xy / xx * x)) + Fraction(5e-324)
    return (
        abs(Fraction(got["slope"]) - xy / xx) <= slack + Fraction(5e-324)
        and abs(Fraction(got["intercept"]) - (y - xy / xx * x)) <= at_zero
    )


CASES = [
    (ff.Covariance("x", "y"), covariance(1), near_covariance(1)),
    (ff.Covariance("x", "y", ddof=0), covariance(0), near_covariance(0)),
    (ff.Correlation("x", "y"), correlation, near_correlation),
    (ff.LinearTrend("x", "y"), trend, near_trend),
]
NAMES = ["sample covariance", "covariance", "correlation", "trend"]


@pytest.mark.parametrize("streams", [("near", "near"), ("huge", "cancelling"), ("cancelling", "huge")], ids=str)
@pytest.mark.parametrize(("operation", "right", "agree"), CASES, ids=NAMES)
def test_of_awkward_values(streams: tuple[str, str], operation: Any, right: Any, agree: Any) -> None:
    x, y = (drawn(STREAMS[name], 60, seed) for seed, name in enumerate(streams))
    assert_right(operation, {"x": x, "y": y}, right, agree)


@pytest.mark.parametrize(("operation", "right", "agree"), CASES[1:3], ids=NAMES[1:3])
def test_of_extreme_values(operation: Any, right: Any, agree: Any) -> None:
    columns = {"x": drawn(STREAMS["extreme"], 60, 1), "y": drawn([1.0, 2.0, 3.0, 1e-200], 60, 2)}
    assert_right(operation, columns, right, agree)


@pytest.mark.parametrize(("operation", "right", "agree"), CASES[1:3], ids=NAMES[1:3])
def test_of_values_that_are_not_finite(operation: Any, right: Any, agree: Any) -> None:
    columns = {"x": drawn([*range(12), math.nan, math.inf], 60, 1), "y": drawn([1.0, 2.0, 3.5], 60, 2)}
    assert_right(operation, columns, not_constant(right), agree)


def not_constant(right: Any) -> Any:
    """A constant column beside a NaN is no correlation, whatever the NaN would be."""

    def either(rows: list[Row]) -> Any:
        if right is correlation and rows and len({y for _, y in rows}) == 1:
            return None
        return right(rows)

    return either


def test_of_a_line() -> None:
    x = np.array([1e9 + k / 1024 for k in range(100)])
    table = pa.table({"t": np.arange(100), "x": x, "y": 3 * (x - 1e9) + 7})
    result = (
        ff.events(table, time="t")
        .window(ff.sliding(10, every=1))
        .aggregate(r=ff.Correlation("x", "y"), l=ff.LinearTrend("x", "y"))
        .to_pylist()[1:-1]
    )
    assert all(row["r"] == pytest.approx(1.0, abs=1e-15) for row in result)
    assert all(row["r"] <= 1.0 for row in result)
    assert all(row["l"]["slope"] == pytest.approx(3.0, rel=1e-14) for row in result)


def test_of_points_without_a_line() -> None:
    table = pa.table({"t": [0, 1, 2], "x": [0.1, 0.1, 0.1], "y": [1.0, 2.0, 3.0]})
    for operation in (ff.LinearTrend("x", "y"), ff.Correlation("x", "y"), ff.Correlation("y", "x")):
        result = ff.events(table, time="t").window(ff.sliding(3, every=1)).aggregate(x=operation)
        assert result["x"].to_pylist() == [None] * 5
    flat = ff.events(table, time="t").window(ff.tumbling(3)).aggregate(x=ff.LinearTrend("y", "x"))["x"].to_pylist()
    assert flat == [{"slope": 0.0, "intercept": 0.1}]


@pytest.mark.parametrize(
    ("type", "one"),
    [
        (pa.timestamp("s"), 1),
        (pa.timestamp("ms", "Europe/Berlin"), 1000),
        (pa.timestamp("us", "UTC"), 10**6),
        (pa.timestamp("ns"), 10**9),
        (pa.duration("us"), 10**6),
        (pa.date32(), 1),
        (pa.date64(), 86_400_000),
    ],
    ids=str,
)
def test_time_as_x(type: pa.DataType, one: int) -> None:
    places = np.array([10, 11, 13, 20, 21])
    moments = pa.array(places * one)
    x = moments.cast(pa.int32()).cast(type) if type == pa.date32() else moments.cast(type)
    table = pa.table({"t": np.arange(5), "x": x, "y": places * 0.25 + 3})
    found = ff.events(table, time="t").window(ff.tumbling(5)).aggregate(l=ff.LinearTrend("x", "y"))["l"].to_pylist()
    assert found[0] == pytest.approx({"slope": 0.25, "intercept": 3.0}, rel=1e-12)


def test_as_scipy_and_duckdb() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=1000)
    events = pa.table({"t": np.arange(1000) % 40, "x": x, "y": 2 * x + random.normal(size=1000)})
    window = ff.events(events, time="t").window(ff.tumbling(40))
    row = window.aggregate(
        c=ff.Covariance("x", "y"),
        p=ff.Covariance("x", "y", ddof=0),
        r=ff.Correlation("x", "y"),
        l=ff.LinearTrend("x", "y"),
    ).to_pylist()[0]
    line = stats.linregress(events["x"].to_numpy(), events["y"].to_numpy())
    assert row["r"] == pytest.approx(line.rvalue, rel=1e-13)
    assert row["l"] == pytest.approx({"slope": line.slope, "intercept": line.intercept}, rel=1e-12)
    query = "select covar_samp(x, y), covar_pop(x, y), corr(x, y), regr_slope(y, x), regr_intercept(y, x) from events"
    right = duckdb.sql(query).fetchall()[0]
    assert [row["c"], row["p"], row["r"], *row["l"].values()] == pytest.approx(right, rel=1e-11)


def test_types() -> None:
    columns = {"x": drawn([1, 2, 3, 100], 60, 4, pa.int8()), "y": drawn([1, 2, 9], 60, 5, pa.decimal128(9, 2))}
    for operation, right, agree in CASES:
        assert_right(operation, columns, right, agree)


@pytest.mark.parametrize("operation", [ff.Covariance("x", "y"), ff.Correlation("x", "y")])
def test_needs_numbers(operation: Any) -> None:
    with pytest.raises(ff.ColumnError, match="'y' is string"):
        operation.bind(pa.int64(), pa.string())


def test_needs_a_place_and_a_number() -> None:
    with pytest.raises(ff.ColumnError, match="'x' is bool"):
        ff.LinearTrend("x", "y").bind(pa.bool_(), pa.int64())
    with pytest.raises(ff.ColumnError, match="'y' is timestamp"):
        ff.LinearTrend("x", "y").bind(pa.int64(), pa.timestamp("us"))


@pytest.mark.parametrize("ddof", [-1, 1.0, True, None])
def test_needs_ddof(ddof: Any) -> None:
    with pytest.raises(ff.QueryError, match="ddof= of"):
        ff.Covariance("x", "y", ddof=ddof)
