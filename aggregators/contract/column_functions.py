"""Users' functions of whole columns, called on rows without nulls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import OperationError, shown
from ..states.fields import to_values
from ..states.nested import with_inner
from .bound import to_column
from .frames import valid_rows

PLACES = 18
"""Digits after the point that Python's decimals keep unless a type is declared."""


def single_values(error: Exception) -> str | None:
    """What to say of a function that fails because it is written for single values; None of others.

    >>> single_values(AttributeError("'pyarrow.lib.StringArray' object has no attribute 'upper'"))
    'it is called with whole columns, not with single values; expected functions of pyarrow.compute'
    """
    text = str(error)
    called = "it is called with whole columns, not with single values; expected "
    if isinstance(error, ValueError) and text.startswith("The truth value of an array"):
        return f"{called}numpy.where instead of if, and & | ~ instead of and, or, not"
    if isinstance(error, TypeError) and ("0-dimensional arrays" in text or "length-1 arrays" in text):
        return f"{called}functions of numpy, such as numpy.sqrt instead of math.sqrt"
    if isinstance(error, (AttributeError, TypeError)) and "pyarrow.lib." in text and "Array" in text:
        return f"{called}functions of pyarrow.compute"
    if isinstance(error, AttributeError) and "'numpy.ndarray' object" in text:
        return f"{called}functions of numpy"
    return None


def apply(
    spec: object,
    function: Callable[..., Any],
    columns: Sequence[pa.Array],
    types: Sequence[pa.DataType] | None = None,
    count: int = 1,
) -> list[pa.Array]:
    """The columns that a function gives (a tuple of them where ``count`` is not 1), null where an argument is."""
    rows = len(columns[0])
    valid = valid_rows(columns)
    if valid is not None:
        if not valid.any():
            return [pa.nulls(rows, type) for type in types or [pa.null()] * count]
        columns = [column.filter(pa.array(valid)) for column in columns]
    try:
        values = _called(function, columns)
    except (AttributeError, TypeError, ValueError) as error:
        if (hint := single_values(error)) is None:
            raise
        raise OperationError(f"the function of {spec!r} failed ({type(error).__name__}: {error}): {hint}") from None
    single = values.ndim == 0 if isinstance(values, np.ndarray) else not hasattr(values, "__len__")
    if single or isinstance(values, (str, bytes, pa.Scalar)):
        found = shown(values.as_py() if isinstance(values, pa.Scalar) else values)
        raise OperationError(
            f"the function of {spec!r} returned {found} for a column of {len(columns[0])} values: it is called with "
            "whole columns; expected a column of as many"
        )
    given = values if count != 1 and isinstance(values, tuple) else (values,)
    if len(given) != count:
        raise OperationError(f"the function of {spec!r} returned {len(given)} columns; expected a tuple of {count}")
    wanted = types or [None] * count
    made = [_column(spec, each, len(columns[0]), type) for each, type in zip(given, wanted, strict=True)]
    if valid is None:
        return made
    source = pa.array(np.cumsum(valid) - 1, mask=~valid)
    return [column.take(source) for column in made]


def _called(function: Callable[..., Any], columns: Sequence[pa.Array]) -> Any:
    """The result of a function; where decimals of 38 digits do not do, it is called with 76.

    Arrow refuses to multiply a ``decimal(20, 2)`` and an integer: the type of the product would have 40 digits.
    """
    try:
        return function(*map(to_values, columns))
    except pa.ArrowInvalid:
        wide = [_cast(column, pa.types.is_decimal128, pa.decimal256) for column in columns]
        if all(one is other for one, other in zip(wide, columns, strict=True)):
            raise
        with suppress(pa.ArrowInvalid):
            values = function(*map(to_values, wide))
            return tuple(map(_narrow, values)) if isinstance(values, tuple) else _narrow(values)
        raise


def _narrow(values: Any) -> Any:
    return _cast(values, pa.types.is_decimal256, lambda digits, scale: pa.decimal128(min(digits, 38), scale))


def _cast(column: Any, of_kind: Callable[[pa.DataType], bool], made: Callable[[int, int], pa.DataType]) -> Any:
    """A column of one kind of decimals as one of another; all else as it is."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)) and of_kind(column.type):
        return column.cast(made(column.type.precision, column.type.scale))
    return column


def _column(spec: object, values: Any, rows: int, type: pa.DataType | None) -> pa.Array:
    try:
        typed = isinstance(values, (pa.Array, pa.ChunkedArray, np.ma.MaskedArray))
        column = to_column(list(values) if isinstance(values, np.ndarray) and values.ndim > 1 else values)
        wanted = type or (column.type if typed else roomy(column.type))
        if column.type != wanted:
            column = (column if typed else _rounded(column, wanted)).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        raise OperationError(
            f"the function of {spec!r} returned what cannot be a column of {type or 'one type'}: {error}"
        ) from error
    if len(column) != rows:
        raise OperationError(f"the function of {spec!r} returned {len(column)} values; expected {rows}, one each")
    return column


def roomy(type: pa.DataType) -> pa.DataType:
    """A type for a column of Python values of a trial.

    Decimals get 38 digits and the scale that was seen, at most 18, as Spark gives Python's decimals.

    >>> roomy(pa.decimal128(3, 2)), roomy(pa.list_(pa.decimal128(28, 28)))
    (Decimal128Type(decimal128(38, 2)), ListType(list<item: decimal128(38, 18)>))
    """
    if pa.types.is_decimal(type):
        return pa.decimal128(38, min(type.scale, PLACES))
    return with_inner(type, roomy)


def _rounded(column: pa.Array, type: pa.DataType) -> pa.Array:
    """A column of Python's decimals, rounded to the scale of a type where that is ``PLACES`` or more."""
    if not (
        pa.types.is_decimal(column.type) and pa.types.is_decimal(type) and column.type.scale > type.scale >= PLACES
    ):
        return column
    wide = column.cast(pa.decimal256(76, column.type.scale))
    return pc.round(wide, type.scale, round_mode="half_towards_infinity")
