"""Columns in their plain types, as keys are: without dictionaries, views, extensions."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError
from ...aggregators.states.categories import Categories, UnknownCategories
from ...aggregators.states.large import has_room, large, one_array
from ...aggregators.states.nested import any_in


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
