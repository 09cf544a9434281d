"""The type of a column, as the field of a schema says it.

A field's metadata has why Arrow does not take a column, or the order of its categories: the schema of a source is all
that a query is checked against.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError, QueryError, nearest, require_text
from ...aggregators.states.categories import Categories, UnknownCategories
from .plain import plain_type, require_key

NOT_TAKEN, CATEGORIES = b"framefold.not_taken", b"framefold.categories"
"""Keys of the metadata of fields: why Arrow does not take a column, and its categories in their order."""

UNNAMED_INDEX = "__index_level_0__"


def type_of_values(field: pa.Field) -> pa.DataType:
    """The plain type of a column; of an ordered dictionary its categories, unless these are in the values' order."""
    given = (field.metadata or {}).get(CATEGORIES)
    if given is not None:
        found = Categories.__arrow_ext_deserialize__(pa.int32(), given)
        in_order = (pc.array_sort_indices(found.values).to_numpy() == np.arange(len(found.values))).all()
        return plain_type(field.type) if in_order else found
    return UnknownCategories(plain_type(field.type)) if has_order(field.type) else plain_type(field.type)


def has_order(type: pa.DataType) -> bool:
    """Whether values of a type compare by ordered dictionaries, as which they are or in which structs have them."""
    if pa.types.is_struct(type):
        return any(has_order(field.type) for field in type)
    return bool(pa.types.is_dictionary(type) and type.ordered)


def field_of(name: str, type: pa.DataType) -> pa.Field:
    """A field whose :func:`type_of_values` is a type."""
    if not isinstance(type, Categories):
        return pa.field(name, type)
    coded = pa.dictionary(pa.int32(), type.values.type)
    return pa.field(name, coded, metadata={CATEGORIES: type.__arrow_ext_serialize__()})


def plain_field(field: pa.Field) -> pa.Field:
    """A field of plain type, unless it is an ordered dictionary."""
    return field if type_of_values(field) != plain_type(field.type) else field.with_type(plain_type(field.type))


def type_of(events: pa.Schema, name: str, argument: str) -> pa.DataType:
    """The plain type of a column, or its categories; ColumnError unless there is one of that name that Arrow takes."""
    if not isinstance(name, str):
        raise QueryError(f"{argument} names {name!r}; expected the name of a column")
    require_text(f"the column that {argument} names", name)
    if (at := events.get_field_index(name)) < 0:
        found = events.names.count(name)
        many = f"{found} columns called {name!r}" if found else f"the unknown column {name!r}"
        parts = [f"{each.name}.{part.name}" for each in events if pa.types.is_struct(each.type) for part in each.type]
        near = nearest(name, [*events.names, *(parts if "." in name else [])])
        index = ", which is the index that pandas has without a name" if UNNAMED_INDEX in near else ""
        if not found and re.search(r"[<>=()+*/]|\s(and|or|is|in|like)\s", name):
            near += f"; for SQL, expected ff.expr({name!r})"
        raise ColumnError(f"{argument} names {many}; " + ("expected one" if found else near + index))
    column = events.field(at)
    if column.metadata:
        require_taken(events, [name], argument)
    return type_of_values(column)


def keys_in(events: pa.Schema, by: Sequence[str], ties: Sequence[str] = ()) -> list[pa.Field]:
    """The key columns as events have them; ColumnError where one is unknown, or it or a column of ties can be none."""
    once = set[str]()
    for name in by:
        require_key(name, type_of(events, name, "by="))
        if name in once:
            raise QueryError(f"by= names {name!r} twice; expected each key once")
        once.add(name)
    for name in ties:
        require_key(name, type_of(events, name, "ties="), "ties=")
    return [pa.field(name, type_of(events, name, "by=")) for name in by]


def require_taken(schema: pa.Schema, names: Iterable[str], user: str) -> None:
    """ColumnError where Arrow does not take a column that something names, such as the argument ``time=``."""
    for name in names:
        at = schema.get_field_index(name)
        reason = None if at < 0 else (schema.field(at).metadata or {}).get(NOT_TAKEN)
        if reason is not None:
            raise ColumnError(
                f"{user} names {name!r}, which Arrow does not take ({reason.decode()}); expected values of one type "
                "that it has: cast it first"
            )
