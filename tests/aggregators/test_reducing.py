"""Reducing, against functools.reduce on each window's values."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.composites import check, events, known
from ..support.plans import BoundAggregate


@pytest.mark.parametrize(
    ("make", "one"),
    [
        (lambda: ff.Reducing("x", 0, np.add, np.subtract), lambda a, b: a + b),
        (lambda: ff.Reducing("x", 0, np.bitwise_xor, np.bitwise_xor), lambda a, b: a ^ b),
        (lambda: ff.Reducing("x", 0, lambda a, b: a | b), lambda a, b: a | b),
        (lambda: ff.Reducing("x", -(2**63), np.maximum), max),
        (lambda: ff.Reducing("flag", False, np.logical_or), lambda a, b: a or b),
        (lambda: ff.Reducing("f", math.inf, np.minimum), min),
        (lambda: ff.Reducing("s", "", lambda a, b: a + b), lambda a, b: a + b),
    ],
)
def test_reducing(make: Any, one: Any) -> None:
    operation = make()

    def expected(rows: list[Any]) -> Any:
        return functools.reduce(one, known(rows, operation.columns[0]), operation.identity)

    check(make, expected, seeds=1)


def test_order_is_found_by_a_trial() -> None:
    assert BoundAggregate("out", ff.Reducing("x", 0, np.add), [pa.int64()]).commutative
    assert not BoundAggregate("out", ff.Reducing("s", "", lambda a, b: a + b), [pa.string()]).commutative


def test_deduct_is_used_where_it_is_exact() -> None:
    assert BoundAggregate("out", ff.Reducing("x", 0, np.add, np.subtract), [pa.int16()]).deducts[0]
    assert not BoundAggregate("out", ff.Reducing("f", 0.0, np.add, np.subtract), [pa.float64()]).deducts[0]
    assert not BoundAggregate("out", ff.Reducing("x", 0, np.add), [pa.int64()]).deducts[0]


def test_types() -> None:
    table = pa.table({"t": [0, 1], "x": pa.array([100, 100], pa.int8())})
    query = ff.events(table, time="t").window(ff.tumbling(5))
    result = query.aggregate(a=ff.Reducing("x", 0, np.add), b=ff.Reducing("x", 1.0, np.multiply, type=pa.float64()))
    assert result.schema.field("a").type == pa.int64()
    assert result.select(["a", "b"]).to_pylist() == [{"a": 200, "b": 10000.0}]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ff.Reducing("x", 0, 3), ff.QueryError, "combine of .* is 3"),
        (lambda: ff.Reducing("x", 0, np.add, "-"), ff.QueryError, "deduct of"),
        (lambda: ff.Reducing("x", "a", np.add), ff.QueryError, "identity of .* is 'a'; expected a value of int64"),
        (lambda: ff.Reducing("x", 0, np.add, type="int"), ff.QueryError, "expected an Arrow type"),
        (lambda: ff.Reducing("x", 0, np.true_divide), ff.OperationError, "expected the same type"),
        (lambda: ff.Reducing("x", 0, lambda a, b: a.sum()), ff.OperationError, "expected .* values"),
    ],
)
def test_what_is_put_wrongly(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ff.events(events(), time="t").window(ff.sliding(5, every=1)).aggregate(out=make())


def test_a_function_cannot_change_states() -> None:
    def changing(a: Any, b: Any) -> Any:
        a += b
        return a

    with pytest.raises(ff.OperationError, match="read-only"):
        ff.events(events(), time="t").window(ff.sliding(5, every=1)).aggregate(out=ff.Reducing("x", 0, changing))
