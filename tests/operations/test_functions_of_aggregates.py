"""Functions and powers of aggregates, and sums of booleans: as pandas has them, locally and on Spark."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
import operator
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import overrides

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRAME = pd.DataFrame({"t": range(9), "x": [3, -4, 5, 1, 2, -9, 8, 8, 7], "f": [n % 3 == 0 for n in range(9)]})
WINDOW = ff.tumbling(4)
OUTPUTS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "log": (np.log(ff.Max("x")), lambda x, f: np.log(x.max())),
    "absolute": (abs(ff.Sum("x")), lambda x, f: abs(x.sum())),
    "numpy_absolute": (np.abs(ff.Sum("x")), lambda x, f: abs(x.sum())),
    "squared": (ff.Sum("x") ** 2, lambda x, f: float(x.sum() ** 2)),
    "roots": (np.sqrt(ff.Max("x")) + np.float64(1) * ff.Count(), lambda x, f: np.sqrt(x.max()) + len(x)),
    "powers": (2 ** ff.Count() ** np.float64(0.5), lambda x, f: 2 ** len(x) ** 0.5),
    "negative": (np.negative(ff.Sum("x")), lambda x, f: -x.sum()),
    "true": (ff.Sum("f"), lambda x, f: f.sum()),
    "share": (ff.Average("f"), lambda x, f: f.mean()),
}
"""Functions of aggregates, and what they are of the values of a window."""


def aggregate(events: Any, **choices: Any) -> Any:
    outputs = {name: operation for name, (operation, _) in OUTPUTS.items()}
    return ff.events(events, time="t").options(**choices).window(WINDOW).aggregate(**outputs)


def assert_expected(found: pa.Table) -> None:
    groups = [group for _, group in FRAME.groupby(FRAME["t"] // 4)]
    for name, (_, right) in OUTPUTS.items():
        assert found[name].to_pylist() == pytest.approx([right(each["x"], each["f"]) for each in groups], rel=1e-14), (
            name
        )


def test_local() -> None:
    result = aggregate(pa.Table.from_pandas(FRAME))
    assert result.schema.field("true").type == pa.int64()
    assert_expected(result)


@pytest.mark.parametrize("accumulate", ["python", "spark"])
def test_spark(spark: SparkSession, accumulate: str) -> None:
    frame = spark.createDataFrame(FRAME).repartition(3)
    assert_expected(aggregate(frame, accumulate=accumulate).orderBy("window").toArrow())


def test_nulls_and_no_values_of_booleans() -> None:
    events = pa.table({"t": [0, 1, 2, 5], "f": [True, None, False, None]})
    query = ff.events(events, time="t").window(ff.tumbling(4))
    found = query.aggregate(true=ff.Sum("f"), share=ff.Average("f"), none=ff.Sum("f", empty=0))
    assert found.select(["true", "share", "none"]).to_pylist() == [
        {"true": 1, "share": 0.5, "none": 1},
        {"true": None, "share": None, "none": 0},
    ]
    ff.check_laws(ff.Sum("f"), events, examples=20)
    ff.check_laws(ff.Average("f"), events, examples=20)


@pytest.mark.parametrize(
    ("values", "result"),
    [([decimal.Decimal("-1.50")], decimal.Decimal("1.50")), ([dt.timedelta(hours=-2)], dt.timedelta(hours=2))],
)
def test_absolute_of_other_types(values: list[Any], result: Any) -> None:
    query = ff.events(pa.table({"t": [0], "x": values}), time="t").window(WINDOW)
    assert query.aggregate(a=abs(ff.Sum("x")))["a"].to_pylist() == [result]


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ff.QueryError, match=r"'\*\*' between aggregates is given 'a'"):
        ff.Sum("x") ** "a"
    words = ff.events(pa.table({"t": [0], "x": ["a"]}), time="t").window(WINDOW)
    with pytest.raises(ff.ColumnError, match="needs numbers for its operands"):
        words.aggregate(a=ff.Max("x") ** 2)
    large = ff.events(pa.table({"t": [0], "x": pa.array([-(2**63)], pa.int64())}), time="t").window(WINDOW)
    with pytest.raises(ff.OperationError, match="overflow"):
        large.aggregate(a=abs(ff.Max("x")))
    for function in (np.negative, np.square, np.add):
        with pytest.raises(ff.QueryError, match=r"is given out=Max\('x'\); expected np.\w+ without out="):
            function(*[ff.Sum("x")] * function.nin, out=ff.Max("x"))


def functions() -> list[Callable[..., Any]]:
    """What Python and numpy compute of one value or two."""
    others = {
        "attrgetter",
        "call",
        "concat",
        "contains",
        "countOf",
        "getitem",
        "indexOf",
        "is_",
        "is_not",
        "itemgetter",
    }
    others |= {"methodcaller", "iconcat", "index", "length_hint"}
    operators = [getattr(operator, name) for name in operator.__all__ if name not in others]
    return [*operators, round, divmod, math.floor, math.ceil, math.trunc, *overrides.get_overridable_numpy_ufuncs()]


def test_every_function_is_one_of_results_or_is_refused_with_the_way() -> None:
    """numpy and Python say what each function gives of results; the way in the sentence gives it, too."""
    x = FRAME["x"].groupby(FRAME["t"] // 4)
    values, operations = [np.array(x.sum()), np.array(x.max())], [ff.Sum("x"), ff.Max("x")]
    for each in values:
        each.flags.writeable = False  # or `np.square(a, b)` would write into b
    outputs, right = {}, {}
    for function, first, second in itertools.product(functions(), (0, 2), (None, 1, 2)):
        given = [part for part in (first, second) if part is not None]
        if given == [2, 2] or (given == [2] and second is None):
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                of = np.vectorize(function) if function in (math.floor, math.ceil, math.trunc) else function
                expected = of(*(([*values, 2])[part] for part in given))
            except (TypeError, ValueError):
                continue  # not of integers, or not of so many
        name, expected = f"{function.__name__} {given}", expected[0] if isinstance(expected, tuple) else expected
        if np.shape(expected) != values[0].shape:
            continue  # one value of them all
        right[name] = expected
        try:
            outputs[name] = function(*(([*operations, 2])[part] for part in given))
        except ff.QueryError as error:
            outputs[name] = eval(str(error).partition("of results: ")[2], {"ff": ff, "np": np} | vars(ff))
    assert len(right) > 150
    found = ff.events(pa.Table.from_pandas(FRAME), time="t").window(WINDOW).aggregate(**outputs)
    for name, expected in right.items():
        np.testing.assert_allclose(found[name].to_numpy(), expected, rtol=1e-12, err_msg=name)


def test_nothing_takes_an_operation_for_a_value() -> None:
    """Truth, order, numbers and functions of numpy: each is refused in a sentence, and so it is of expressions."""
    total = ff.Sum("x")
    calls: list[Callable[[Any], Any]] = [
        *(lambda some: some and 1, lambda some: 0 < some < 2, lambda some: 1 in some, lambda some: some[0]),
        *(bool, float, int, complex, max, range, math.sqrt, operator.index, operator.not_),
        *(lambda some, each=each: each([some, some]) for each in (max, sorted, any, np.concatenate, np.sort)),
        *(function for function in overrides.get_overridable_numpy_array_functions() if "like" not in function.__doc__),
    ]
    for call, some in itertools.product(calls, (total, ff.expr("x"))):
        with pytest.raises((ff.QueryError, TypeError)) as caught:
            call(some)
        assert isinstance(caught.value, ff.QueryError) or "argument" in str(caught.value)  # numpy needs more of them
    way = "expected a function of whole columns of results: Sum('x').then(lambda a: np.round(a, decimals=2))"
    for wrong, sentence in (
        (lambda: np.round(total, decimals=2), f"np.round(Sum('x'), decimals=2) is no aggregate; {way}"),
        (lambda: total and ff.Sum("y"), "Sum('x') has no truth value, as and, or, not, if and chains"),
        (
            lambda: ff.expr("x") and 1,
            "expr('x') has no truth value, as and, or, not and if need; expected all of it in",
        ),
    ):
        with pytest.raises(ff.QueryError) as caught:
            wrong()
        assert str(caught.value).startswith(sentence)


def test_what_a_function_of_results_gets_follows_from_their_type() -> None:
    seen: dict[str, Any] = {}
    values = {
        "numpy.ndarray": [1, 1.5, True, dt.datetime(2026, 1, 1), dt.date(2026, 1, 1), dt.timedelta(1)],
        "pyarrow.lib": ["a", b"a", decimal.Decimal("1.5"), [1, 2], dt.time(1)],
        "builtins.dict": [{"a": 1, "b": "x"}],
    }
    for expected, each in ((kind, value) for kind, some in values.items() for value in some):

        def kept(results: Any) -> Any:
            seen["kind"] = f"{type(results).__module__}.{type(results).__name__}"
            return np.zeros(len(results["a"] if isinstance(results, dict) else results))

        query = ff.events(pa.table({"t": [0], "v": [each]}), time="t").window(WINDOW)
        assert query.aggregate(r=ff.Last("v").then(kept, result="float64"))["r"].to_pylist() == [0.0]
        assert seen["kind"].startswith(expected), (each, seen)
