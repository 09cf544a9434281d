"""Products against exact fractions of each window's own values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.numeric import STREAMS, Row, assert_right, drawn, rounded


def product(rows: list[Row]) -> float | None:
    values = [float(row[0]) for row in rows]
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        return math.prod(
            value if value == 0 or not math.isfinite(value) else math.copysign(1, value) for value in values
        )
    return rounded(math.prod(map(Fraction, values)))


@pytest.mark.parametrize("stream", STREAMS)
def test_of_awkward_values(stream: str) -> None:
    assert_right(ff.Product("x"), {"x": drawn(STREAMS[stream], 60, 5)}, product)


def test_of_zeros_passing_through() -> None:
    assert_right(ff.Product("x"), {"x": drawn([0.0, 1e200, 1e-200, -2.0, 3.0, 0.1, 7.0, 9.0], 80, 5)}, product)


@pytest.mark.parametrize("type", [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(12, 3)], ids=str)
def test_types(type: pa.DataType) -> None:
    assert_right(ff.Product("x"), {"x": drawn([1, 2, 3, 5, 100], 60, 4, type)}, product)


@pytest.mark.parametrize("rows", [1, 511, 512, 513, 1024, 300_000])
def test_many_factors_in_one_frame(rows: int) -> None:
    factors = np.where(np.arange(2 * rows) % 2 == 0, 2.0**-900, 2.0**900)
    factors[-1] = factors[-2] = -3.0
    table = pa.table({"t": np.arange(2 * rows) % 2, "x": factors})
    apart = ff.events(table, time="t").window(ff.tumbling(1)).aggregate(p=ff.Product("x"))["p"].to_pylist()
    assert apart == ([-0.0, -math.inf] if rows > 1 else [-3.0, -3.0])
    whole = ff.events(table, time="t").window(ff.tumbling(2)).aggregate(p=ff.Product("x"))["p"].to_pylist()
    assert whole == [9.0]


def test_needs_numbers() -> None:
    with pytest.raises(ff.ColumnError, match="'x' is string"):
        ff.Product("x").bind(pa.string())
