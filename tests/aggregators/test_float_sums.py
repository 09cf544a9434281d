"""Sums of floats in groups, with the compiled loop and with numpy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.numeric.float_sums import largest_of, summed

from ..support.loops import WAYS, by, loops, needs_loops, without_loops


def bits(found: tuple[Any, Any]) -> tuple[bytes, bytes, list[int]]:
    """Sums to the last bit, and counts."""
    return found[0].high.tobytes(), found[0].low.tobytes(), found[1].tolist()


def nearly(high: float, low: float, values: list[float]) -> bool:
    """Whether a pair is the sum of values to a hundred bits."""
    exact = sum(map(Fraction, values))
    return abs(Fraction(high) + Fraction(low) - exact) <= abs(exact) / 2**100


@pytest.mark.parametrize("value", [1.0, -1.0, 1 - 2.0**-53, 2.0**-53 - 1, 2.0**959, 2.0**-1074, 1 / 3])
@pytest.mark.parametrize("hot", [1, 1025, 20_000])
def test_sums_and_counts(way: str, value: float, hot: int) -> None:
    """Also where one group has most of the rows."""
    rows = 1 << 16
    index = np.concatenate([np.zeros(hot, np.intp), 1 + np.arange(rows - hot) % 2000])
    total, counts = summed(np.full(rows, value), index, 2001, abs(value))
    each = [hot, *((rows - hot + 1999 - place) // 2000 for place in range(2000))]
    assert counts.tolist() == each
    for high, low, count in zip(total.high.tolist(), total.low.tolist(), each, strict=True):
        assert Fraction(high) + Fraction(low) == count * Fraction(value)


@needs_loops
@pytest.mark.parametrize("hot", [0, 100_000])
@pytest.mark.parametrize("size", [3, 5000, 40_000])
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_both_ways_give_the_same_bits(size: int, hot: int, order: str) -> None:
    chance = np.random.default_rng(11)
    rows = 300_000
    index = np.concatenate([np.full(hot, size // 2), chance.integers(0, size, rows - hot)])
    index = np.sort(index) if order == "sorted" else chance.permutation(index)
    values = chance.normal(size=rows) * 2.0 ** chance.integers(-60, 60, rows)
    found = bits(summed(values, index, size, largest_of(values)))
    with without_loops():
        assert bits(summed(values, index, size, largest_of(values))) == found
    assert found[2] == np.bincount(index, minlength=size).tolist()


@pytest.mark.parametrize("hot", [0, 100_000])
def test_sums_are_the_same_whether_rows_are_counted_with_them_or_not(way: str, hot: int) -> None:
    chance = np.random.default_rng(11)
    rows = 300_000
    index = np.concatenate([np.arange(5000), np.zeros(hot, np.intp), chance.integers(0, 5000, rows - hot - 5000)])
    values = chance.normal(size=rows) * 2.0 ** chance.integers(-60, 60, rows)
    alone = ff.Frames(index, 5000, np.arange(rows), counts=np.bincount(index)).compensated_sum(values)
    frames = ff.Frames(index, 5000, np.arange(rows))
    counted = frames.compensated_sum(values)
    assert "counts" in vars(frames)
    assert frames.count().tolist() == np.unique(index, return_counts=True)[1].tolist()
    assert (counted.high.tobytes(), counted.low.tobytes()) == (alone.high.tobytes(), alone.low.tobytes())


@pytest.mark.parametrize("beside", [0.0, 9.97e36, 1e200, -1e280, 5e-324])
def test_what_is_in_other_groups_shows_in_no_bit(way: str, beside: float) -> None:
    """Whatever the order of rows; and of many rows of which most cancels nothing is lost."""
    chance = np.random.default_rng(5)
    for rows in (64, 1000, 100_000):
        values = np.concatenate([np.tile([1e16, 0.1, 3.5, -1e16], rows // 8), chance.normal(size=rows // 2)])
        for _ in range(3):
            values = chance.permutation(values)
            alone, _ = summed(values, np.zeros(len(values), np.intp), 1, largest_of(values))
            both = np.concatenate([[beside], values, [beside / 3]])
            index = np.concatenate([[1], np.zeros(len(values), np.intp), [2]])
            total, _ = summed(both, index, 3, largest_of(both))
            assert bits((alone, np.zeros(0)))[:2] == bits((total[:1], np.zeros(0)))[:2]
            assert total.value()[0] == math.fsum(values)


@pytest.mark.parametrize("scales", [(1e200, 1e16, 0.1), (1e280, 1e-280, 5e-324), (1e30, 1e15, 1.0, 1e-15, 1e-30)])
def test_all_scales_are_kept_where_they_cancel(way: str, scales: tuple[float, ...]) -> None:
    values = np.array([*scales, *(-each for each in scales[:-1])])
    chance = np.random.default_rng(6)
    for _ in range(5):
        total, _ = summed(chance.permutation(values), np.zeros(len(values), np.intp), 1, scales[0])
        assert total.value().tolist() == [scales[-1]]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-(2.0**959), 2.0**959)), min_size=1))
@example([(0, 2.0**-1074), (1, 2.0**900), (0, 2.0**-1000), (0, -(2.0**-1000))])
def test_any_floats(rows: list[tuple[int, float]]) -> None:
    index, values = np.array([group for group, _ in rows], np.intp), np.array([value for _, value in rows])
    each = [[value for group, value in rows if group == wanted] for wanted in range(4)]
    for way in WAYS:
        with by(way):
            total, counts = summed(values, index, 4, largest_of(values) or 1.0)
            assert counts.tolist() == list(map(len, each))
            assert all(map(nearly, total.high.tolist(), total.low.tolist(), each))


@pytest.mark.parametrize(
    "values", [[], [0.0], [-0.0], [-3.0, 2.0], [3.0, -2.0], [math.inf, 1.0], [1.0, -math.inf], [5e-324], [-1.7e308]]
)
def test_the_largest(way: str, values: list[float]) -> None:
    assert largest_of(np.array(values)) == max(map(abs, values), default=0.0)
    assert math.isnan(largest_of(np.array([*values, math.nan, 1.0])))


def test_huge_values_are_summed_in_any_order() -> None:
    """From 2**960 on they are apart from the others; what is left where they cancel is theirs alone."""
    values = np.array([1e300, 3e290, 0.5, -1e300, 2e290, 1.0])
    chance = np.random.default_rng(6)
    for _ in range(5):
        frames = ff.Frames(np.zeros(6, np.intp), 1, np.arange(6))
        assert frames.compensated_sum(chance.permutation(values)).value().tolist() == [5e290]


def test_columns_with_gaps(way: str) -> None:
    values, index = np.arange(10.0)[::3], np.arange(10)[::-2][:4] % 2
    assert largest_of(values) == 9.0
    total, counts = summed(values, index, 2, 9.0)
    assert (total.value().tolist(), counts.tolist()) == ([0.0, 18.0], [0, 4])


@pytest.mark.parametrize("group", [-3, 2])
def test_a_group_that_there_is_not(way: str, group: int) -> None:
    with pytest.raises(IndexError):
        summed(np.ones(3), np.array([0, group, 1]), 2, 1.0)


@needs_loops
def test_lengths_that_differ() -> None:
    index, sums, room = np.zeros(3, np.intp), np.zeros((2, 3), np.int64), np.zeros(2)
    for rows, columns in ((2, 3), (3, 4)):
        with pytest.raises(ValueError, match="must be of one length"):
            loops.add_parts(np.ones(rows), index, 2.0**40, 1.0, np.zeros((2, columns), np.int64))
    with pytest.raises(ValueError, match="room for as many"):
        loops.left_of_parts(np.ones(3), index, 2.0**40, 1.0, room, index)
    with pytest.raises(ValueError, match="be as long"):
        loops.join_parts(sums, 2.0**40, 1.0, 40, 1.0, room, np.zeros(3))
