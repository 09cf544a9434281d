"""CountDistinct, CollectSet, Mode and DistinctSum against sets and counters of each window's own values."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import ANY, Row, assert_right, column, ordered, table_of

NAN = math.nan


def counted(rows: list[Row]) -> Counter[Any]:
    """How often each value occurs; NaN is one value."""
    return Counter(NAN if value != value else value for (value,) in rows if value is not None)


def mode(rows: list[Row]) -> Any:
    counts = counted(rows)
    return min(counts, key=lambda value: (-counts[value], ordered(value)), default=None)


@pytest.mark.parametrize("kind", ANY)
def test_every_type(kind: str) -> None:
    table = table_of(x=column(kind))
    assert_right(ff.CountDistinct("x"), table, lambda rows: len(counted(rows)), windows=[(5, 2)])
    assert_right(ff.CollectSet("x"), table, lambda rows: sorted(counted(rows), key=ordered), windows=[(5, 2)])
    assert_right(ff.Mode("x"), table, mode, windows=[(5, 2)])


@pytest.mark.parametrize(
    "kinds", [("string", "binary"), ("float64", "long decimal"), ("int8", "string"), ("date", "time")]
)
def test_several_columns(kinds: tuple[str, str]) -> None:
    """Pairs count, whatever their bytes put together would be: ("a", "ab") is not ("aa", "b")."""
    table = table_of(x=column(kinds[0], seed=1), y=column(kinds[1], seed=2))

    def right(rows: list[Row]) -> int:
        known = [row for row in rows if None not in row]
        return len({tuple(None if value != value else value for value in row) for row in known})

    assert_right(ff.CountDistinct("x", "y"), table, right, windows=[(5, 2), (24, 3)])


def test_every_window() -> None:
    table = table_of(x=pa.array(np.random.default_rng(0).integers(0, 40, 220)))
    assert_right(ff.CountDistinct("x"), table, lambda rows: len(counted(rows)))
    assert_right(ff.Mode("x"), table, mode)
    assert_right(ff.DistinctSum("x"), table, lambda rows: sum(counted(rows)))


@pytest.mark.parametrize("kind", ["int8", "float32", "short decimal", "long decimal"])
def test_distinct_sum(kind: str) -> None:
    table = table_of(x=column(kind))

    def right(rows: list[Row]) -> Any:
        values = list(counted(rows))
        if values and all(isinstance(value, float) and math.isfinite(value) for value in values):
            return float(sum(map(Fraction, values)))
        with localcontext(prec=60):
            return sum(values, type(values[0])(0)) if values else None

    assert_right(ff.DistinctSum("x"), table, right, windows=[(5, 2), (24, 3)])


def test_distinct_sum_does_not_wrap() -> None:
    table = pa.table({"t": [0, 0, 0], "x": [2**63 - 1, 2**63 - 1, 1]})
    query = ff.events(table, time="t").window(ff.tumbling(1))
    with pytest.raises(ff.SumOverflowError):
        query.aggregate(x=ff.DistinctSum("x"))
    table = table.set_column(1, "x", pa.array([Decimal("1.5")] * 3, pa.decimal128(4, 2)))
    found = ff.events(table, time="t").window(ff.tumbling(1)).aggregate(x=ff.DistinctSum("x"))
    assert found.schema.field("x").type == pa.decimal128(14, 2)
    assert found["x"].to_pylist() == [Decimal("1.50")]


def test_many_values_and_many_frames() -> None:
    """More than fit an array of counts: the same by sorting."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**62, 500)[rng.integers(0, 500, 3000)]
    table = pa.table({"t": rng.integers(0, 50, 3000), "key": np.zeros(3000, int), "x": values})
    assert_right(ff.CountDistinct("x"), table, lambda rows: len(counted(rows)), windows=[(5, 2)])


def test_wrong_types() -> None:
    query = ff.events(pa.table({"t": [0], "x": ["a"], "y": [[1]]}), time="t").window(ff.tumbling(1))
    with pytest.raises(ff.ColumnError, match="needs a column of numbers"):
        query.aggregate(x=ff.DistinctSum("x"))
    with pytest.raises(ff.ColumnError, match="needs a column whose values have an order; 'y' is list"):
        query.aggregate(x=ff.CountDistinct("y"))
