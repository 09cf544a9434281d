"""Functions and powers of aggregates, and sums of booleans: as pandas has them, locally and on Spark."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
    one_column = r"numpy\.\w+ is given Sum\('x'\); expected a function of one column"
    for wrong, sentence in (
        (lambda: np.maximum(ff.Sum("x"), ff.Sum("y")), one_column),
        (lambda: np.add.reduce(ff.Sum("x")), one_column),
        (lambda: np.log(ff.Sum("x"), where=False), one_column),
        (lambda: np.maximum(ff.Sum("x"), 3), r"numpy.maximum is given .* of one column .* or .then .* ff.AllOf"),
        (lambda: ff.Sum("x") ** "a", r"'\*\*' between aggregates is given 'a'"),
    ):
        with pytest.raises(ff.QueryError, match=sentence):
            wrong()
    words = ff.events(pa.table({"t": [0], "x": ["a"]}), time="t").window(WINDOW)
    with pytest.raises(ff.ColumnError, match="needs numbers for its operands"):
        words.aggregate(a=ff.Max("x") ** 2)
    large = ff.events(pa.table({"t": [0], "x": pa.array([-(2**63)], pa.int64())}), time="t").window(WINDOW)
    with pytest.raises(ff.OperationError, match="overflow"):
        large.aggregate(a=abs(ff.Max("x")))
