"""Text at some rows of a column, against Arrow's own."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ..support.columns import text_at
from ..support.limits import limits
from ..support.loops import WAYS, by

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
