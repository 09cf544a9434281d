"""What is in nested types, however deep: others in its place, in the type or in the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def any_in(type: pa.DataType, test: Callable[[pa.DataType], Any]) -> bool:
    """Whether a type, or one in it, passes a test.

    >>> any_in(pa.list_(pa.float64()), pa.types.is_floating)
    True
    """
    return bool(test(type)) or any(any_in(type.field(at).type, test) for at in range(type.num_fields))


def with_inner(type: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A list, struct or map of what ``change`` makes of the types in it; any other type as it is."""

    def of(field: pa.Field) -> pa.Field:
        return field.with_type(change(field.type))

    kinds = pa.types
    if kinds.is_struct(type):
        return pa.struct(list(map(of, type)))
    if kinds.is_map(type):
        return pa.map_(of(type.key_field), of(type.item_field), type.keys_sorted)
    if kinds.is_fixed_size_list(type):
        return pa.list_(of(type.value_field), type.list_size)
    if kinds.is_list(type) or kinds.is_large_list(type):
        return (pa.list_ if kinds.is_list(type) else pa.large_list)(of(type.value_field))
    return type


def with_inner_values(column: pa.Array, type: pa.DataType, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """A column of lists, structs or maps as one of a type, of what ``change`` makes of the values in it."""
    if pa.types.is_struct(type):
        parts = [change(column.field(at)) for at in range(type.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(type), mask=column.is_null())
    if pa.types.is_map(type):
        entries = [change(column.keys), change(column.items)]
        inner = pa.StructArray.from_arrays(entries, fields=[type.key_field, type.item_field])
    else:
        inner = change(column.values)
    buffers = column.buffers()[: 1 if pa.types.is_fixed_size_list(type) else 2]
    return pa.Array.from_buffers(type, len(column), buffers, column.null_count, column.offset, children=[inner])
