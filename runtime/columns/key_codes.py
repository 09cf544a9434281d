"""Key columns as integers: equal keys, equal codes, as Spark SQL groups and orders them.

A null is a key of its own and comes first; all NaN are one key and come last; -0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators.errors import ColumnError
from ...aggregators.numeric.native import loops

Ints = NDArray[np.int64]

MAX_PACKED = 1 << 62
"""Codes of several columns are packed into one integer below this."""

MAX_SPARSE = 1 << 18
"""Codes need not be consecutive where at most this many are possible, or a few per row."""

MAX_COUNTED = 1 << 18
"""Possible codes at most that are counted to be sorted: the counts stay in the processor's cache."""

RUNS_SAMPLE, LONG_RUN = 1 << 12, 16
"""Rows that are looked at for runs of equal text; rows of a run on average from which on it is coded once."""

MIN_RADIX, MAX_RADIX = 1 << 12, 1 << 44
"""Rows at least, and possible codes at most, that are sorted digit by digit: four digits are."""

MIN_RUN = 1 << 12
"""Sorted runs of at least this many rows, such as the partials of a few tasks, are merged and not sorted again."""


def plain_type(type: pa.DataType) -> pa.DataType:
    """The type of a column's values, without dictionaries, views and extensions."""
    if pa.types.is_dictionary(type):
        return plain_type(type.value_type)
    if pa.types.is_string_view(type):
        return pa.large_string()
    if pa.types.is_binary_view(type):
        return pa.large_binary()
    if pa.types.is_decimal(type) and type.precision <= 38:
        return pa.decimal128(type.precision, type.scale)
    if isinstance(type, pa.BaseExtensionType):
        return plain_type(type.storage_type)
    return type


def plain(column: pa.Array | pa.ChunkedArray, type: pa.DataType) -> pa.Array:
    """A column as one array of its plain type."""
    column = one_array(column)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        return column.dictionary.cast(type).take(column.indices)
    return column if column.type == type else column.cast(type)


def coded_or_plain(column: pa.Array | pa.ChunkedArray, type: pa.DataType) -> pa.Array:
    """A column as :func:`plain` gives it, but with its dictionary, if it has one and its values are not floats."""
    column = one_array(column)
    if not isinstance(column, pa.DictionaryArray) or pa.types.is_floating(type):
        return plain(column, type)
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(type))


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array, without a copy where it has one chunk."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)  # too large for one array


def require_key(name: str, type: pa.DataType, argument: str = "by=") -> None:
    """ColumnError unless values of a type can be keys, and sorted."""
    if pa.types.is_nested(type) or pa.types.is_union(type) or pa.types.is_interval(type):
        raise ColumnError(
            f"{argument} names {name!r}, which is {type}; expected numbers, strings, binaries, booleans, dates, "
            "timestamps or decimals"
        )


def normalised(column: pa.Array) -> pa.Array:
    """A key column with one zero and one NaN."""
    if not pa.types.is_floating(column.type):
        return column
    if pa.types.is_float16(column.type):
        return normalised(column.cast(pa.float32())).cast(column.type)
    zero, nan = pa.scalar(0.0, column.type), pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def encode(column: pa.Array, ordered: bool) -> tuple[Ints, int]:
    """A code for each value of a normalised column, and how many codes there are.

    ``ordered`` codes compare as the values do. A dictionary is sorted, and without a null.
    """
    if isinstance(column, pa.DictionaryArray):
        return column.indices.to_numpy().astype(np.int64), len(column.dictionary)
    if (close := near(column)) is not None:
        numbers, least, count = close
        return np.subtract(numbers, least, dtype=np.int64), count
    codes, values = dictionary(column.cast(pa.float32()) if pa.types.is_float16(column.type) else column)
    if ordered and len(values) > 1:
        nan = np.zeros(len(values), bool)
        if pa.types.is_floating(values.type):
            nan = pc.fill_null(pc.is_nan(values), False).to_numpy(zero_copy_only=False)
        null = values.is_null().to_numpy(zero_copy_only=False)
        by_value = pc.array_sort_indices(values).to_numpy()
        group = np.where(null, 0, np.where(nan, 2, 1))[by_value]
        rank = np.empty(len(values), np.int64)
        rank[by_value[np.argsort(group, kind="stable")]] = np.arange(len(values))
        codes = rank[codes]
    return codes, len(values)


def near(column: pa.Array) -> tuple[NDArray[Any], int, int] | None:
    """The numbers of a column of integers or times, the least, and the size of their range; None if it is large.

    None also for other columns, and for those with nulls.
    """
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if not pa.types.is_integer(column.type) or kind == pa.uint64() or column.null_count or not len(column):
        return None
    numbers: NDArray[Any] = column.to_numpy()
    limit = max(MAX_SPARSE, 4 * len(numbers))
    greatest = int(numbers.view(f"u{numbers.dtype.itemsize}").max())  # a negative number is a great one here
    if greatest < min(limit, 1 << 8 * numbers.dtype.itemsize - 1):
        return numbers, 0, greatest + 1
    least, greatest = edges(numbers)
    return (numbers, least, greatest - least + 1) if greatest - least < limit else None


def with_nulls_below(column: pa.Array) -> tuple[pa.Array, int] | None:
    """A column of integers or times with nulls as integers, and the one below the least, which its nulls are.

    None for other columns, and where there is none below.
    """
    kind = column.type
    if not column.null_count or not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)):
        return None
    if pa.types.is_interval(kind):
        return None
    numbers = column if pa.types.is_integer(kind) else column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    least = pc.min(numbers).as_py()
    if least is None or least == (
        0 if pa.types.is_unsigned_integer(numbers.type) else -1 << numbers.type.bit_width - 1
    ):
        return None
    return numbers.fill_null(least - 1), least - 1


def edges(numbers: NDArray[Any]) -> tuple[int, int]:
    """The least and the greatest of some integers."""
    return int(numbers.min()), int(numbers.max())


def dictionary(column: pa.Array) -> tuple[Ints, pa.Array]:
    """A code for each value of a normalised column, in order of appearance, and the value of each code."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), column[:1]
    if (runs := few_runs(column)) is not None:
        lengths = np.diff(runs.run_ends.to_numpy(), prepend=0)
        codes, values = dictionary(runs.values)
        return np.repeat(codes, lengths), values
    half = pa.types.is_float16(column.type)  # which pyarrow cannot encode
    coded = (column.cast(pa.float32()) if half else column).dictionary_encode(null_encoding="encode")
    values = coded.dictionary
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return codes, values.cast(column.type) if half else values


def few_runs(column: pa.Array) -> pa.Array | None:
    """A column of text in runs of equal values, where these are long, as in sorted rows; None otherwise."""
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not text or len(column) < RUNS_SAMPLE:
        return None
    for some in (column[:RUNS_SAMPLE], column):
        runs = pc.run_end_encode(some)
        if len(runs.values) * LONG_RUN > len(some):
            return None
    return runs


def pack(codes: Sequence[tuple[Ints, int]], rows: int) -> tuple[Ints, int]:
    """Several columns' codes as one code, in lexicographic order."""
    packed, size = np.zeros(rows, np.int64), 1
    for column, count in codes:
        if size * max(count, 1) > MAX_PACKED:
            packed, size = dense(packed)
            if size * max(count, 1) > MAX_PACKED:
                column, count = dense(column)
        packed = column if size == 1 else packed * count + column
        size *= max(count, 1)
    return packed, size


def dense(codes: Ints) -> tuple[Ints, int]:
    """Consecutive codes in the same order, and their number."""
    values, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64, copy=False), len(values)


def key_codes(columns: Sequence[pa.Array], rows: int, ordered: bool) -> tuple[Ints, int]:
    """One code for each row's key; ``ordered`` as in :func:`encode`."""
    return pack([encode(column, ordered) for column in columns], rows)


def span(values: Ints) -> tuple[Ints, int]:
    """Integers as codes from 0, in their order; consecutive only where their range is too wide to pack."""
    if not len(values):
        return values, 1
    least, greatest = edges(values)
    if greatest - least >= MAX_PACKED >> 8:
        return dense(values)
    return values - least, greatest - least + 1


def stable_order(codes: Ints, size: int) -> NDArray[np.intp]:
    """The stable order of codes from 0 to below ``size``.

    Few possible codes are counted. Else, where both fit 63 bits, codes and row numbers are packed and sorted as
    integers: that is faster than an argsort.
    """
    if loops is not None and size <= min(MAX_COUNTED, len(codes)):
        order = np.empty(len(codes), np.intp)
        loops.order_codes(np.ascontiguousarray(codes, np.int64), np.zeros(size + 1, np.int64), order)
        return order
    bits = max(len(codes) - 1, 1).bit_length()
    if size << bits > 1 << 63:
        return np.argsort(codes, kind="stable")
    both = sorted_with_rows(codes, size, bits)
    both &= (1 << bits) - 1
    return both


def sorted_with_rows(codes: Ints, size: int, bits: int) -> Ints:
    """Codes below ``size``, sorted, the row of each in the ``bits`` bits below it."""
    both = codes << bits
    both |= np.arange(len(codes))
    runs = 1 + np.count_nonzero(both[1:] < both[:-1])
    if runs * MIN_RUN <= len(codes):
        both.sort(kind="stable")
    elif loops is not None and len(codes) >= MIN_RADIX and size <= MAX_RADIX:
        loops.sort_by_bits(both, np.empty_like(both), bits, bits + (size - 1).bit_length())
    else:
        both.sort()
    return both


def groups_by_sorting(codes: Ints, size: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The group of each row, of equal codes below ``size``; the first row, number of rows and code of each group."""
    bits = max(len(codes) - 1, 1).bit_length()
    if loops is not None and size << bits <= 1 << 63:
        group, first, counts = np.empty((3, len(codes)), np.int64)
        both = sorted_with_rows(codes, size, bits)
        groups = loops.group_sorted(both, bits, group, first, counts)
        return group, first[:groups], counts[:groups], both[:groups]
    order = stable_order(codes, size)
    ordered = codes[order]
    new = np.empty(len(codes), bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    group = np.empty(len(codes), np.intp)
    group[order] = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    return group, order[starts], np.diff(np.append(starts, len(codes))), ordered[starts]
