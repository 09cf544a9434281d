"""CountIf, BoolAnd, BoolOr and the bits of integers against Python's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.numeric import Row, assert_right, drawn, exactly
from ..support.plans import BoundAggregate

BITS = [(ff.BitAnd("x"), and_), (ff.BitOr("x"), or_), (ff.BitXor("x"), xor)]


def of_values(function: Callable[[list[Any]], Any], empty: Any = None) -> Callable[[list[Row]], Any]:
    return lambda rows: function([row[0] for row in rows]) if rows else empty


@pytest.mark.parametrize(
    ("operation", "right"),
    [(ff.CountIf("x"), of_values(sum, 0)), (ff.BoolAnd("x"), of_values(all)), (ff.BoolOr("x"), of_values(any))],
    ids=["count", "and", "or"],
)
@pytest.mark.parametrize("values", [[True, False], [True] * 9 + [False], [True] + [False] * 9], ids=len)
def test_booleans(operation: Any, right: Any, values: list[bool]) -> None:
    assert_right(operation, {"x": drawn(values, 100, 1, pa.bool_())}, right, exactly)


@pytest.mark.parametrize("type", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()], ids=str)
@pytest.mark.parametrize(("operation", "join"), BITS, ids=["and", "or", "xor"])
def test_bits(operation: Any, join: Any, type: pa.DataType) -> None:
    width = type.bit_width - (0 if "u" in str(type) else 1)
    values = [0, 1, 6, 7, 2**width - 1, 2**width - 2, 2 ** (width - 1)]
    if width % 2:
        values += [-1, -2, -(2**width)]
    right = of_values(lambda some: reduce(join, some))
    assert_right(operation, {"x": drawn(values, 60, 2, type)}, right, exactly)
    assert BoundAggregate("x", operation, [type]).result == type


def test_what_deducts() -> None:
    integers = {operation: BoundAggregate("x", operation, [pa.int32()]).deducts[0] for operation, _ in BITS}
    assert [*integers.values()] == [False, False, True]
    assert all(
        BoundAggregate("x", operation("x"), [pa.bool_()]).deducts[0]
        for operation in (ff.CountIf, ff.BoolAnd, ff.BoolOr)
    )


def test_an_odd_pair_cancels_and_is_still_a_window() -> None:
    events = pa.table({"t": [0, 1], "x": [5, 5]})
    result = ff.events(events, time="t").window(ff.tumbling(2)).aggregate(x=ff.BitXor("x"))
    assert result["x"].to_pylist() == [0]


@pytest.mark.parametrize("operation", [ff.CountIf, ff.BoolAnd, ff.BoolOr])
def test_needs_booleans(operation: Any) -> None:
    with pytest.raises(ff.ColumnError, match="'x' is int64"):
        operation("x").bind(pa.int64())


@pytest.mark.parametrize("operation", [ff.BitAnd, ff.BitOr, ff.BitXor])
@pytest.mark.parametrize("type", [pa.float64(), pa.bool_(), pa.decimal128(5, 0)], ids=str)
def test_needs_integers(operation: Any, type: pa.DataType) -> None:
    with pytest.raises(ff.ColumnError, match="needs a column of integers"):
        operation("x").bind(type)
