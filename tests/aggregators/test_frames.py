"""Reductions of rows to frames, against plain Python over each frame's rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.brute import VALUES, ordered, same
from ..oracles.by_definition import sum_verdict
from ..support.columns import to_values

Row = tuple[int, int, Any]


@st.composite
def batches(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[ff.Frames, list[list[Row]], list[Any]]:
    """Frames of rows in any order, with ties in time; and each frame's rows as (tick, place, value)."""
    size = draw(st.integers(1, 4))
    more = draw(st.lists(st.integers(0, size - 1), max_size=12))
    index = draw(st.permutations([*range(size), *more]))
    if draw(st.booleans()):
        index = sorted(index)
    ticks = draw(st.lists(st.integers(-3, 3), min_size=len(index), max_size=len(index)))
    if draw(st.booleans()):
        ticks = sorted(ticks)
    column = draw(st.lists(values, min_size=len(index), max_size=len(index)))
    each: list[list[Row]] = [[] for _ in range(size)]
    for place, (frame, tick, value) in enumerate(zip(index, ticks, column, strict=True)):
        each[frame].append((tick, place, value))
    return ff.Frames(np.array(index, np.intp), size, np.array(ticks, np.int64)), each, column


small = st.integers(-9, 9)
any_float = st.one_of(small.map(float), st.floats(), st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -0.0]))


@given(batches(st.integers(-(2**63), 2**63 - 1)))
def test_exact_sums(batch: tuple[ff.Frames, list[list[Row]], list[int]]) -> None:
    frames, each, column = batch
    assert frames.exact_sum(np.array(column, np.int64)).integers() == [sum(v for *_, v in rows) for rows in each]


@pytest.mark.parametrize("chunk", [1, 3, 1 << 21])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_sums_at_the_borders_of_each_type(dtype: str, chunk: int, limit: Callable[..., None]) -> None:
    """Also of more rows than are added up at a time."""
    limit(sum_chunk=chunk)
    limits = np.iinfo(dtype)
    values = np.array([limits.max] * 7 + [limits.min] * 3 + [1] * 4, dtype)
    index = np.arange(14) % 2
    frames = ff.Frames(index.astype(np.intp), 2, np.arange(14))
    expected = [sum(int(value) for value in values[index == frame]) for frame in (0, 1)]
    assert frames.exact_sum(values).integers() == expected


@pytest.mark.parametrize("value", [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**52 + 1])
def test_sums_beyond_what_a_float_holds(value: int) -> None:
    for rows in (1, 2, 3, 5):
        frames = ff.Frames(np.zeros(rows, np.intp), 1, np.arange(rows))
        assert frames.sum(np.full(rows, value)).tolist() == [value * rows]


def test_plain_sums_keep_or_refuse() -> None:
    frames = ff.Frames(np.array([0, 0, 1]), 2, np.arange(3))
    assert frames.sum(np.array([True, True, False])).tolist() == [2, 0]
    assert frames.sum(np.array([0.5, 0.25, 1.0], np.float32)).tolist() == [0.75, 1.0]
    assert frames.sum(np.array([2**63 - 1, -1, 5])).tolist() == [2**63 - 2, 5]
    with pytest.raises(ff.SumOverflowError, match="int64"):
        frames.sum(np.array([2**63 - 1, 1, 5]))


@given(batches(st.decimals(-(10**18), 10**18, places=9)))
def test_decimal_sums(batch: tuple[ff.Frames, list[list[Row]], list[Decimal]]) -> None:
    frames, each, column = batch
    found = frames.exact_sum(pa.array(column, pa.decimal128(38, 9))).integers()
    assert found == [sum(int(v * 10**9) for *_, v in rows) for rows in each]


@given(batches(any_float))
def test_compensated_sums(batch: tuple[ff.Frames, list[list[Row]], list[float]]) -> None:
    frames, each, column = batch
    total = frames.compensated_sum(np.array(column))
    assert frames.count().tolist() == list(map(len, each))
    other = ff.Frames(frames.index, frames.size, frames.ticks, counts=np.array(list(map(len, each))))
    known = other.compensated_sum(np.array(column))
    assert (known.high.tobytes(), known.low.tobytes()) == (total.high.tobytes(), total.low.tobytes())
    for got, rows in zip(total.value().tolist(), each, strict=True):
        assert sum_verdict(got, [value for *_, value in rows]) is None


KINDS = [*VALUES, "any floats"]


@pytest.mark.parametrize("kind", KINDS)
def test_extremes_and_edges(kind: str) -> None:
    type, values = VALUES.get(kind, (pa.float64(), []))

    @given(batches(st.sampled_from(values) if values else any_float))
    @np.errstate(all="ignore")
    def check(batch: tuple[ff.Frames, list[list[Row]], list[Any]]) -> None:
        frames, each, column = batch
        for name, choose, by in (("min", min, 2), ("max", max, 2), ("first", min, 0), ("last", max, 0)):
            found = pa.array(getattr(frames, name)(to_values(pa.array(column, type))), type).to_pylist()
            right = [choose(rows, key=lambda row, by=by: ordered(row[2]) if by else row[:2])[2] for rows in each]
            assert same(found, right), name

    check()


@given(batches(small))
def test_groups_counts_and_means(batch: tuple[ff.Frames, list[list[Row]], list[int]]) -> None:
    frames, each, column = batch
    in_time = [[value for *_, value in sorted(rows, key=lambda row: row[:2])] for rows in each]
    assert [values.tolist() for values in frames.group(np.array(column))] == in_time
    assert [values.to_pylist() for values in frames.group(pa.array(list(map(str, column))))] == [
        [str(value) for value in values] for values in in_time
    ]
    assert frames.count().tolist() == [len(rows) for rows in each]
    assert frames.mean(np.array(column)).tolist() == [sum(values) / len(values) for values in in_time]


@given(batches(small), st.data())
def test_some_rows_only(batch: tuple[ff.Frames, list[list[Row]], list[int]], data: st.DataObject) -> None:
    """Frames that are left without a row are gone, the others keep their order."""
    frames, each, column = batch
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(column), max_size=len(column))), bool)
    some, left = frames.where(kept)
    rows = [[row for row in rows if kept[row[1]]] for rows in each]
    assert left.tolist() == [number for number, of in enumerate(rows) if of]
    assert some.size == len(left)
    assert some.sum(np.array(column)[kept]).tolist() == [sum(value for *_, value in of) for of in rows if of]
    assert some.last(np.array(column)[kept]).tolist() == [max(of, key=lambda row: row[:2])[2] for of in rows if of]
