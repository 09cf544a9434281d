"""Text at some rows of a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from .. import loops
from ..states import large


def text_at(column: pa.Array, rows: pa.Array) -> pa.Array:
    """What ``column.take(rows)`` gives, in less than half the time where it is text that counts in 32 bits.

    >>> text_at(pa.array(["a", "bc", ""]), pa.array([1, 1, 2, 0], pa.int32())).to_pylist()
    ['bc', 'bc', '', 'a']
    """
    plain = column.type in (pa.string(), pa.binary()) and rows.type == pa.int32()
    if not (loops.compiled and plain and len(rows)) or column.null_count or rows.null_count:
        return column.take(rows)
    _, ends, text = column.buffers()
    if text is None:
        return column.take(rows)
    ends = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
    places, found_ends = np.asarray(rows), np.empty(len(rows) + 1, np.int32)
    if (size := loops.ends_of_text(ends, places, found_ends)) > large.ARRAY_BYTES:
        return column.take(rows)
    found = np.empty(size, np.uint8)
    loops.text_of_rows(ends, np.frombuffer(text, np.uint8), places, found_ends, found)
    return pa.Array.from_buffers(column.type, len(rows), [None, pa.py_buffer(found_ends), pa.py_buffer(found)], 0)
