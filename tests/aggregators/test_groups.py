"""Sums of floats, least and greatest values of groups of rows, with the compiled loops and with numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.numeric.float_sums import largest_of, summed
from framefold.aggregators.numeric.grouped import greatest, least

from ..support.loops import WAYS, by, needs_loops, without_loops


def bits(total: Any) -> tuple[bytes, bytes]:
    """Sums to the last bit."""
    return total.high.tobytes(), total.low.tobytes()


def nearly(high: float, low: float, values: list[float]) -> bool:
    """Whether a pair is the sum of values to a hundred bits."""
    exact = sum(map(Fraction, values))
    return abs(Fraction(high) + Fraction(low) - exact) <= abs(exact) / 2**100


@pytest.mark.parametrize("value", [1.0, 1 - 2.0**-53, 2.0**-53 - 1, 2.0**959, 2.0**-1074, 1 / 3])
@pytest.mark.parametrize("hot", [1, 1025, 20_000])
def test_sums_and_counts(way: str, value: float, hot: int) -> None:
    """Also where one group has most of the rows."""
    rows = 1 << 15
    index = np.concatenate([np.zeros(hot, np.intp), 1 + np.arange(rows - hot) % 500])
    total, counts = summed(np.full(rows, value), index, 501, abs(value))
    right = [hot, *((rows - hot + 499 - place) // 500 for place in range(500))]
    assert counts.tolist() == right
    for high, low, count in zip(total.high.tolist(), total.low.tolist(), right, strict=True):
        assert Fraction(high) + Fraction(low) == count * Fraction(value)


@needs_loops
@pytest.mark.parametrize("hot", [0, 50_000])
@pytest.mark.parametrize("size", [3, 5000, 40_000])
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_both_ways_give_the_same_bits(size: int, hot: int, order: str) -> None:
    """They do, too, whether rows are counted with the sums or not."""
    chance = np.random.default_rng(11)
    rows = 150_000
    index = np.concatenate([np.arange(size), np.full(hot, size // 2), chance.integers(0, size, rows - hot - size)])
    index = np.sort(index) if order == "sorted" else chance.permutation(index)
    values = chance.normal(size=rows) * 2.0 ** chance.integers(-60, 60, rows)
    total, counts = summed(values, index, size, largest_of(values))
    with without_loops():
        plain, plain_counts = summed(values, index, size, largest_of(values))
    known = np.bincount(index)
    assert counts.tolist() == plain_counts.tolist() == known.tolist()
    frames = ff.Frames(index, size, np.arange(rows))
    counted = [each.compensated_sum(values) for each in (frames, ff.Frames(index, size, np.arange(rows), counts=known))]
    assert {bits(each) for each in (plain, *counted)} == {bits(total)}
    assert "counts" in vars(frames)
    assert frames.count().tolist() == known.tolist()


@pytest.mark.parametrize("beside", [0.0, 9.97e36, 1e200, -1e280, 5e-324])
def test_what_is_in_other_groups_shows_in_no_bit(way: str, beside: float) -> None:
    """Whatever the order of rows; and of many rows of which most cancels nothing is lost."""
    chance = np.random.default_rng(5)
    for rows in (64, 1000, 30_000):
        values = np.concatenate([np.tile([1e16, 0.1, 3.5, -1e16], rows // 8), chance.normal(size=rows // 2)])
        for _ in range(2):
            values = chance.permutation(values)
            alone, _ = summed(values, np.zeros(len(values), np.intp), 1, largest_of(values))
            both = np.concatenate([[beside], values, [beside / 3]])
            index = np.concatenate([[1], np.zeros(len(values), np.intp), [2]])
            total, _ = summed(both, index, 3, largest_of(both))
            assert bits(alone) == bits(total[:1])
            assert total.value()[0] == math.fsum(values)


@pytest.mark.parametrize("scales", [(1e200, 1e16, 0.1), (1e280, 1e-280, 5e-324), (1e30, 1e15, 1.0, 1e-15, 1e-30)])
def test_all_scales_are_kept_where_they_cancel(way: str, scales: tuple[float, ...]) -> None:
    values = np.array([*scales, *(-each for each in scales[:-1])])
    chance = np.random.default_rng(6)
    for _ in range(5):
        total, _ = summed(chance.permutation(values), np.zeros(len(values), np.intp), 1, scales[0])
        assert total.value().tolist() == [scales[-1]]


def test_huge_values_are_summed_in_any_order() -> None:
    """From 2**960 on they are apart from the others; what they lose where they cancel is kept."""
    values, chance = np.array([1e300, 3e290, 0.5, -1e300, 2e290, 1.0]), np.random.default_rng(6)
    for _ in range(5):
        frames = ff.Frames(np.zeros(6, np.intp), 1, np.arange(6))
        assert frames.compensated_sum(chance.permutation(values)).value().tolist() == [math.fsum(values)]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-(2.0**959), 2.0**959)), min_size=1))
@example([(0, 2.0**-1074), (1, 2.0**900), (0, 2.0**-1000), (0, -(2.0**-1000))])
def test_sums_of_any_floats(rows: list[tuple[int, float]]) -> None:
    index, values = np.array([group for group, _ in rows], np.intp), np.array([value for _, value in rows])
    own = [[value for group, value in rows if group == number] for number in range(4)]
    for way in WAYS:
        with by(way):
            total, counts = summed(values, index, 4, largest_of(values) or 1.0)
            assert counts.tolist() == list(map(len, own))
            assert all(map(nearly, total.high.tolist(), total.low.tolist(), own))


def test_the_largest(way: str) -> None:
    signed = [[], [0.0], [-0.0], [-3.0, 2.0], [3.0, -2.0], [math.inf, 1.0], [1.0, -math.inf], [5e-324], [-1.7e308]]
    for values in signed:
        assert largest_of(np.array(values)) == max(map(abs, values), default=0.0)
        assert math.isnan(largest_of(np.array([*values, math.nan, 1.0])))


# --- extremes --------------------------------------------------------------------------------------------------------

BOTH = ((least, min), (greatest, max))
TYPES = ["float64", "float32", "int64", "int32", "int16", "uint64", "uint8", "bool", "M8[us]", "m8[s]"]


def by_hand(values: Any, index: Any, size: int, choose: Callable[..., Any]) -> list[Any]:
    """The same in Python, with NaN above all others."""
    groups: list[list[Any]] = [[] for _ in range(size)]
    for group, value in zip(index, values.tolist(), strict=True):
        groups[group].append(value)
    return [choose(group, key=lambda value: (value != value, value)) for group in groups]


@pytest.mark.parametrize("type", TYPES)
def test_extremes_of_each_type(way: str, type: str) -> None:
    chance = np.random.default_rng(3)
    mixed = np.concatenate([np.arange(50), chance.integers(0, 50, 1000)])
    for index in (mixed, np.sort(mixed)):
        values = chance.integers(0, 120, len(index)).astype(type)
        if values.dtype.kind in "fiu":
            whole = values.dtype.kind != "f"
            low, high = (np.iinfo(type).min, np.iinfo(type).max) if whole else (-np.inf, np.inf)
            values[::7], values[1::9], values[2::11] = high if whole else np.nan, low, high
            values[index == 7], values[index == 8], values[index == 9] = high if whole else np.nan, low, high
        for found, choose in BOTH:
            with np.errstate(invalid="ignore"):  # numpy's maximum says so of NaN
                made = found(values, index, 50)
            assert made.dtype == values.dtype
            np.testing.assert_array_equal(made, np.array(by_hand(values, index, 50, choose), type))


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(width=32)), min_size=1))
def test_extremes_of_any_floats(rows: list[tuple[int, float]]) -> None:
    index = np.unique([group for group, _ in rows], return_inverse=True)[1]
    for way in WAYS:
        for type in ("float64", "float32"):
            values = np.array([value for _, value in rows], type)
            for found, choose in BOTH:
                with by(way), np.errstate(invalid="ignore"):
                    made = found(values, index, int(index.max()) + 1)
                np.testing.assert_array_equal(made, by_hand(values, index, len(made), choose))


def test_columns_with_gaps_and_groups_without_a_row(way: str) -> None:
    values, index = np.arange(10.0)[::3], np.arange(10)[::-2][:4] % 4
    assert index.tolist() == [1, 3, 1, 3]
    assert largest_of(values) == 9.0
    total, counts = summed(values, index, 5, 9.0)
    assert (total.value().tolist(), counts.tolist()) == ([0.0, 6.0, 0.0, 12.0, 0.0], [0, 2, 0, 2, 0])
    assert least(values, index, 5)[[1, 3]].tolist() == [0.0, 3.0]
    assert greatest(values, index, 5)[[1, 3]].tolist() == [6.0, 9.0]
    assert len(least(values[:0], index[:0], 5)) == 5
    frozen = np.array([3.0, math.nan])
    frozen.flags.writeable = False
    assert least(frozen, np.zeros(2, np.intp), 1).tolist() == [3.0]


@pytest.mark.parametrize("group", [-3, 2])
def test_a_group_that_there_is_not(way: str, group: int) -> None:
    for call in (least, greatest, lambda *of: summed(*of, 1.0)):
        with pytest.raises(IndexError):
            call(np.ones(3), np.array([0, group, 1]), 2)
