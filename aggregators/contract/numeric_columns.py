"""What operations on columns of numbers share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..states.arrays import Floats
from ..states.double_double import two_sum
from ..states.fields import Compensated
from ..states.limbs import BITS, MASK
from .aggregate import Bindable
from .frames import Values


def is_number(type: pa.DataType) -> bool:
    """Whether values of a type can be summed: integers, floats, decimals of up to 38 digits."""
    return pa.types.is_integer(type) or pa.types.is_floating(type) or is_decimal(type)


def is_decimal(type: pa.DataType) -> bool:
    """Whether a type is a decimal that Spark has too: 38 digits at most."""
    return bool(pa.types.is_decimal(type) and type.precision <= 38)


def require_summable(operation: Bindable, type: pa.DataType) -> None:
    """ColumnError unless an operation's column, of this type, has numbers or durations."""
    if not pa.types.is_duration(type):
        require_numbers(operation, type, others=" or durations")


def require_numbers(operation: Bindable, *types: pa.DataType, others: str = "") -> None:
    """ColumnError unless all columns of an operation, of these types, have numbers; ``others`` may be there as well."""
    what = "a column" if len(types) == 1 else "columns"
    for column, type in zip(operation.columns, types, strict=True):
        if not is_number(type):
            raise ColumnError(
                f"{operation!r} needs {what} of numbers (integers, floats or decimals){others}; {column!r} is {type}"
            )


def floats(values: Values) -> Floats:
    """A column of numbers as float64."""
    if isinstance(values, pa.Array):
        values = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def in_pairs(values: Values) -> Compensated:
    """A column of numbers with nothing lost of integers; decimals as the nearest floats."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return Compensated.of(floats(values))
    high, low = values >> values.dtype.type(BITS), values & values.dtype.type(MASK)
    return Compensated(*two_sum(np.ldexp(high.astype(np.float64), BITS), low.astype(np.float64)))
