"""Made-up columns, on which operations are tried."""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa

from ..states.categories import Categories


def sample(type: pa.DataType, length: int, seed: int = 0) -> pa.Array | None:
    """A column of small positive values with many ties, of a type; None where no such values can be made up."""
    numbers = np.random.default_rng(seed).integers(1, 7, length)
    if isinstance(type, Categories):
        count = len(type.values)
        return pa.array((numbers % count).astype(np.int32)).cast(type) if count else None
    try:
        if pa.types.is_floating(type):
            return pa.array(numbers / 4).cast(type)
        if pa.types.is_boolean(type):
            return pa.array(numbers > 3)
        if pa.types.is_decimal(type):
            scale = decimal.Decimal(1).scaleb(-type.scale)
            return pa.array([int(number) * scale for number in numbers], type=type)
        if pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type):
            return pa.array([chr(96 + int(number)) for number in numbers], type=type)
        if pa.types.is_fixed_size_binary(type):
            return pa.array([bytes([int(number)] * type.byte_width) for number in numbers], type=type)
        if pa.types.is_binary(type) or pa.types.is_large_binary(type):
            return pa.array([bytes([int(number)]) for number in numbers], type=type)
        if pa.types.is_date64(type):
            return pa.array(numbers * 86_400_000).cast(type)
        if pa.types.is_date32(type) or pa.types.is_time32(type):
            return pa.array(numbers.astype(np.int32)).cast(type)
        if pa.types.is_list(type) or pa.types.is_large_list(type):
            values = sample(type.value_type, length, seed)
            offsets = np.arange(length + 1)
            if values is None:
                return None
            made = pa.LargeListArray if pa.types.is_large_list(type) else pa.ListArray
            return made.from_arrays(
                pa.array(offsets, pa.int64() if pa.types.is_large_list(type) else pa.int32()), values
            )
        return pa.array(numbers).cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
