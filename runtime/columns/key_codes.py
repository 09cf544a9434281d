"""Key columns as integer codes: equal keys, equal codes, in the order of Spark SQL.

A null is a key of its own and comes first; all NaN are one key and come last; -0.0 is 0.0. Structs compare field by
field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.errors import ColumnError
from ...aggregators.states.arrays import Index, Ints
from ...aggregators.states.categories import Categories, UnknownCategories
from ...aggregators.states.large import has_room, is_text, large
from ...aggregators.states.large import one_array as one_array
from ...aggregators.states.nested import any_in
from ..tuning import KEY_TILE_ROWS, MAX_SPARSE, RUNS_SAMPLE
from .sorting import dense, few_runs

MAX_PACKED = 1 << 62
"""Codes of several columns are packed into one integer below this."""

MANY_TEXTS = 1 << 14
"""Different texts from which on pyarrow codes them: a table of fewer stays in the cache."""


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
    if pa.types.is_struct(type):
        return pa.struct([(field.name, plain_type(field.type)) for field in type])
    return type


def plain(column: pa.Array | pa.ChunkedArray, type: pa.DataType) -> pa.Array:
    """A column as one array of its plain type."""
    column = one_array(column)
    if isinstance(type, Categories):
        return type.codes(column)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        return column.dictionary.cast(type).take(column.indices)
    if pa.types.is_struct(column.type) and column.type != type:
        return _struct_of(column, map(plain, fields_of(column), [field.type for field in type]))
    if column.type == type or (column.type == large(type) and not has_room(column, type)):
        return column
    return column.cast(type)


def fields_of(column: pa.Array) -> list[pa.Array]:
    """The fields of a column of structs, null where these are."""
    return list(column.flatten())


def _struct_of(column: pa.Array, fields: Iterable[pa.Array]) -> pa.Array:
    """A column of structs with other fields of the same names."""
    made = list(fields)
    if not made:
        return column
    named = [pa.field(mine.name, each.type) for mine, each in zip(column.type, made, strict=True)]
    return pa.StructArray.from_arrays(made, fields=named, mask=column.is_null())


def coded_or_plain(column: pa.Array | pa.ChunkedArray, type: pa.DataType) -> pa.Array:
    """A column as :func:`plain` gives it, but with its dictionary, if it has one and its values are not floats."""
    if isinstance(type, Categories):
        return plain(column, type).storage
    column = one_array(column)
    if not isinstance(column, pa.DictionaryArray) or pa.types.is_floating(type):
        return plain(column, type)
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(type))


def key_column(events: pa.Table, name: str, type: pa.DataType) -> pa.Array:
    """A key of events as :func:`coded_or_plain` gives it; ColumnError where a value does not fit the type."""
    column = events.column(name)
    try:
        return coded_or_plain(column, type)
    except pa.ArrowInvalid as error:
        raise ColumnError(not_held(f"the key {name!r} of the events", column.type, type)) from error


def not_held(named: str, found: pa.DataType, expected: pa.DataType) -> str:
    """The sentence for a column whose values do not fit the type that it has with those of another place."""
    return f"{named} is {found}, and has values that {expected} does not hold; expected one type: cast the column first"


def key_type(type: pa.DataType) -> pa.DataType:
    """The type of a key in partials: codes where it has categories."""
    return type.storage_type if isinstance(type, Categories) else type


def require_key(name: str, type: pa.DataType, argument: str = "by=") -> None:
    """ColumnError unless values of a type can be keys, and sorted."""
    if isinstance(type, UnknownCategories):
        raise ColumnError(
            f"{argument} names {name!r}, an ordered dictionary whose order is not known before it is read; expected "
            f"a column of a table, or of {type.storage_type}: cast it"
        )
    if not _can_be_key(type):
        raise ColumnError(
            f"{argument} names {name!r}, which is {type}; expected numbers, strings, binaries, booleans, dates, "
            "timestamps, decimals or structs of these"
        )


def _can_be_key(type: pa.DataType) -> bool:
    if pa.types.is_struct(type):
        return all(_can_be_key(field.type) for field in type)
    return not (pa.types.is_nested(type) or pa.types.is_union(type) or pa.types.is_interval(type))


def normalised(column: pa.Array) -> pa.Array:
    """A key column with one zero and one NaN, and its codes where it has categories."""
    if isinstance(column, pa.ExtensionArray):
        return column.storage
    if pa.types.is_struct(column.type) and any_in(column.type, pa.types.is_floating):
        return _struct_of(column, map(normalised, fields_of(column)))
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
    if pa.types.is_struct(column.type):
        valid = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        codes, count = pack([(valid, 2), *(encode(each, ordered) for each in fields_of(column))], len(column))
        return (codes, count) if count <= max(MAX_SPARSE, 4 * len(column)) else dense(codes)
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
    """The numbers of a column of integers or times without nulls, the least, and the size of their range, if small."""
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if not pa.types.is_integer(column.type) or kind == pa.uint64() or column.null_count or not len(column):
        return None
    numbers: NDArray[Any] = column.to_numpy()
    limit = max(MAX_SPARSE, 4 * len(numbers))
    greatest = int(numbers.view(f"u{numbers.dtype.itemsize}").max())  # a negative number is a great one here
    if greatest < min(limit, 1 << 8 * numbers.dtype.itemsize - 1):
        least = int(numbers.min()) if numbers[0] == numbers[-1] == greatest else 0  # one number, maybe
        return numbers, least, greatest - least + 1
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
    if pa.types.is_struct(column.type):
        _, first, codes = np.unique(encode(column, ordered=False)[0], return_index=True, return_inverse=True)
        return codes.astype(np.int64, copy=False), column.take(pa.array(first))
    if len(column) >= RUNS_SAMPLE and (runs := few_runs(column)) is not None:
        lengths = np.diff(runs.run_ends.to_numpy(), prepend=0)
        codes, values = dictionary(runs.values)
        return np.repeat(codes, lengths), values
    if (texts := coded_text(column)) is not None:
        return texts[0].astype(np.int64), column.take(pa.array(texts[1]))
    half = pa.types.is_float16(column.type)  # which pyarrow cannot encode
    coded = (column.cast(pa.float32()) if half else column).dictionary_encode(null_encoding="encode")
    values = coded.dictionary
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return codes, values.cast(column.type) if half else values


def coded_text(column: pa.Array) -> tuple[NDArray[np.int32], Ints] | None:
    """A code for each text, in order of appearance, and the first row of each; None where they are many, or null."""
    if not is_text(column.type) or column.null_count or not len(column):
        return None
    _, ends, text = column.buffers()
    kind = np.int32 if large(column.type) != column.type else np.int64
    codes, first = np.empty(len(column), np.int32), np.empty(MANY_TEXTS, np.int64)
    ends = np.frombuffer(ends, kind, len(column) + 1, column.offset * np.dtype(kind).itemsize)
    count = loops.code_text(ends, np.frombuffer(text or b"", np.uint8), codes, first)
    return None if count < 0 else (codes, first[:count])


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


@dataclass(frozen=True)
class Coded:
    """A column of rows as integers.

    Parameters
    ----------
    codes
        One integer for each row.
    least
        The least of them.
    count
        The greatest minus the least, plus one.
    values
        Function from codes minus ``least`` to the column's values.
    of_rows
        The values of all rows, where these are there already.
    """

    codes: NDArray[Any]
    least: int
    count: int
    values: Callable[[Ints], Any]
    of_rows: Any = None

    def at(self, rows: Ints | slice) -> Coded:
        """The codes of some rows, in the range of all codes."""
        return replace(self, codes=self.codes[rows], of_rows=None)

    def values_of_rows(self) -> Any:
        """The value of each row."""
        return self.values(subtract(self.codes, self.least)) if self.of_rows is None else self.of_rows


def code_numbers(codes: Ints, bounds: Sequence[int] | Ints | None = None) -> Coded:
    """A column of integers, at least one; ``bounds`` are the least and the greatest of them, where known."""
    least, greatest = edges(codes) if bounds is None else map(int, bounds)
    if greatest - least < MAX_PACKED >> 8:
        return Coded(codes, least, greatest - least + 1, lambda own: own + least, codes)
    values, inverse = np.unique(codes, return_inverse=True)
    return Coded(inverse, 0, len(values), values.__getitem__)


def code_key(column: pa.Array) -> Coded:
    """A key column: integers and times in a small range as they are, other values by their dictionary."""
    if (close := near(column)) is not None:
        numbers, least, count = close
        kind = numbers.dtype
        return Coded(numbers, least, count, lambda own: pa.array((own + least).astype(kind)).view(column.type), column)
    if (below := with_nulls_below(column)) is not None and (close := near(below[0])) is not None:
        (filled, null), (numbers, least, count) = below, close

        def values_or_null(own: Ints) -> pa.Array:
            found = own + least
            return pa.array(found, filled.type, mask=found == null).view(column.type)

        return Coded(numbers, least, count, values_or_null)
    if not isinstance(column, pa.DictionaryArray):
        codes, values = dictionary(normalised(column))
        return Coded(codes, 0, max(len(values), 1), lambda own: values.take(pa.array(own)))
    values = column.dictionary
    if values.null_count or len(values.unique()) < len(values):
        return code_key(values.take(column.indices))
    if not column.null_count:
        return Coded(column.indices.to_numpy(), 0, max(len(values), 1), lambda own: values.take(pa.array(own)))
    null = len(values)  # a null is a key as any other
    codes = pc.fill_null(column.indices.cast(pa.int64()), null).to_numpy()
    return Coded(codes, 0, null + 1, lambda own: values.take(pa.array(own, mask=own == null)))


def code_ordered(column: pa.Array) -> Coded:
    """A key column as integers that compare as its values do, which are not needed again."""
    if (close := near(column)) is not None:
        return Coded(*close, lambda own: own)
    codes, count = encode(column, ordered=True)
    return Coded(codes, 0, max(count, 1), lambda own: own)


def codes_of_tile(index: Index, columns: Sequence[Coded], tile: slice) -> Index:
    """The codes of all columns in one, for a tile of rows."""
    part = index[tile]
    least = 0
    factor = math.prod(column.count for column in columns)
    for place, column in enumerate(columns):
        factor //= column.count
        least += column.least * factor
        codes = column.codes[tile]
        if not place:
            np.multiply(codes, factor, out=part, dtype=np.int64, casting="unsafe")
        else:
            own = codes if factor == 1 else np.multiply(codes, factor, dtype=np.int64, casting="unsafe")
            np.add(part, own, out=part, dtype=np.int64, casting="unsafe")
    part -= (least + (1 << 63)) % (1 << 64) - (1 << 63)  # int64 wraps: overflows above cancel here
    return part


def packed(columns: Sequence[Coded], rows: int) -> Ints:
    """The codes of all columns in one, which must fit, for all rows."""
    index = np.empty(rows, np.int64) if columns else np.zeros(rows, np.int64)
    for start in range(0, rows, KEY_TILE_ROWS):
        codes_of_tile(index, columns, slice(start, start + KEY_TILE_ROWS))
    return index


def subtract(codes: NDArray[Any], least: int) -> Ints:
    """Codes minus the least, as int64."""
    return cast(Ints, np.subtract(codes, least, dtype=np.int64))
