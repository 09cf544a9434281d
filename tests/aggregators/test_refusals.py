"""What operations refuse, their arguments and the types of their columns, and in which sentence."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal as D
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import DAY, NOON
from ..oracles.composites import events
from ..support.windows import TimeColumn

QUERY, COLUMN, FAULTY = ff.QueryError, ff.ColumnError, ff.OperationError
HOUR = dt.timedelta(hours=1)
OTHER_COLUMNS = {
    "i": pa.array([1], pa.int64()),
    "i8": pa.array([1], pa.int8()),
    "d": pa.array([D("1.25")], pa.decimal128(10, 2)),
    "b": pa.array([b""], pa.binary()),
    "day": pa.array([DAY], pa.date32()),
    "at": pa.array([NOON], pa.timestamp("us", "UTC")),
    "seconds": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("s")),
    "u": pa.array([HOUR], pa.duration("us")),
    "time": pa.array([dt.time(1)], pa.time64("us")),
    "nanos": pa.array([1], pa.time64("ns")),
    "one": pa.array([[1]]),
    "two": pa.array([[1, 2]]),
    "struct": pa.array([{"a": 1}], pa.struct({"a": pa.int8()})),
    "interval": pa.array([None], pa.month_day_nano_interval()),
}
EVENTS = events()
for name, values in OTHER_COLUMNS.items():
    EVENTS = EVENTS.append_column(name, values.take(pa.array([0] * len(EVENTS))))

Refusal = tuple[type[Exception], str, list[Callable[[], Any]]]


def over(operation: Any, *several: Any, **arguments: Any) -> list[Callable[[], Any]]:
    """The operation with each of some arguments; a tuple is several of them."""
    return [partial(operation, *(each if isinstance(each, tuple) else (each,)), **arguments) for each in several]


def bins(column: str, *several: Any) -> list[Callable[[], Any]]:
    return [partial(ff.Histogram, column, bins=edges) for edges in several]


def changing(a: Any, b: Any) -> Any:
    a += b
    return a


REFUSALS: list[Refusal] = [
    # types of columns
    (COLUMN, "needs a column of numbers", over(ff.DistinctSum, "s")),
    *(
        (COLUMN, f"needs a column of numbers.*'{column}'", over(operation, column))
        for operation in (ff.Sum, ff.Average, ff.Variance, ff.StdDev)
        for column in ("s", "b", "day", "at", "v")
    ),
    *(
        (COLUMN, "'s' is string", over(operation, "s"))
        for operation in (ff.GeometricMean, ff.HarmonicMean, ff.RootMeanSquare, ff.Product, ff.Skewness, ff.Kurtosis)
    ),
    (COLUMN, "'flag' is bool", [*over(ff.WeightedAverage, ("f", "flag")), *over(ff.LinearTrend, ("flag", "x"))]),
    (COLUMN, "'s' is string", [*over(ff.Covariance, ("x", "s")), *over(ff.Correlation, ("x", "s"))]),
    (COLUMN, "'at' is timestamp", over(ff.LinearTrend, ("x", "at"))),
    (COLUMN, "'i' is int64", [call for of in (ff.CountIf, ff.BoolAnd, ff.BoolOr) for call in over(of, "i")]),
    (
        COLUMN,
        "needs a column of integers",
        [call for of in (ff.BitAnd, ff.BitOr, ff.BitXor) for call in over(of, "f", "flag", "d")],
    ),
    (COLUMN, "needs a column of numbers, dates, timestamps or durations", over(ff.Range, "s", "flag", "v", "time")),
    (COLUMN, "needs a column of numbers", [*over(ff.Ewma, ("s", 1)), *over(ff.ApproxQuantile, ("s", 0.5))]),
    *(
        (COLUMN, f"order.*'{column}'", over(operation, column))
        for operation in (ff.Min, ff.Max)
        for column in ("v", "struct", "interval")
    ),
    (COLUMN, r"'nanos', which is time64\[ns\]; expected time64\[us\]", over(ff.Min, "nanos")),
    (
        COLUMN,
        "needs a column whose values have an order; 'v' is list",
        [
            *over(ff.CountDistinct, "v"),
            *over(ff.First, "x", ties="v"),
            *over(ff.ArgMin, ("x", "v")),
            *over(ff.TopN, ("v", 1)),
            *over(ff.GroupedBy, (ff.Count(), "v")),
        ],
    ),
    (COLUMN, r"Concat\('i'\) needs a column of strings; 'i' is int64", over(ff.Concat, "i")),
    (COLUMN, "method='discrete' takes any type that has an order", over(ff.Median, "s")),
    (COLUMN, "cannot tell values of 'v' apart", [*over(ff.ApproxCountDistinct, "v"), *over(ff.FrequentItems, "v")]),
    (COLUMN, "column of serialized sketches", over(ff.ApproxCountDistinct, "x", of_sketches=True)),
    # arguments
    (QUERY, "ddof=", [partial(of, "x", ddof=n) for of in (ff.Variance, ff.StdDev) for n in (-1, 1.0, "1", None, True)]),
    (QUERY, "ddof= of", [partial(ff.Covariance, "x", "f", ddof=ddof) for ddof in (-1, 1.0, True, None)]),
    (QUERY, "empty=", [*over(ff.Sum, "x", empty="0"), *over(ff.Sum, "i", empty=0.5)]),
    (QUERY, "expected an integer of 1 or more", over(ff.FirstN, ("x", 0), ("x", -1), ("x", 1.5), ("x", True))),
    (QUERY, r"n= of TopN\('x'\) is 0; expected an integer of 1 or more", over(ff.TopN, ("x", 0))),
    (QUERY, "names a column twice", over(ff.TopN, ("x", 2, "x"))),
    (QUERY, r"delimiter= of Concat\('s'\) is 3; expected a string", over(ff.Concat, ("s", 3))),
    (
        QUERY,
        "expected a number from 0 to 1, or a list of such",
        over(ff.Quantile, *(("x", q) for q in (1.5, -0.1, math.nan, "0.5", [], [0.5, 2]))),
    ),
    (QUERY, "expected 'linear' or 'discrete'", over(ff.Quantile, ("x", 0.5), method="nearest")),
    (QUERY, "expected a duration above 0", over(ff.Ewma, ("x", 0), ("x", -1), ("x", "0 seconds"))),
    (ff.DurationError, "is not a duration", over(ff.Ewma, ("x", "soon"))),
    (QUERY, "expected a duration such as", over(ff.Ewma, ("x", 1.5))),
    (
        ff.DurationError,
        r"half_life= of Ewma\('x', 5\) is 5",
        [lambda: ff.Ewma("x", 5).at_times(TimeColumn("t", pa.timestamp("us")).duration)],
    ),
    # bins
    (QUERY, "expected two or more edges, ascending", bins("x", [], [1], [2, 1], [1, 1], 5, ["a", 1])),
    (QUERY, r"expected dates, such as datetime\.date\(2024, 1, 31\), as 'day' is date32", bins("day", [0, 1])),
    (QUERY, "expected dates", bins("day", ["a", "b"], [NOON, NOON + HOUR])),
    (QUERY, r"expected datetimes, such as datetime\.datetime\(", bins("at", [0, 10**18])),
    (QUERY, "expected datetimes", bins("at", [DAY, DAY + dt.timedelta(1)])),
    (QUERY, "datetimes with a time zone", bins("at", [dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1)])),
    (QUERY, "expected datetimes without a time zone", bins("seconds", [NOON, NOON.replace(year=2030)])),
    (
        QUERY,
        r"expected edges that timestamp\[s\] can hold",
        bins("seconds", [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 500_000)]),
    ),
    (QUERY, r"expected durations, such as datetime\.timedelta", bins("u", [0, 1])),
    (QUERY, "expected numbers, as 'i8' is int8", bins("i8", [DAY, DAY + dt.timedelta(1)])),
    (QUERY, "expected numbers", [*bins("i8", ["1", "2"]), *bins("f", [False, True])]),
    (
        COLUMN,
        "needs a column of numbers, dates, timestamps or durations for its bins; 's' is string",
        bins("s", [0, 1]),
    ),
    # operations of others
    (QUERY, "no operations", [ff.AllOf]),
    (QUERY, "AllOf's a= is given 3", [lambda: ff.AllOf(a=3)]),
    (QUERY, "without a dot", [lambda: ff.AllOf(**{"a.b": ff.Count()})]),
    (QUERY, r"such as ff.Sum\(...\)", over(ff.Filtered, (ff.Sum, "x"))),
    (QUERY, "predicate of Filtered", over(ff.Filtered, (ff.Sum("x"), 3))),
    (QUERY, "no columns to test", over(ff.Filtered, (ff.Count(), lambda: True))),
    (QUERY, "expected none", over(ff.Filtered, (ff.Sum("x"), "flag", "x"))),
    (COLUMN, "needs a boolean column; 's' is string", over(ff.Filtered, (ff.Sum("x"), "s"))),
    (FAULTY, "expected 16 booleans", over(ff.Filtered, (ff.Sum("x"), lambda x: x))),
    (QUERY, "expected a function", [*over(ff.Mapped, (ff.Sum("x"), "f")), lambda: ff.Sum("x").then("y")]),
    (QUERY, "takes no column", over(ff.Mapped, (ff.Count(), abs))),
    (FAULTY, "declare it", over(ff.Mapped, (ff.Sum("x"), lambda x: 1 / 0))),
    (FAULTY, "expected 16, one each", over(ff.Mapped, (ff.Sum("x"), lambda x: x[:1]))),
    (QUERY, "expected an Arrow type", over(ff.Mapped, (ff.Sum("x"), lambda x: x), type="int")),
    (COLUMN, "needs a column of numbers", over(ff.Mapped, (ff.Sum("y"), lambda s: s, "s"))),
    (COLUMN, "needs lists", over(ff.FlatMapped, ff.Sum("x"))),
    (FAULTY, "lists of 2 and of 1 items", over(ff.FlatMapped, ff.AllOf(a=ff.Sum("two"), b=ff.Sum("one")))),
    (QUERY, "GroupedBy is given 'x'", over(ff.GroupedBy, ("x", "s"))),
    (QUERY, "has no column", over(ff.ElementWise, ff.Count())),
    (COLUMN, "lists, or one of maps; 'x' is int32", over(ff.ElementWise, ff.Sum("x"))),
    (COLUMN, "lists, or one of maps", over(ff.ElementWise, ff.AllOf(a=ff.Sum("v"), b=ff.Sum("m")))),
    (
        FAULTY,
        "returned what cannot be a column",
        [lambda: ff.Sum("d").then(lambda d: [D(10) ** int(value * 20) for value in d.to_pylist()])],
    ),
    (
        FAULTY,
        r"cannot be told, as it fails on made-up events \(ZeroDivisionError",
        [lambda: ff.Sum("d").then(lambda d: 1 / 0)],
    ),
    # functions
    (QUERY, "combine of .* is 3", over(ff.Reducing, ("x", 0, 3))),
    (QUERY, "deduct of", over(ff.Reducing, ("x", 0, np.add, "-"))),
    (QUERY, "identity of .* is 'a'; expected a value of int64", over(ff.Reducing, ("x", "a", np.add))),
    (QUERY, "expected an Arrow type", over(ff.Reducing, ("x", 0, np.add), type="int")),
    (FAULTY, "expected the same type", over(ff.Reducing, ("x", 0, np.true_divide))),
    (FAULTY, "expected .* values", over(ff.Reducing, ("x", 0, lambda a, b: a.sum()))),
    (FAULTY, "read-only", over(ff.Reducing, ("x", 0, changing))),
    # arithmetic
    (
        QUERY,
        r"^'\*' between aggregates is given 'b'; expected an aggregate operation or a number",
        [lambda: ff.Sum("a") * "b"],
    ),
    (QUERY, r"given Count; expected .* such as ff.Count\(...\)", [lambda: ff.Sum("a") / ff.Count]),
    (QUERY, r"'\+' between aggregates is given None", [lambda: None + ff.Sum("a")]),
    (QUERY, "'-' between aggregates is given True", [lambda: ff.Sum("a") - True]),
    (QUERY, r"'\+' between aggregates is given a pyarrow Int64Array", [lambda: pa.array([1]) + ff.Sum("a")]),
    (COLUMN, r"needs numbers for its operands; Max\('s'\) gives string", [lambda: ff.Max("s") + 1]),
    (
        COLUMN,
        r"cannot be computed of timestamp\[s\] and timestamp\[s\]",
        [lambda: ff.Max("seconds") + ff.Min("seconds")],
    ),
    (
        QUERY,
        r"has .over\(...\) inside; expected it on the whole output",
        [lambda: ff.Sum("x").over(ff.tumbling(2)) / ff.Count()],
    ),
    # sketches
    (QUERY, "'ull'; expected 'hll' or 'cpc'", over(ff.ApproxCountDistinct, ("x", "ull"))),
    (QUERY, "expected an integer from 4 to 21", over(ff.ApproxCountDistinct, "x", precision=22)),
    (QUERY, "expected 'value' or 'sketch'", over(ff.ApproxCountDistinct, "x", output="bytes")),
    (QUERY, "expected an integer from 5 to 26", over(ff.ThetaSketch, ("x", 4))),
    (QUERY, "expected a number from 0 to 1", over(ff.ApproxQuantile, ("x", 1.5))),
    (QUERY, "expected 'kll', 'req' or 'tdigest'", over(ff.ApproxQuantile, ("x", 0.5, "gk"))),
    (QUERY, "expected an even number", over(ff.ApproxQuantile, ("x", 0.5, "req", 13))),
    (QUERY, "n= of", over(ff.FrequentItems, ("x", 0))),
    (QUERY, "with of_sketches=True only", over(ff.FrequentItems, "x", type=pa.int64())),
]
CALLS = [
    pytest.param(error, sentence, call, id=f"{at}.{number}")
    for at, (error, sentence, calls) in enumerate(REFUSALS)
    for number, call in enumerate(calls)
]


@pytest.mark.parametrize(("error", "sentence", "call"), CALLS)
def test_what_is_refused(error: type[Exception], sentence: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=sentence):
        ff.events(EVENTS, time="t").window(ff.sliding(5, every=1, gaps="allow")).aggregate(out=call())
