"""Users' functions of whole columns, called on rows without nulls; and lists unfolded into rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .binding import to_values
from .errors import OperationError, QueryError
from .operation import Operation


def require_operation(name: str, operation: object) -> Operation:
    """QueryError unless it is an operation."""
    if not isinstance(operation, Operation):
        hint = f", such as ff.{operation.__name__}(...)" if isinstance(operation, type) else ""
        raise QueryError(f"{name} is given {operation!r}; expected an aggregate operation{hint}")
    return operation


def valid_rows(columns: Sequence[pa.Array]) -> NDArray[np.bool_] | None:
    """Which rows have no null in any column; None where all are such."""
    nulls = [column for column in columns if column.null_count]
    if not nulls:
        return None
    valid: NDArray[np.bool_] = np.logical_and.reduce([c.is_valid().to_numpy(zero_copy_only=False) for c in nulls])
    return valid


def apply(
    asked: object,
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
    values = function(*map(to_values, columns))
    given = values if count != 1 and isinstance(values, tuple) else (values,)
    if len(given) != count:
        raise OperationError(f"the function of {asked!r} returned {len(given)} columns; expected a tuple of {count}")
    wanted = types or [None] * count
    made = [_column(asked, each, len(columns[0]), type) for each, type in zip(given, wanted, strict=True)]
    if valid is None:
        return made
    source = pa.array(np.cumsum(valid) - 1, mask=~valid)
    return [column.take(source) for column in made]


def _column(asked: object, values: Any, rows: int, type: pa.DataType | None) -> pa.Array:
    try:
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
        if isinstance(values, np.ma.MaskedArray):
            values = pa.array(np.asarray(values.data), mask=np.ma.getmaskarray(values))
        if isinstance(values, np.ndarray) and values.ndim > 1:
            values = list(values)
        column = values if isinstance(values, pa.Array) else pa.array(values)
        if type is not None and column.type != type:
            column = column.cast(type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        raise OperationError(
            f"the function of {asked!r} returned what cannot be a column of {type or 'one type'}: {error}"
        ) from error
    if len(column) != rows:
        raise OperationError(f"the function of {asked!r} returned {len(column)} values; expected {rows}, one each")
    return column


def is_list(type: pa.DataType) -> bool:
    """Whether a column of a type has lists, of any or of a fixed size."""
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type))


def unfold(asked: object, columns: Sequence[pa.Array]) -> tuple[NDArray[np.int64], list[pa.Array]]:
    """How many items each row has, and the columns item by item: those without lists repeat their values."""
    lengths: NDArray[np.int64] | None = None
    for column in columns:
        if is_list(column.type):
            found = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
            if lengths is not None and not np.array_equal(lengths, found):
                row = int(np.flatnonzero(lengths != found)[0])
                raise OperationError(
                    f"{asked!r} has lists of {lengths[row]} and of {found[row]} items in one event; expected as many"
                )
            lengths = found
    assert lengths is not None
    rows = pa.array(np.repeat(np.arange(len(lengths)), lengths))
    return lengths, [pc.list_flatten(each) if is_list(each.type) else each.take(rows) for each in columns]
