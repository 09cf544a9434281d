"""The extension types of columns of results: those that the events have, such as UUIDs, which are computed as bytes."""

from __future__ import annotations

import pyarrow as pa

from ..plan.plan import Plan


def with_extensions(results: pa.Table, plan: Plan, events: pa.Schema) -> pa.Table:
    """Results in which keys, and values that are picked, have the extension types of their columns.

    An output has that of an input whose storage type it has, or lists of it.
    """
    types = {field.name: field.type for field in events if isinstance(field.type, pa.BaseExtensionType)}
    if not types:
        return results
    inputs = {name: [name] for name in plan.by} | {name: bound.spec.columns for name, bound in plan.outputs.items()}
    for place, field in enumerate(results.schema):
        for name in inputs.get(field.name, ()):
            if name in types and (wrapped := extended(field.type, types[name])) is not None:
                column = results.column(place)
                found = pa.chunked_array([as_type(chunk, wrapped) for chunk in column.chunks], wrapped)
                results = results.set_column(place, field.with_type(wrapped), found)
                break
    return results


def extended(type: pa.DataType, extension: pa.BaseExtensionType) -> pa.DataType | None:
    """An extension type, or lists of it, for a type of its storage; None for other types.

    >>> extended(pa.list_(pa.binary(16)), pa.uuid()), extended(pa.int64(), pa.uuid())
    (ListType(list<item: extension<arrow.uuid>>), None)
    """
    if type == extension.storage_type:
        return extension
    if not pa.types.is_list(type):
        return None
    item = extended(type.value_type, extension)
    return None if item is None else pa.list_(type.value_field.with_type(item))


def as_type(column: pa.Array, type: pa.DataType) -> pa.Array:
    """A column of storage as one of an extension type, or of lists of it."""
    if isinstance(type, pa.BaseExtensionType):
        return type.wrap_array(column)
    column = column.take(pa.array(range(len(column)))) if column.offset else column  # a mask fits no slice
    items = as_type(column.values, type.value_type)
    mask = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(column.offsets, items, type, mask=mask)
