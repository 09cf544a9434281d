"""Keys compare as the values do, and give them back; merging sorted lists is sorting their items."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.ordered.sort_keys import Order, objects, restored, stored
from framefold.aggregators.ordered.sorted_merge import merge, rows_by_frame

from ..oracles.brute import ANY, VALUES, ordered, same
from ..support.states import Ragged


@pytest.mark.parametrize("kind", ANY)
def test_keys_and_ranks_of_values(kind: str) -> None:
    """They are in the order of the values, which come back from them, and from how they are stored."""
    type, values = VALUES[kind]
    order = Order(ff.Min("x"), "x", type)
    column = pa.array([values[0], *values], type)[1:]  # with an offset
    keys, ranks = order.keys(column), order.ranks(column)
    for i, j in itertools.product(range(len(values)), repeat=2):
        less = ordered(values[i]) < ordered(values[j]) and values[i] == values[i]
        assert bool(keys[i] < keys[j]) == bool(ranks[i] < ranks[j]) == less
    assert same(order.values(keys).to_pylist(), values)
    assert order.values(keys).type == type
    masked = order.values(order.keys(pa.array(values, type)), np.arange(len(values)) == 0)
    assert same(masked.to_pylist(), [None, *values[1:]])
    plane, known = stored(pa.array([None, *values], type))
    assert same(restored(plane, type, ~known).to_pylist(), [None, *values])


def test_equal_keys() -> None:
    order = Order(ff.Min("x"), "x", pa.float64())
    assert len(set(order.keys(np.array([0.0, -0.0])).tolist())) == 1
    assert len(set(order.keys(np.array([math.nan, -math.nan])).tolist())) == 1


def test_lists_of_one_length_stay_apart() -> None:
    assert objects(pa.array([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]


def ragged(lists: list[list[int]], tag: int, dtype: type = np.int64) -> Ragged:
    items = [item for each in lists for item in each]
    planes = {"time": np.array(items, dtype), "tag": np.arange(len(items)) + 1000 * tag}
    return Ragged(np.array([len(each) for each in lists], np.int64), planes)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, object])
@given(pairs=st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=9), st.lists(st.integers(0, 5), max_size=3))))
def test_merge(descending: bool, dtype: type, pairs: list[tuple[list[int], list[int]]]) -> None:
    a = ragged([sorted(a, reverse=descending) for a, _ in pairs], 1, dtype)
    b = ragged([sorted(b, reverse=descending) for _, b in pairs], 2, dtype)
    for x, y in ((a, b), (b, a)):
        merged = merge(x, y, (("time", descending),))
        items = [
            sorted(zip(s + t, u + v, strict=True), key=lambda item: -item[0] if descending else item[0])
            for s, t, u, v in zip(x.lists("time"), y.lists("time"), x.lists("tag"), y.lists("tag"), strict=True)
        ]
        assert merged.lists("time") == [[time for time, _ in each] for each in items]
        assert merged.lists("tag") == [[tag for _, tag in each] for each in items]


@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2))))
def test_rows_by_frame(rows: list[tuple[int, int, int]]) -> None:
    index, first, second = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    frames = ff.Frames(index, 5, first)
    assert rows_by_frame(frames, first, second).tolist() == sorted(range(len(rows)), key=lambda i: rows[i])
