"""Columns without Arrow's view types, which most of its functions do not take."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .nested import with_inner, with_inner_values


def without_views(type: pa.DataType) -> pa.DataType:
    """A type with plain strings, binaries and lists in the place of views, however deep they are.

    Examples
    --------
    >>> without_views(pa.struct([("names", pa.list_view(pa.string_view()))]))
    StructType(struct<names: list<item: large_string>>)
    """
    kinds = pa.types
    if kinds.is_string_view(type):
        return pa.large_string()
    if kinds.is_binary_view(type):
        return pa.large_binary()
    if kinds.is_dictionary(type):
        return pa.dictionary(type.index_type, without_views(type.value_type), type.ordered)
    if kinds.is_run_end_encoded(type):
        return without_views(type.value_type)
    if kinds.is_list_view(type) or kinds.is_large_list_view(type):
        made = pa.list_ if kinds.is_list_view(type) else pa.large_list
        return made(type.value_field.with_type(without_views(type.value_type)))
    if isinstance(type, pa.BaseExtensionType) and (plain := without_views(type.storage_type)) != type.storage_type:
        return plain
    return with_inner(type, without_views) if kinds.is_nested(type) else type


def is_made(type: pa.DataType) -> bool:
    """Whether Arrow makes values of a type; not of unions, nor of extension types in lists and structs.

    >>> is_made(pa.list_(pa.string())), is_made(pa.dense_union([pa.field("x", pa.int64())]))
    (True, False)
    """
    item = type.value_type if pa.types.is_large_list(type) else type
    if not item.num_fields and not isinstance(item, pa.BaseExtensionType):
        return True
    try:
        pa.array([], type)
    except pa.ArrowNotImplementedError:
        return False
    return True


def viewless(column: pa.Array) -> pa.Array:
    """A column as one of the type that :func:`without_views` gives."""
    type: Any = column.type
    wanted = without_views(type)
    if wanted == type:
        return column
    if isinstance(column, pa.ExtensionArray):
        return viewless(column.storage)
    kinds = pa.types
    if kinds.is_dictionary(type):
        return pa.DictionaryArray.from_arrays(column.indices, viewless(column.dictionary), ordered=type.ordered)
    if kinds.is_run_end_encoded(type):
        return viewless(pc.run_end_decode(column))
    if kinds.is_list_view(type) or kinds.is_large_list_view(type):
        return _list(column, wanted)
    return with_inner_values(column, wanted, viewless) if kinds.is_nested(type) else column.cast(wanted)


def _list(column: pa.Array, type: pa.DataType) -> pa.Array:
    """A column of list views as one of lists."""
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    width = pa.int64() if pa.types.is_large_list(type) else pa.int32()
    zero = pa.array([0], pa.int64())
    ends = pa.concat_arrays([zero, pc.cumulative_sum(lengths.cast(pa.int64()))]).cast(width)
    made = pa.LargeListArray if pa.types.is_large_list(type) else pa.ListArray
    return made.from_arrays(ends, viewless(column.flatten()), type=type, mask=column.is_null())
