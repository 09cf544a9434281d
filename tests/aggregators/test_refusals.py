"""What operations refuse, their arguments and the types of their columns, and in which sentence."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal as D
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import DAY, NOON
from ..oracles.composites import events
from ..support.windows import TimeColumn

MIDNIGHT = dt.datetime(2024, 1, 1)
LATER = [dt.timedelta(1), dt.timedelta(seconds=0.5)]
OTHER_COLUMNS = {
    "i": pa.array([1], pa.int64()),
    "i8": pa.array([1], pa.int8()),
    "d": pa.array([D("1.25")], pa.decimal128(10, 2)),
    "b": pa.array([b""], pa.binary()),
    "day": pa.array([DAY], pa.date32()),
    "at": pa.array([NOON], pa.timestamp("us", "UTC")),
    "seconds": pa.array([MIDNIGHT], pa.timestamp("s")),
    "u": pa.array([LATER[0]], pa.duration("us")),
    "time": pa.array([dt.time(1)], pa.time64("us")),
    "nanos": pa.array([1], pa.time64("ns")),
    "one": pa.array([[1]]),
    "two": pa.array([[1, 2]]),
    "struct": pa.array([{"a": 1}], pa.struct({"a": pa.int8()})),
    "interval": pa.array([None], pa.month_day_nano_interval()),
}
EVENTS = events()
for name, column in OTHER_COLUMNS.items():
    EVENTS = EVENTS.append_column(name, column.take(pa.array([0] * len(EVENTS))))


def changing(a: Any, b: Any) -> Any:
    a += b
    return a


def bins(column: str) -> Callable[[Any], Any]:
    return lambda edges: ff.Histogram(column, bins=edges)


OF_COLUMNS: list[tuple[str, list[Any]]] = [
    *(
        (f"needs a column of numbers.*'{name}'", [of(name) for of in (ff.Sum, ff.Average, ff.Variance, ff.StdDev)])
        for name in ("s", "b", "day", "at", "v")
    ),
    ("needs a column of numbers", [ff.DistinctSum("s"), ff.Ewma("s", 1), ff.ApproxQuantile("s", 0.5)]),
    ("needs a column of numbers", [ff.Mapped(ff.Sum("y"), lambda s: s, "s"), ff.TimeWeightedAverage("s")]),
    ("'s' is string", [ff.GeometricMean("s"), ff.HarmonicMean("s"), ff.RootMeanSquare("s"), ff.Product("s")]),
    ("'s' is string", [ff.Skewness("s"), ff.Kurtosis("s"), ff.Covariance("x", "s"), ff.Correlation("x", "s")]),
    ("'flag' is bool", [ff.WeightedAverage("f", "flag"), ff.LinearTrend("flag", "x")]),
    ("'at' is timestamp", [ff.LinearTrend("x", "at")]),
    ("'i' is int64", [ff.CountIf("i"), ff.BoolAnd("i"), ff.BoolOr("i")]),
    *(("needs a column of integers", [ff.BitAnd(of), ff.BitOr(of), ff.BitXor(of)]) for of in ("f", "flag", "d")),
    ("numbers, dates, timestamps or durations", [ff.Range("s"), ff.Range("flag"), ff.Range("v"), ff.Range("time")]),
    ("numbers, dates, timestamps or durations for its bins; 's' is string", [ff.Histogram("s", bins=[0, 1])]),
    *((f"order.*'{name}'", [ff.Min(name), ff.Max(name)]) for name in ("v", "struct", "interval")),
    ("whose values have an order; 'v' is list", [ff.CountDistinct("v"), ff.First("x", ties="v"), ff.ArgMin("x", "v")]),
    ("whose values have an order; 'v' is list", [ff.TopN("v", 1), ff.GroupedBy(ff.Count(), "v")]),
    (r"'nanos', which is time64\[ns\]; expected time64\[us\]", [ff.Min("nanos")]),
    (r"Concat\('i'\) needs a column of strings; 'i' is int64", [ff.Concat("i")]),
    ("method='discrete' takes any type that has an order", [ff.Median("s")]),
    ("cannot tell values of 'v' apart", [ff.ApproxCountDistinct("v"), ff.FrequentItems("v")]),
    ("column of serialized sketches", [ff.ApproxCountDistinct("x", of_sketches=True)]),
    ("needs a boolean column; 's' is string", [ff.Filtered(ff.Sum("x"), "s")]),
    ("needs lists", [ff.FlatMapped(ff.Sum("x"))]),
    ("lists, or one of maps; 'x' is int32", [ff.ElementWise(ff.Sum("x"))]),
    ("lists, or one of maps", [ff.ElementWise(ff.AllOf(a=ff.Sum("v"), b=ff.Sum("m")))]),
    (r"needs numbers for its operands; Max\('s'\) gives string", [ff.Max("s") + 1]),
    (r"cannot be computed of timestamp\[s\] and timestamp\[s\]", [ff.Max("seconds") + ff.Min("seconds")]),
]
OF_FUNCTIONS: list[tuple[str, Any]] = [
    ("expected 16 booleans", ff.Filtered(ff.Sum("x"), lambda x: x)),
    ("declare it", ff.Mapped(ff.Sum("x"), lambda x: 1 / 0)),
    ("expected 16, one each", ff.Mapped(ff.Sum("x"), lambda x: x[:1])),
    ("lists of 2 and of 1 items", ff.FlatMapped(ff.AllOf(a=ff.Sum("two"), b=ff.Sum("one")))),
    ("returned what cannot be a column", ff.Sum("d").then(lambda d: [D(10) ** int(x * 20) for x in d.to_pylist()])),
    (r"cannot be told, as it fails on made-up events \(ZeroDivisionError", ff.Sum("d").then(lambda d: 1 / 0)),
    ("expected the same type", ff.Reducing("x", 0, np.true_divide)),
    ("expected .* values", ff.Reducing("x", 0, lambda a, b: a.sum())),
    ("read-only", ff.Reducing("x", 0, changing)),
]
OF_ARGUMENTS: list[tuple[str, Callable[[Any], Any], list[Any]]] = [
    ("ddof=", lambda ddof: ff.Variance("x", ddof=ddof), [-1, 1.0, "1", None, True, False]),
    ("ddof= of", lambda ddof: ff.Covariance("x", "f", ddof=ddof), [-1, 1.0, True, None]),
    ("empty=", lambda empty: ff.Sum("i", empty=empty), ["0", 0.5]),
    ("expected an integer of 1 or more", lambda n: ff.FirstN("x", n), [0, -1, 1.5, True]),
    (r"n= of TopN\('x'\) is 0; expected an integer of 1 or more", lambda n: ff.TopN("x", n), [0]),
    ("names a column twice", lambda name: ff.TopN("x", 2, name), ["x"]),
    (r"delimiter= of Concat\('s'\) is 3; expected a string", lambda delimiter: ff.Concat("s", delimiter), [3]),
    ("expected a number from 0 to 1, or a list of such", lambda q: ff.Quantile("x", q),
        [1.5, -0.1, math.nan, "0.5", [], [0.5, 2]]),
    ("expected 'linear' or 'discrete'", lambda method: ff.Quantile("x", 0.5, method=method), ["nearest"]),
    ("expected a duration above 0", lambda half_life: ff.Ewma("x", half_life), [0, -1, "0 seconds"]),
    ("expected a duration such as", lambda half_life: ff.Ewma("x", half_life), [1.5]),
    # bins
    ("expected two or more edges, ascending", bins("x"), [[], [1], [2, 1], [1, 1], 5, ["a", 1]]),
    (r"expected dates, such as datetime\.date\(2024, 1, 31\), as 'day' is date32", bins("day"), [[0, 1]]),
    ("expected dates", bins("day"), [["a", "b"], [NOON, NOON + LATER[0]]]),
    (r"expected datetimes, such as datetime\.datetime\(", bins("at"), [[0, 10**18], [DAY, DAY + LATER[0]]]),
    ("datetimes with a time zone", bins("at"), [[MIDNIGHT, MIDNIGHT + LATER[0]]]),
    ("expected datetimes without a time zone", bins("seconds"), [[NOON, NOON + LATER[0]]]),
    (r"expected edges that timestamp\[s\] can hold", bins("seconds"), [[MIDNIGHT, MIDNIGHT + LATER[1]]]),
    (r"expected durations, such as datetime\.timedelta", bins("u"), [[0, 1]]),
    ("expected numbers, as 'i8' is int8", bins("i8"), [[DAY, DAY + LATER[0]], ["1", "2"]]),
    ("expected numbers", bins("f"), [[False, True]]),
    # operations made of others
    ("no operations", lambda parts: ff.AllOf(**parts), [{}]),
    ("AllOf's a= is given 3", lambda part: ff.AllOf(a=part), [3]),
    ("without a dot", lambda name: ff.AllOf(**{name: ff.Count()}), ["a.b"]),
    (r"such as ff.Sum\(...\)", lambda of: ff.Filtered(of, "x"), [ff.Sum]),
    ("predicate of Filtered", lambda predicate: ff.Filtered(ff.Sum("x"), predicate), [3]),
    ("no columns to test", lambda predicate: ff.Filtered(ff.Count(), predicate), [lambda: True]),
    ("expected none", lambda column: ff.Filtered(ff.Sum("x"), "flag", column), ["x"]),
    ("expected a function", lambda function: ff.Mapped(ff.Sum("x"), function), ["f"]),
    ("expected a function", lambda function: ff.Sum("x").then(function), ["y"]),
    ("takes no column", lambda of: ff.Mapped(of, abs), [ff.Count()]),
    ("expected an Arrow type", lambda type: ff.Mapped(ff.Sum("x"), lambda x: x, type=type), ["int"]),
    ("GroupedBy is given 'x'", lambda of: ff.GroupedBy(of, "s"), ["x"]),
    ("has no column", ff.ElementWise, [ff.Count()]),
    ("combine of .* is 3", lambda combine: ff.Reducing("x", 0, combine), [3]),
    ("deduct of", lambda deduct: ff.Reducing("x", 0, np.add, deduct), ["-"]),
    ("identity of .* is 'a'; expected a value of int64", lambda identity: ff.Reducing("x", identity, np.add), ["a"]),
    ("expected an Arrow type", lambda type: ff.Reducing("x", 0, np.add, type=type), ["int"]),
    # arithmetic
    (r"^'\*' between aggregates is given 'b'; expected an aggregate .* number", lambda b: ff.Sum("a") * b, ["b"]),
    (r"given Count; expected .* such as ff.Count\(...\)", lambda b: ff.Sum("a") / b, [ff.Count]),
    (r"'\+' between aggregates is given None", lambda a: a + ff.Sum("a"), [None]),
    ("'-' between aggregates is given True", lambda b: ff.Sum("a") - b, [True]),
    (r"'\+' between aggregates is given a pyarrow Int64Array", lambda a: a + ff.Sum("a"), [pa.array([1])]),
    (r"has .over\(...\) inside; expected it on the whole output",
        lambda window: ff.Sum("x").over(window) / ff.Count(), [ff.tumbling(2)]),
    # sketches
    ("'ull'; expected 'hll' or 'cpc'", lambda method: ff.ApproxCountDistinct("x", method), ["ull"]),
    ("expected an integer from 4 to 21", lambda bits: ff.ApproxCountDistinct("x", precision=bits), [22]),
    ("expected 'value' or 'sketch'", lambda output: ff.ApproxCountDistinct("x", output=output), ["bytes"]),
    ("expected an integer from 5 to 26", lambda precision: ff.ThetaSketch("x", precision), [4]),
    ("expected a number from 0 to 1", lambda q: ff.ApproxQuantile("x", q), [1.5]),
    ("expected 'kll', 'req' or 'tdigest'", lambda method: ff.ApproxQuantile("x", 0.5, method), ["gk"]),
    ("expected an even number", lambda precision: ff.ApproxQuantile("x", 0.5, "req", precision), [13]),
    ("n= of", lambda n: ff.FrequentItems("x", n), [0]),
    ("with of_sketches=True only", lambda type: ff.FrequentItems("x", type=type), [pa.int64()]),
]  # fmt: skip


def ask(operation: Any) -> None:
    ff.events(EVENTS, time="t").window(ff.sliding(5, every=1, gaps="allow")).aggregate(out=operation)


@pytest.mark.parametrize(("sentence", "operations"), OF_COLUMNS)
def test_types_of_columns(sentence: str, operations: list[Any]) -> None:
    for operation in operations:
        with pytest.raises(ff.ColumnError, match=sentence):
            ask(operation)


@pytest.mark.parametrize(("sentence", "operation"), OF_FUNCTIONS)
def test_functions(sentence: str, operation: Any) -> None:
    with pytest.raises(ff.OperationError, match=sentence):
        ask(operation)


@pytest.mark.parametrize(("sentence", "call", "values"), OF_ARGUMENTS)
def test_arguments(sentence: str, call: Callable[[Any], Any], values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ff.QueryError, match=sentence):
            ask(call(value))


def test_half_lives_that_are_no_durations() -> None:
    with pytest.raises(ff.DurationError, match="is not a duration"):
        ff.Ewma("x", "soon")
    with pytest.raises(ff.DurationError, match=r"half_life= of Ewma\('x', 5\) is 5"):
        ff.Ewma("x", 5).at_times(TimeColumn("t", pa.timestamp("us")).duration)
