"""The extension types of columns of results: those that the events have, such as UUIDs, which are computed as bytes."""

from __future__ import annotations

import pyarrow as pa

from ..plan.plan import Plan


def with_extensions(results: pa.Table, plan: Plan, events: pa.Schema) -> pa.Table:
    """Results in which keys, and values that are picked, have the extension types of their columns.

    An output has that of an input whose storage type it has, itself or what is in it.
    """
    types = {field.name: field.type for field in events if isinstance(field.type, pa.BaseExtensionType)}
    if not types:
        return results
    computed = {name: bound.spec.columns for name, bound in plan.columns_computed.items()}
    inputs = {name: [name] for name in plan.by} | computed
    for place, field in enumerate(results.schema):
        for name in inputs.get(field.name, ()):
            if name in types and (wrapped := extended(field.type, types[name])) is not None:
                results = results.set_column(place, field.with_type(wrapped), results.column(place).cast(wrapped))
                break
    return results


def extended(type: pa.DataType, extension: pa.BaseExtensionType) -> pa.DataType | None:
    """A type with an extension type in the place of its storage, also in lists, maps and structs; None for others.

    >>> extended(pa.list_(pa.binary(16)), pa.uuid()), extended(pa.int64(), pa.uuid())
    (ListType(list<item: extension<arrow.uuid>>), None)
    """
    if type == extension.storage_type:
        return extension
    inner = [type.field(at) for at in range(type.num_fields)]
    if pa.types.is_map(type):
        inner = [type.key_field, type.item_field]
    found = [extended(field.type, extension) for field in inner]
    if not any(found):
        return None
    fields = [field if kind is None else field.with_type(kind) for field, kind in zip(inner, found, strict=True)]
    if pa.types.is_struct(type):
        return pa.struct(fields)
    if pa.types.is_map(type):
        return pa.map_(*fields)
    return pa.list_(fields[0]) if pa.types.is_list(type) else None
