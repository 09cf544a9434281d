"""The types that hold a column of several files, each of which has types of its own."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ...aggregators.errors import QueryError
from ..columns.field_types import has_order


def unified(schemas: Mapping[str, pa.Schema], *, mixed_zones: bool = False) -> pa.Schema:
    """The columns of several files, with types that hold those of each.

    Parameters
    ----------
    schemas
        The columns of each file, by its path.
    mixed_zones
        Whether a column may have times with a zone in some files and without one in others; see :func:`held_types`.

    Raises
    ------
    QueryError
        If a column has types of which none holds the others.
    """
    wider, apart = held_types(schemas, mixed_zones=mixed_zones)
    for reason in apart.values():
        raise QueryError(reason)
    each = [_with_types(schema, wider) for schema in schemas.values()]
    return pa.unify_schemas(each, promote_options="permissive")


def of_the_first(schemas: Mapping[str, pa.Schema]) -> tuple[pa.Schema, dict[str, str]]:
    """The columns of the first of several files, with types that hold those of each, and why some have none.

    A column without such a type is as the first file has it.

    Examples
    --------
    >>> files = {"a": pa.schema([("x", pa.int32())]), "b": pa.schema([("x", pa.int64()), ("y", pa.int64())])}
    >>> of_the_first(files)
    (x: int64, {})
    """
    wider, apart = held_types(schemas, mixed_zones=True)
    first = next(iter(schemas.values()))
    # Nobody can read them, and nobody looks for their categories.
    known = {*first.names}
    ordered = [name for name in apart if name in known and pa.types.is_dictionary(first.field(name).type)]
    wider |= {name: first.field(name).type.value_type for name in ordered}
    return _with_types(first, wider), apart


def held_types(schemas: Mapping[str, pa.Schema], *, mixed_zones: bool) -> tuple[dict[str, pa.DataType], dict[str, str]]:
    """The types of columns whose types differ from file to file; a sentence for those that no type holds.

    Times with a zone in some files and without one in others are all of the first file's kind, as in Spark: those
    without one are in UTC.
    """
    found: dict[str, dict[pa.DataType, str]] = {}
    first = next(iter(schemas.values()))
    for path, schema in schemas.items():
        if schema is first or not schema.equals(first):
            for field in schema:
                found.setdefault(field.name, {}).setdefault(field.type, path)
    wider, apart = {}, {}
    for name, kinds in found.items():
        (held, path), *others = kinds.items()
        for kind, other in others:
            both = wider_of(held, kind)
            times = both is not None and pa.types.is_timestamp(both) and pa.types.is_timestamp(held)
            zones = times and not mixed_zones and (held.tz is None) != (kind.tz is None)
            if both is None or zones:
                wanted = "times with a zone in all of them, or in none" if zones else "types of which one holds all"
                apart[name] = f"the column {name!r} is {held} in {path!r} and {kind} in {other!r}; expected {wanted}"
                break
            held = both
        if others and name not in apart:
            wider[name] = held
    return wider, apart


def wider_of(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that holds two others, with the zone of the first; None where there is none, or an order would be lost.

    >>> wider_of(pa.int32(), pa.int64()), wider_of(pa.timestamp("us"), pa.int64())
    (DataType(int64), None)
    """
    if one == other:
        return one
    if has_order(one) or has_order(other):
        return None
    if pa.types.is_dictionary(one) or pa.types.is_dictionary(other):
        one, other = (each.value_type if pa.types.is_dictionary(each) else each for each in (one, other))
    if one == other:
        return one
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        # Microseconds hold far times, which nanoseconds do not; digits below a microsecond are refused when they come.
        return pa.timestamp(one.unit if one.unit == other.unit else "us", one.tz)
    if {pa.types.is_decimal(one), pa.types.is_decimal(other)} == {True, False} and (
        pa.types.is_floating(one) or pa.types.is_floating(other)
    ):
        return None  # pyarrow would round decimals to floats
    try:
        both = [pa.schema([("column", each)]) for each in (one, other)]
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def _with_types(schema: pa.Schema, types: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema([field.with_type(types.get(field.name, field.type)) for field in schema])
