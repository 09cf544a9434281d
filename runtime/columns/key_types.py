"""One type for keys that come from two places: the wider of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from ...aggregators.errors import ColumnError
from ...aggregators.states.categories import Categories
from .plain import not_held, plain, plain_type

DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""Of integers, by their bits."""

Unfit = Callable[[pa.DataType, pa.DataType], str]
"""The sentence for a type that does not fit the one of the places before."""

NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of two; None where values of both cannot be equal, or none holds both.

    Text and binaries may be long, numbers and units of time get as many digits as either has, and a date is the
    midnight that begins it. Ordered categories stay such beside plain values. Of two zones the first one stays.

    Examples
    --------
    >>> wider(pa.int32(), pa.int64()), wider(pa.string(), pa.large_string()), wider(pa.string(), pa.int64())
    (DataType(int64), DataType(large_string), None)
    """
    if one == other:
        return one
    if isinstance(one, Categories) and isinstance(other, Categories):
        held = wider(one.values.type, other.values.type)
        return one if held is not None and one.values.cast(held).equals(other.values.cast(held)) else None
    for mine, theirs in ((one, other), (other, one)):
        if isinstance(mine, Categories):
            return mine if wider(mine.values.type, theirs) is not None else None
        if pa.types.is_null(mine):
            return theirs
        if pa.types.is_date(mine) and pa.types.is_timestamp(theirs):
            return theirs if theirs.tz is None else None
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return _wider_struct(one, other)
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        if (one.tz is None) != (other.tz is None):
            return None
        other = pa.timestamp(other.unit, one.tz)
    elif not (_are_numbers(one, other) or _kind(one) == _kind(other)):
        return None
    if pa.types.is_decimal(one) or pa.types.is_decimal(other):
        one, other = map(_as_decimal, (one, other))
    try:
        schemas = [pa.schema([("key", each)]) for each in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def _wider_struct(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if [field.name for field in one] != [field.name for field in other]:
        return None
    types = [wider(mine.type, theirs.type) for mine, theirs in zip(one, other, strict=True)]
    return None if None in types else pa.struct([field.with_type(type) for field, type in zip(one, types, strict=True)])


def _as_decimal(type: pa.DataType) -> pa.DataType:
    """The decimals that hold all integers of a type, for which Arrow has a digit less; other types as they are."""
    return pa.decimal128(DIGITS[type.bit_width], 0) if pa.types.is_integer(type) else type


def _are_numbers(*types: pa.DataType) -> bool:
    """Whether types are of numbers, and not of decimals beside floats, of which none holds the others."""
    kinds = {next((test for test in NUMBERS if test(type)), None) for type in types}
    return None not in kinds and not {pa.types.is_floating, pa.types.is_decimal} <= kinds


def _kind(type: pa.DataType) -> str:
    """The kind of a type: its name without units and sizes, in which it may differ from others of its kind."""
    name = str(type).partition("[")[0].partition("(")[0].removeprefix("large_").removeprefix("fixed_size_")
    return name.rstrip("0123456789")


def one_type(type: pa.DataType, others: Iterable[tuple[pa.DataType, Unfit]], *, of_times: bool = False) -> pa.DataType:
    """The type for keys of several places.

    Parameters
    ----------
    type
        The plain type that the key has in the first of them, or its categories.
    others
        The same for each of the others, and what to say if it does not fit.
    of_times
        Whether they are times, which no fraction is.

    Raises
    ------
    ColumnError
        If none holds the values of all.
    """
    for other, unfit in others:
        found = wider(type, other)
        if found is None or (of_times and (pa.types.is_floating(found) or pa.types.is_decimal(found))):
            raise ColumnError(unfit(other, type))
        type = found
    return type


def of_one_type(column: pa.Array | pa.ChunkedArray, type: pa.DataType, named: str) -> pa.Array:
    """A key column as one of the type that :func:`one_type` has found; ColumnError where a value does not fit it."""
    try:
        found = plain(column, plain_type(column.type))
        return type.codes(found, named) if isinstance(type, Categories) else plain(found, type)
    except pa.ArrowInvalid as error:
        raise ColumnError(not_held(named, column.type, type)) from error
