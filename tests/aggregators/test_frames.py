"""Reductions of rows to frames and groups, against plain Python over each one's rows, by compiled loops and numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.numeric.float_sums import largest_of, summed
from framefold.aggregators.numeric.grouped import greatest, least

from ..oracles.brute import VALUES, ordered, same
from ..oracles.by_definition import sum_verdict
from ..support.columns import are_numbers, are_ones, numbers, ones, text_at, to_values
from ..support.limits import limits
from ..support.loops import WAYS, by, needs_loops, without_loops

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
        for name, choose, at in (("min", min, 2), ("max", max, 2), ("first", min, 0), ("last", max, 0)):
            found = pa.array(getattr(frames, name)(to_values(pa.array(column, type))), type).to_pylist()
            right = [choose(rows, key=lambda row, at=at: ordered(row[2]) if at else row[:2])[2] for rows in each]
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


# Groups of rows: sums of floats, least and greatest values


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


# Columns that are in memory once: zeros, ones and the numbers from 0 on; and text at some rows, as Arrow takes it


@pytest.mark.parametrize("count", [0, 1, 5000, (1 << 20) + 7])
def test_shared_columns(count: int) -> None:
    """They are known at once, and others by their values."""
    np.testing.assert_array_equal(numbers(count), np.arange(count))
    np.testing.assert_array_equal(ones(count), np.ones(count))
    for known in (are_numbers(numbers(count)), are_ones(ones(count)), are_numbers(np.arange(count))):
        assert known
    assert are_ones(np.ones(count, np.int64))


def test_columns_that_are_not_shared() -> None:
    """They are told apart from those whose memory they lie in, and nobody writes to that."""
    assert not any(map(are_numbers, (ones(2), numbers(9)[1:], numbers(9)[::2])))
    assert not are_ones(numbers(2))
    assert are_ones(ones(9)[::2])
    with pytest.raises(ValueError, match="read-only"):
        numbers(3)[0] = 1


def test_numbers_that_are_not_those_from_0_on() -> None:
    whole = np.arange(5000)
    for at in (1, 511, 4999):
        equal, falling = whole.copy(), whole.copy()
        equal[at:] -= 1
        falling[at] = -1
        for other in (equal, falling):
            assert not are_numbers(other)


words = st.lists(st.text(max_size=40) | st.text("ab", max_size=18), min_size=1, max_size=12)


@given(st.data(), words, st.sampled_from([pa.string(), pa.binary(), pa.large_string()]), st.sampled_from(WAYS))
def test_text_at_rows_is_what_arrow_takes(data: st.DataObject, values: list[str], type: pa.DataType, way: str) -> None:
    column = pa.array(values, pa.string()).cast(type)
    column = column[data.draw(st.integers(0, len(values) - 1)) :]
    rows = pa.array(data.draw(st.lists(st.integers(0, len(column) - 1), max_size=60)), pa.int32())
    with by(way):
        found = text_at(column, rows)
    found.validate(full=True)
    assert found.equals(column.take(rows))


def test_text_that_is_null() -> None:
    column, rows = pa.array(["a", None, "c"]), pa.array([2, None, 0], pa.int32())
    assert text_at(column, rows).to_pylist() == ["c", None, "a"]
    assert text_at(column, rows.drop_null()).to_pylist() == ["c", "a"]
    assert text_at(pa.array(["", ""]), pa.array([1, 0, 1], pa.int32())).to_pylist() == ["", "", ""]


def test_text_that_an_array_has_no_room_for() -> None:
    """Is left to Arrow, which says so."""
    with limits(array_bytes=3):
        assert text_at(pa.array(["ab", "c"]), pa.array([0, 0, 1], pa.int32())).to_pylist() == ["ab", "ab", "c"]
