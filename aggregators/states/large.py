"""Columns of more text than one array of Arrow's has room for: large arrays inside, several plain ones outside.

Strings, binaries and lists count in 32 bits where they are not large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .arrays import Ints
from .nested import with_inner

ARRAY_BYTES = (1 << 31) - 1
"""The bytes of text, or items of lists, that an array has room for."""


def large(type: pa.DataType) -> pa.DataType:
    """The type of the same values without the limit.

    >>> large(pa.list_(pa.struct([("name", pa.string())])))
    LargeListType(large_list<item: struct<name: large_string>>)
    """
    if pa.types.is_string(type):
        return pa.large_string()
    if pa.types.is_binary(type):
        return pa.large_binary()
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.large_list(type.value_field.with_type(large(type.value_type)))
    return with_inner(type, large) if pa.types.is_struct(type) else type


def is_limited(type: pa.DataType) -> bool:
    """Whether a type is, or has in it, text or lists that count in 32 bits."""
    return bool(large(type) != type)


def is_text(type: pa.DataType) -> bool:
    """Whether a type is of strings or binaries of any length."""
    kinds = pa.types
    plain = kinds.is_string(type) or kinds.is_binary(type)
    return bool(plain or kinds.is_large_string(type) or kinds.is_large_binary(type))


def has_room(column: pa.Array | pa.ChunkedArray, type: pa.DataType) -> bool:
    """Whether one array of a type has room for a column, which may be of its large type."""
    return not is_limited(type) or column.nbytes <= ARRAY_BYTES


def sizes(column: pa.Array) -> Ints:
    """How much of the room of an array each row takes: bytes of text, or items of lists."""
    type = column.type
    if is_text(type):
        return _numbers(pc.binary_length(column))
    parts: list[Ints] = [np.zeros(len(column), np.int64)]
    if pa.types.is_struct(type):
        parts += map(sizes, column.flatten())
    elif pa.types.is_list(type) or pa.types.is_large_list(type):
        lengths = _numbers(pc.list_value_length(column))
        parts += [lengths, sums_of(sizes(column.flatten()), lengths)]
    found: Ints = np.maximum.reduce(parts)
    return found


def _numbers(column: pa.Array) -> Ints:
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def sizes_of_values(values: NDArray[Any]) -> Ints:
    """The bytes of each text of a column of Python's values."""
    return np.fromiter(map(_bytes_of, values.tolist()), np.int64, len(values))


def _bytes_of(text: str | bytes | None) -> int:
    if isinstance(text, str) and not text.isascii():
        text = text.encode()
    return 0 if text is None else len(text)


def bytes_of(table: pa.Table | pa.RecordBatch, small: int) -> int:
    """The bytes of a table; of one below ``small`` those of its whole buffers, in a hundredth of the time.

    Whole buffers are counted of string views, too, which Polars and DuckDB give: up to version 22, pyarrow cannot count
    others.
    """
    whole = int(table.get_total_buffer_size())
    try:
        return whole if whole < small else int(table.nbytes)
    except pa.ArrowTypeError:
        return whole


def longest_text(plane: pa.ChunkedArray) -> int:
    """The bytes of the longest text of a column, or among the items of its lists; 0 where it has none."""
    kind = plane.type
    lists = pa.types.is_large_list(kind) or pa.types.is_list(kind)
    if not is_text(kind.value_type if lists else kind):
        return 0
    each = (pc.binary_length(chunk.flatten() if lists else chunk) for chunk in plane.chunks)
    return max((pc.max(lengths).as_py() or 0 for lengths in each), default=0)


def sums_of(items: Ints, lengths: Ints) -> Ints:
    """The sum of the items of each list.

    >>> sums_of(np.array([1, 2, 3]), np.array([2, 0, 1])).tolist()
    [3, 0, 3]
    """
    ends = np.cumsum(lengths)
    sums = np.concatenate([[0], np.cumsum(items)])
    found: Ints = sums[ends] - sums[ends - lengths]
    return found


def runs(sizes: Ints) -> Iterator[slice]:
    """Rows in runs for each of which an array has room; a row for which none has is a run by itself.

    >>> [(run.start, run.stop) for run in runs(np.array([1, ARRAY_BYTES, 2, 3]))]
    [(0, 1), (1, 2), (2, 4)]
    """
    ends = np.cumsum(sizes)
    start = before = 0
    while start < len(sizes):
        stop = max(int(np.searchsorted(ends, before + ARRAY_BYTES, side="right")), start + 1)
        yield slice(start, stop)
        start, before = stop, int(ends[stop - 1])


def take(column: pa.Array | pa.ChunkedArray, rows: pa.Array) -> pa.Array | pa.ChunkedArray:
    """Some rows of a column, in several arrays where one has no room for them."""
    if not is_limited(column.type):
        numbers = None if rows.null_count or column.null_count else plain_numbers(column)
        return column.take(rows) if numbers is None else pa.array(numbers[rows.to_numpy()]).view(column.type)
    column = one_array(column)
    each = sizes(column)
    if int(each.max(initial=0)) * len(rows) <= ARRAY_BYTES:
        return column.take(rows)
    own = np.append(each, 0)[pc.fill_null(rows, len(each)).to_numpy(zero_copy_only=False)]
    return joined([column.take(rows[run]) for run in runs(own)])


def plain_numbers(column: pa.Array | pa.ChunkedArray) -> NDArray[Any] | None:
    """Numbers or times as numpy has them, times as integers, whatever at nulls; None for other columns."""
    kind, kinds = column.type, pa.types
    if not (kinds.is_primitive(kind) and kind.bit_width in (8, 16, 32, 64)) or kinds.is_float16(kind):
        return None
    whole = one_array(column)
    size = kind.bit_width // 8
    # Not `to_pandas_dtype`, which imports pandas with older releases of pyarrow.
    letter = "f" if kinds.is_floating(kind) else "u" if kinds.is_unsigned_integer(kind) else "i"
    found: NDArray[Any] = np.frombuffer(whole.buffers()[1], f"{letter}{size}", len(whole), whole.offset * size)
    return found


def of_numbers(numbers: NDArray[Any], type: pa.DataType, valid: NDArray[np.uint8] | None = None) -> pa.Array:
    """Numbers as :func:`plain_numbers` gives them as a column of a type; ``valid`` has a bit for each, 0 for a null."""
    buffers = [None if valid is None else pa.py_buffer(valid), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(type, len(numbers), buffers)


def words_of(column: pa.Array | pa.ChunkedArray) -> list[NDArray[Any]]:
    """The values of a column as integers of their width; where it has nulls, then bytes that are 1 for other values.

    Booleans are bytes. None of columns that are not of numbers, times or booleans.
    """
    numbers = plain_numbers(column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column)
    if numbers is None:
        return []
    words = [numbers.view(f"i{numbers.itemsize}")]
    if column.null_count:
        words.append(one_array(column).is_valid().to_numpy(zero_copy_only=False).view(np.int8))
    return words


def of_words(words: Sequence[NDArray[Any]], type: pa.DataType) -> pa.Array:
    """The column of a type that :func:`words_of` gives words of."""
    numbers, *valid = words
    bits = np.packbits(valid[0], bitorder="little") if valid else None
    boolean = pa.types.is_boolean(type)
    return of_numbers(numbers, pa.int8(), bits).cast(type) if boolean else of_numbers(numbers, type, bits)


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array, of a large type where no other has room for it.

    It is copied only where its chunks are not one, and do not lie one after the other in memory, as numbers may that
    were cut into batches.
    """
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if not column.num_chunks:
        return pa.nulls(0, column.type)
    if (whole := in_one_place(column)) is not None:
        return whole
    if not has_room(column, column.type):
        column = column.cast(large(column.type))
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)


def in_one_place(column: pa.ChunkedArray) -> pa.Array | None:
    """The memory that chunks of int64 without a null lie in, where that is one piece; None where it is not.

    >>> whole = pa.array(range(10))
    >>> found = in_one_place(pa.chunked_array([whole[2:5], whole[5:5], whole[5:]]))
    >>> found.buffers()[1].address - whole.buffers()[1].address, found.to_pylist()
    (16, [2, 3, 4, 5, 6, 7, 8, 9])
    """
    if column.type != pa.int64() or column.null_count:
        return None
    chunks = [each for each in column.chunks if len(each)]
    after = None
    for each in chunks:
        place = each.buffers()[1].address + each.offset * 8
        if after is not None and place != after:
            return None
        after = place + len(each) * 8
    if after is None:
        return None
    memory = pa.foreign_buffer(after - len(column) * 8, len(column) * 8, base=chunks)
    return pa.Array.from_buffers(column.type, len(column), [None, memory], 0)


def fitting(column: pa.Array | pa.ChunkedArray, type: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """A column as one of a type, in several arrays where it is large and one has no room for it."""
    if column.type == type:
        return column
    if isinstance(column, pa.ChunkedArray) or large(type) != column.type or has_room(column, type):
        return column.cast(type)
    rows = np.arange(len(column))
    # A slice would keep its place among all bytes, which is beyond what the type counts.
    return joined([column.take(pa.array(rows[run])).cast(type) for run in runs(sizes(column))])


def joined(columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array | pa.ChunkedArray:
    """Columns one after the other, each of its arrays as it is; an array where there is only one."""
    arrays = [
        each for column in columns for each in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])
    ]
    return arrays[0] if len(arrays) == 1 else pa.chunked_array(arrays, columns[0].type)


def list_offsets(offsets: Ints) -> pa.Array:
    """Offsets as Arrow has those of lists; ArrowInvalid where these have no room for them."""
    fit = offsets[-1] <= ARRAY_BYTES
    return pa.array(offsets.astype(np.int32)) if fit else pa.array(offsets).cast(pa.int32())
