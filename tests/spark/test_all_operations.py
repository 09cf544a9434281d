"""Every aggregate on Spark, on the driver and on executors, against the local engine."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..support.plans import Operation

ROWS = 240
WINDOW = ff.sliding("40 minutes", every="15 minutes")


def events() -> pa.Table:
    """Events of three keys over five hours, with ties and nulls, a column of each type."""
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 12, ROWS)
    start = np.datetime64("2026-03-29T00:00:00", "us")  # the night on which clocks go forward in Europe

    def some(values: list[Any], type: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else value for value in values], type)

    return pa.table(
        {
            "t": pa.array(start + rng.integers(0, 300, ROWS) * np.timedelta64(1, "m"), pa.timestamp("us", "UTC")),
            "k": some([f"k{n % 3}" for n in numbers], pa.string()),
            "x": some((numbers / 4 + rng.normal(0, 1, ROWS).round(3)).tolist(), pa.float64()),
            "w": pa.array(rng.integers(1, 5, ROWS).astype(float)),
            "i": some(numbers.tolist(), pa.int64()),
            "small": some((numbers % 5).tolist(), pa.int16()),
            "d": some([decimal.Decimal(int(n)) / 8 for n in numbers], pa.decimal128(12, 3)),
            "s": some([chr(97 + n) for n in numbers], pa.string()),
            "b": some([bytes([n]) for n in numbers], pa.binary()),
            "flag": some((numbers > 4).tolist(), pa.bool_()),
            "day": some([dt.date(2026, 1, 1 + int(n)) for n in numbers], pa.date32()),
            "at": some([dt.datetime(2026, 1, 1, int(n), tzinfo=dt.UTC) for n in numbers], pa.timestamp("us", "UTC")),
            "tags": some([[f"t{n % 3}", f"t{n % 2}"] for n in numbers], pa.list_(pa.string())),
            "vector": some([[float(n), float(n % 3)] for n in numbers], pa.list_(pa.float64())),
        }
    )


OPERATIONS: dict[str, Operation] = {
    "average": ff.Average("x"),
    "average_decimal": ff.Average("d"),
    "bit_and": ff.BitAnd("i"),
    "bit_or": ff.BitOr("small"),
    "bit_xor": ff.BitXor("i"),
    "bool_and": ff.BoolAnd("flag"),
    "bool_or": ff.BoolOr("flag"),
    "arg_max": ff.ArgMax("s", "x"),
    "arg_min": ff.ArgMin("at", "i"),
    "approx_distinct": ff.ApproxCountDistinct("s"),
    "approx_distinct_cpc": ff.ApproxCountDistinct("i", method="cpc"),
    "approx_quantile": ff.ApproxQuantile("x", 0.5),
    "bottom": ff.BottomN("i", 3, "s"),
    "collect_list": ff.CollectList("x"),
    "collect_set": ff.CollectSet("s"),
    "concat": ff.Concat("s", delimiter=",", prefix="<", suffix=">"),
    "correlation": ff.Correlation("x", "i"),
    "count": ff.Count(),
    "count_known": ff.Count("d"),
    "count_distinct": ff.CountDistinct("d"),
    "count_if": ff.CountIf("flag"),
    "covariance": ff.Covariance("x", "i"),
    "distinct_sum": ff.DistinctSum("i"),
    "element_wise": ff.ElementWise(ff.Sum("vector")),
    "ewma": ff.Ewma("x", "20 minutes"),
    "filtered": ff.Filtered(ff.Sum("i"), "flag"),
    "first": ff.First("b"),
    "first_n": ff.FirstN("s", 2),
    "flat_mapped": ff.FlatMapped(ff.Count(), None, "tags"),
    "frequent": ff.FrequentItems("s", 2),
    "geometric": ff.GeometricMean("w"),
    "grouped": ff.GroupedBy(ff.Count(), "s"),
    "harmonic": ff.HarmonicMean("w"),
    "histogram": ff.Histogram("s"),
    "histogram_bins": ff.Histogram("x", bins=[0.0, 1.0, 2.0, 3.0]),
    "kurtosis": ff.Kurtosis("x"),
    "last": ff.Last("at"),
    "last_n": ff.LastN("i", 3),
    "trend": ff.LinearTrend("t", "x"),
    "mapped": ff.Mapped(ff.Average("x"), np.abs),
    "max": ff.Max("s"),
    "max_day": ff.Max("day"),
    "median": ff.Median("x"),
    "min": ff.Min("d"),
    "min_at": ff.Min("at"),
    "mode": ff.Mode("s"),
    "all_of": ff.AllOf(low=ff.Min("x"), n=ff.Count("s")),
    "product": ff.Product("w"),
    "quantile": ff.Quantile("i", [0.25, 0.75], method="discrete"),
    "range": ff.Range("x"),
    "range_at": ff.Range("at"),
    "delta": ff.Delta("i"),
    "rate": ff.Rate("x"),
    "in_state": ff.TimeInState("s", "c"),
    "held": ff.TimeWeightedAverage("x", fill="last"),
    "linear": ff.TimeWeightedAverage("i", fill="linear"),
    "bar": ff.OHLC("d"),
    "sample_skewness": ff.Skewness("x", bias=False),
    "sample_kurtosis": ff.Kurtosis("x", bias=False),
    "reducing": ff.Reducing("i", 0, np.add, np.subtract),
    "rms": ff.RootMeanSquare("x"),
    "skewness": ff.Skewness("x"),
    "stddev": ff.StdDev("x", ddof=0),
    "sum": ff.Sum("x"),
    "sum_integer": ff.Sum("small"),
    "sum_decimal": ff.Sum("d"),
    "sum_over_count": ff.Sum("x") / ff.Count() + 1,
    "then": ff.Sum("i").then(lambda total: total * 2),
    "theta": ff.ThetaSketch("s"),
    "top": ff.TopN("x", 2),
    "variance": ff.Variance("x"),
    "weighted": ff.WeightedAverage("x", "w"),
}

OF_LIVES: dict[str, Operation] = {
    "covered": ff.Covered(),
    "weighted": ff.TimeWeightedAverage("x"),
    "n": ff.Count(),
    "last": ff.Last("w"),
    "total": ff.Sum("d"),
}


def test_no_operation_is_left_out() -> None:
    public = {
        value.__name__ for value in vars(ff).values() if inspect.isclass(value) and issubclass(value, (Operation,))
    } - {"AggregateOperation", "Operation", "PythonOperation"}

    def kinds(operation: Operation) -> set[str]:
        inner = [part for part in vars(operation).values() if isinstance(part, Operation)]
        return {type(operation).__name__}.union(*map(kinds, inner))

    assert public == set().union(*map(kinds, [*OPERATIONS.values(), *OF_LIVES.values()])) - {"Then", "Arithmetic"}


def close(a: Any, b: Any) -> bool:
    """Whether results are equal, floats up to their last digits."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-11) or (a != a and b != b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """The events in five partitions, in the order of the table."""
    return spark.createDataFrame(events()).coalesce(5)


def differing(found: pa.Table, expected: pa.Table) -> list[Any]:
    """Some of the values that differ."""
    assert found.column_names == expected.column_names
    assert len(found) == len(expected)
    return [
        (name, row, a, b)
        for name in expected.column_names
        for row, (a, b) in enumerate(zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True))
        if not close(a, b)
    ][:3]


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_as_on_the_local_engine(frame: DataFrame, combine: str) -> None:
    query = ff.events(frame, time="t", by="k").window(WINDOW).options(combine=combine)
    found = query.aggregate(**OPERATIONS).toArrow()
    expected = ff.events(events(), time="t", by="k").window(WINDOW).aggregate(**OPERATIONS)
    assert differing(found, expected) == []


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_lives_as_on_the_local_engine(spark: SparkSession, combine: str) -> None:
    lengths = np.random.default_rng(6).integers(1, 90, ROWS) * np.timedelta64(1, "m")
    # Of two events of one time that both live, which is the last is up to the order in which they are combined.
    starts = events()["t"].to_numpy() + np.arange(ROWS) * np.timedelta64(1, "us")
    lives = events().set_column(0, "t", pa.array(starts, pa.timestamp("us", "UTC")))
    lives = lives.append_column("end", pa.array(starts + lengths, pa.timestamp("us", "UTC")))
    query = ff.events(spark.createDataFrame(lives).coalesce(5), time="t", by="k", until="end").options(combine=combine)
    found = query.window(WINDOW).aggregate(**OF_LIVES).toArrow()
    expected = ff.events(lives, time="t", by="k", until="end").window(WINDOW).aggregate(**OF_LIVES)
    assert differing(found, expected) == []
