"""Keys compare as the values do, and give them back."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold.aggregators.ordered.sort_keys import Order, objects, restored, stored

from ..oracles.brute import ANY, VALUES, ordered, same


@pytest.mark.parametrize("kind", ANY)
def test_keys_and_ranks_are_in_the_order_of_the_values(kind: str) -> None:
    type, values = VALUES[kind]
    order = Order(ff.Min("x"), "x", type)
    column = pa.array([values[0], *values], type)[1:]  # with an offset
    keys, ranks = order.keys(column), order.ranks(column)
    for i, j in itertools.product(range(len(values)), repeat=2):
        less = ordered(values[i]) < ordered(values[j]) and values[i] == values[i]
        assert bool(keys[i] < keys[j]) == bool(ranks[i] < ranks[j]) == less
    assert same(order.values(keys).to_pylist(), values)
    assert order.values(keys).type == type


@pytest.mark.parametrize("kind", ANY)
def test_values_that_are_masked(kind: str) -> None:
    type, values = VALUES[kind]
    order = Order(ff.Min("x"), "x", type)
    found = order.values(order.keys(pa.array(values, type)), np.arange(len(values)) == 0)
    assert same(found.to_pylist(), [None, *values[1:]])


@pytest.mark.parametrize("kind", ANY)
def test_stored_values_come_back(kind: str) -> None:
    type, values = VALUES[kind]
    plane, known = stored(pa.array([None, *values], type))
    assert same(restored(plane, type, ~known).to_pylist(), [None, *values])


def test_equal_keys() -> None:
    order = Order(ff.Min("x"), "x", pa.float64())
    assert len(set(order.keys(np.array([0.0, -0.0])).tolist())) == 1
    assert len(set(order.keys(np.array([math.nan, -math.nan])).tolist())) == 1


def test_lists_of_one_length_stay_apart() -> None:
    assert objects(pa.array([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]


def test_no_order() -> None:
    with pytest.raises(ff.ColumnError, match=r"Min\('x'\) needs a column whose values have an order; 'x' is list"):
        Order(ff.Min("x"), "x", pa.list_(pa.int64()))
