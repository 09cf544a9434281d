"""The extension types of columns of results: those that the events have, such as UUIDs, which are computed as bytes."""

from __future__ import annotations

import pyarrow as pa

from ...aggregators.states.nested import with_inner
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
            if name in types and (wrapped := extended(field.type, types[name])) != field.type:
                results = results.set_column(place, field.with_type(wrapped), results.column(place).cast(wrapped))
                break
    return results


def extended(type: pa.DataType, extension: pa.BaseExtensionType) -> pa.DataType:
    """A type with an extension type in the place of its storage, also in lists, maps and structs.

    >>> extended(pa.list_(pa.binary(16)), pa.uuid()), extended(pa.int64(), pa.uuid())
    (ListType(list<item: extension<arrow.uuid>>), DataType(int64))
    """
    return extension if type == extension.storage_type else with_inner(type, lambda inner: extended(inner, extension))
