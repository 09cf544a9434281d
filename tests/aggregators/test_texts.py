"""Text at some rows of a column, against Arrow's own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..support.columns import text_at
from ..support.limits import limits
from ..support.loops import WAYS, by, loops, needs_loops

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


@needs_loops
@pytest.mark.parametrize("rows", [[2], [-1]])
def test_rows_that_are_not_of_the_column(rows: list[int]) -> None:
    ends, text, some = np.array([0, 1, 3], np.int32), np.zeros(3, np.uint8), np.array(rows, np.int32)
    with pytest.raises(ValueError, match="ends_of_text: rows must be of the column"):
        loops.ends_of_text(ends, some, np.empty(2, np.int32))
    with pytest.raises(ValueError, match="text_of_rows: rows must be of the column"):
        loops.text_of_rows(ends, text, some, np.zeros(2, np.int32), np.empty(9, np.uint8))
    with pytest.raises(ValueError, match="an end for each"):
        loops.ends_of_text(ends, np.zeros(1, np.int32), np.empty(1, np.int32))
    with pytest.raises(ValueError, match="room for their text"):
        loops.text_of_rows(ends, text, np.ones(1, np.int32), np.zeros(2, np.int32), np.empty(1, np.uint8))
