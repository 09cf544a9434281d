"""Columns that are in memory once, zeros, ones and the numbers from 0 on; and text at some rows, as Arrow takes it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..support.columns import are_numbers, are_ones, numbers, ones, text_at
from ..support.limits import limits
from ..support.loops import WAYS, by


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
