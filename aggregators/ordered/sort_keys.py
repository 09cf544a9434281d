"""The order of a column's values, as int64 keys where there are such."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .. import loops
from ..contract.frames import Values
from ..contract.operation import Operation
from ..errors import ColumnError
from ..extremes.min_max import neutral_value
from ..numeric.grouped import ranked
from ..states.arrays import Bools, Ints
from ..states.categories import codes_or_values
from ..states.fields import numpy_type

Keys: TypeAlias = NDArray[Any]
"""Values as a state keeps them: int64 keys, or Python values."""

SIGN = np.int64(-1) << np.int64(63)
NAN = np.int64(np.iinfo(np.int64).max)
DIGITS = 18
"""Decimals of up to 18 digits are int64 keys."""


class Order:
    """An ordered type: its values as keys that compare as Spark SQL compares the values.

    Numbers, booleans, dates, times, timestamps, durations and decimals of up to 18 digits are int64 keys; strings,
    binaries and longer decimals stay Python values. Floats are their bits, those of negative ones turned round (M.
    Herf, "Radix Tricks", 2001): NaN is one value above all others, and -0.0 is 0.0.

    Parameters
    ----------
    operation, column, type
        Whose column this is, for the message, and its type.

    Raises
    ------
    ColumnError
        If the values of the type have no order.
    """

    def __init__(self, operation: Operation, column: str, type: pa.DataType) -> None:
        if numpy_type(type) is None and neutral_value(type) is None:
            raise ColumnError(f"{operation!r} needs a column whose values have an order; {column!r} is {type}")
        self.type = type
        self.dtype = numpy_type(type)
        self.short_decimal = bool(pa.types.is_decimal128(type) and type.precision <= DIGITS)
        self.time = bool(pa.types.is_time(type))

    @property
    def numeric(self) -> bool:
        """Whether the keys are integers."""
        return self.dtype is not None or self.short_decimal or self.time

    @property
    def plane(self) -> Any:
        """How a state declares a field of keys."""
        return "int64" if self.numeric else self.type

    @property
    def neutral(self) -> Any:
        """A placeholder key."""
        return 0 if self.numeric else neutral_value(self.type)

    def keys(self, values: Values) -> Keys:
        """The keys of values without nulls: a numpy or an Arrow array."""
        if not self.numeric:
            return cast(Keys, values.to_numpy(zero_copy_only=False))
        if self.short_decimal:
            words = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset :][: 2 * len(values)]
            return words[0::2].copy()
        if self.time:
            return cast(Keys, values.view(f"int{self.type.bit_width}").to_numpy().astype(np.int64))
        if isinstance(values, pa.Array):
            values = codes_or_values(values).to_numpy(zero_copy_only=False)
        if values.dtype.kind == "f":
            keys = np.empty(len(values), np.int64)
            loops.keys_of_floats(np.ascontiguousarray(values, np.float64), keys)
            return keys
        if values.dtype == np.uint64:
            return cast(Keys, values.view(np.int64) ^ SIGN)
        return cast(Keys, values.astype(np.int64, copy=False))

    def ranks(self, values: Values) -> Ints:
        """Integers in the order of these values, comparable among themselves only."""
        return self.keys(values) if self.numeric else ranked(values)[0]

    def ranks_of_keys(self, keys: Keys) -> Ints:
        """Integers in the order of keys, comparable among themselves only."""
        return keys if self.numeric else self.ranks(self.values(keys))

    def values(self, keys: Keys, mask: Bools | None = None) -> pa.Array:
        """The values of keys, null where masked."""
        if self.short_decimal:
            words = np.column_stack([keys, keys >> np.int64(63)]).ravel()
            bits = None if mask is None else pa.array(~mask).buffers()[1]
            return pa.Array.from_buffers(self.type, len(keys), [bits, pa.py_buffer(words)])
        if self.time:
            width = self.type.bit_width
            return pa.array(keys.astype(f"int{width}"), mask=mask).view(self.type)
        return restored(keys if self.dtype is None else self._decoded(keys, self.dtype), self.type, mask)

    def _decoded(self, keys: Keys, dtype: np.dtype[Any]) -> Keys:
        if dtype.kind == "f":
            values = np.empty(len(keys))
            loops.floats_of_keys(np.ascontiguousarray(keys), values)
            return values.astype(dtype, copy=False)
        return (keys ^ SIGN).view(np.uint64) if dtype == np.uint64 else keys.astype(dtype)


def stored(column: pa.Array) -> tuple[Keys, Bools]:
    """A nullable column as unordered values of a state, and which of them are not null."""
    known = column.is_valid().to_numpy(zero_copy_only=False)
    dtype = numpy_type(column.type)
    if dtype is None:
        return objects(column), known
    values = np.zeros(len(column), dtype)
    values[known] = codes_or_values(column).drop_null().to_numpy(zero_copy_only=False)
    return values, known


def objects(values: Values) -> Keys:
    """Values without a numpy type as Python has them; numpy arrays as they are."""
    if isinstance(values, np.ndarray):
        return values
    if not pa.types.is_nested(values.type):
        return cast(Keys, values.to_numpy(zero_copy_only=False))
    array = np.empty(len(values), object)
    array[:] = values.to_pylist()
    return array


def restored(values: Keys, type: pa.DataType, mask: Bools | None = None) -> pa.Array:
    """Values of states as a column of their type, null where masked."""
    return pa.array(values.tolist() if values.dtype == object else values, type=type, mask=mask)
