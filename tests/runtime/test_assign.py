"""Rows put into groups: those that are equal in every column, whatever its type and however many groups there are."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..support.columns import assign, code_key, code_numbers, groups_by_sorting, stable_order
from ..support.limits import limits
from ..support.loops import loops, needs_loops

DAY = datetime.date(2020, 2, 29)
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [-128, 127, 0],
    pa.int64(): [-(2**63), 2**63 - 1, 0, 1],
    pa.uint32(): [2**32 - 1, 0],
    pa.uint64(): [2**64 - 1, 0],
    pa.float32(): [0.0, -0.0, 1.5],
    pa.string(): ["", "a", "é"],
    pa.dictionary(pa.int8(), pa.string()): ["", "a", "é"],
    pa.bool_(): [True, False],
    pa.date32(): [DAY, datetime.date(1, 1, 1)],
    pa.timestamp("us", "UTC"): [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)],
    pa.time32("s"): [datetime.time(1), datetime.time(0)],
    pa.duration("us"): [datetime.timedelta(1), datetime.timedelta(0)],
    pa.decimal128(5, 2): [Decimal("1.10"), Decimal("-9.00")],
    pa.null(): [],
}


@pytest.mark.parametrize("few", [0, 1 << 18])
@pytest.mark.parametrize("type", VALUES, ids=str)
@given(data=st.data())
def test_equal_rows_are_together(type: pa.DataType, few: int, data: st.DataObject) -> None:
    value = st.sampled_from([*VALUES[type], None])
    rows = data.draw(st.lists(st.tuples(st.integers(-5, 5), value), min_size=1, max_size=20))
    numbers = np.array([number for number, _ in rows])
    column = pa.array([value for _, value in rows], type)
    with limits(sparse_codes=few, assigned_block=7):
        made = assign([code_numbers(numbers)], [code_key(column)], len(rows))
    expected = list(zip(numbers.tolist(), column.to_pylist(), strict=True))
    found = list(zip(made.values[0].tolist(), made.values[1].to_pylist(), strict=True))
    assert [found[group] for group in made.index] == expected
    assert len(set(found)) == len(found) == len(set(expected))
    assert made.counts.tolist() == [expected.count(each) for each in found]
    assert not few or made.values[0].tolist() == sorted(made.values[0].tolist())


def test_a_dictionary_with_a_value_twice_or_null_and_numbers_far_apart() -> None:
    for values in (["b", "a", "b"], ["b", "a", None]):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 0]), pa.array(values))
        made = assign([], [code_key(column)], 5)
        assert [made.values[0][group].as_py() for group in made.index] == column.to_pylist()
        assert len(made.counts) == len(set(column.to_pylist()))
    made = assign([code_numbers(np.array([2**62, -(2**62), 2**62]))], [], 3)
    assert (made.index.tolist(), made.values[0].tolist()) == ([1, 0, 1], [-(2**62), 2**62])


def check_stable(codes: np.ndarray, size: int) -> None:
    assert stable_order(codes, size).tolist() == np.argsort(codes, kind="stable").tolist()


@given(st.lists(st.integers(0, 50), max_size=60), st.sampled_from([51, 52, 1 << 62]))
def test_sorting_is_stable(codes: list[int], size: int) -> None:
    check_stable(np.array(codes, np.int64), size)


@pytest.mark.parametrize("runs", [1, 2, 7, 50, 20_000])
def test_sorting_of_ascending_runs_is_stable(runs: int) -> None:
    codes = np.random.default_rng(runs).integers(0, 5_000, 20_000)
    for run in np.array_split(codes, runs):
        run.sort()
    for counted in (0, 1 << 30):
        with limits(counted_codes=counted):
            check_stable(codes, 5_000)


@pytest.mark.parametrize("size", [1, 2, 2_048, 2_049, 1 << 22, (1 << 22) + 1, 1 << 33, 1 << 44, 1 << 48])
def test_groups_by_sorting(size: int, way: str) -> None:
    """One digit to four, and more codes than are sorted by digits; numpy's ``unique`` says what the groups are."""
    rng = np.random.default_rng(size)
    codes = rng.choice(np.append(rng.integers(0, size, 6_000), [0, size - 1]), 10_000)
    group, first, counts, values = groups_by_sorting(codes.copy(), size)
    expected = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    assert all(map(np.array_equal, (values, first, group, counts), expected))
    check_stable(codes, size)


THREE = np.zeros(3, np.int64)
REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("sort_by_bits", (THREE, THREE[:2], 0, 3), "of one length, and bits from 0 to 63"),
    ("sort_by_bits", (THREE, THREE, 3, 2), "of one length, and bits from 0 to 63"),
    ("sort_by_bits", (THREE, THREE, 0, 64), "of one length, and bits from 0 to 63"),
    ("sort_by_bits", (THREE, THREE, -1, 3), "of one length, and bits from 0 to 63"),
    ("group_sorted", (THREE, 2, THREE.copy(), THREE[:2], THREE.copy()), "of one length"),
    ("group_sorted", (np.array([0, 3, 1]), 2, *np.zeros((3, 3), np.int64)), "row 3 is not among 3"),
    ("order_codes", (THREE, THREE.copy(), np.zeros(2, np.intp)), "of one length"),
    ("order_codes", (np.full(1, 2), np.zeros(3, np.int64), np.zeros(1, np.intp)), "code 2 of a row is not among 2"),
]


@needs_loops
@pytest.mark.parametrize(("loop", "arguments", "said"), REFUSED)
def test_what_loops_cannot_sort_or_count(loop: str, arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises((ValueError, IndexError), match=said):
        getattr(loops, loop)(*arguments)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=20),
    st.sampled_from([1, 2, 100]),
)
def test_groups_without_a_row(rows: list[tuple[int, str | None]], few: int) -> None:
    """Where rows need not be counted, groups of all possible values come, unless there are too many of them."""
    numbers = np.array([number for number, _ in rows])
    column = pa.array([value for _, value in rows])
    frames, keys = [code_numbers(numbers)], [code_key(column)]
    with limits(rows_per_group=few, assigned_block=7):
        made = assign(frames, keys, len(rows), counting=False)
    found = list(zip(made.values[0].tolist(), made.values[1].to_pylist(), strict=True))
    assert len(set(found)) == len(found) == made.size
    assert [found[group] for group in made.index] == list(zip(numbers.tolist(), column.to_pylist(), strict=True))
    possible = frames[0].count * keys[0].count
    if possible * few > len(rows):
        assert made.counts is not None
        assert made.counts.min() > 0
    else:
        assert (made.counts, made.size) == (None, possible)
