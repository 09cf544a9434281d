"""Made-up columns, on which operations are tried."""

from __future__ import annotations

import decimal
from collections.abc import Sequence

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
            lists = None if values is None else pa.LargeListArray.from_arrays(np.arange(length + 1), values)
            return lists if lists is None else lists.cast(type)
        return pa.array(numbers).cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


def samples(types: Sequence[pa.DataType], length: int) -> list[pa.Array] | None:
    """Such columns, one for each type; None where no values can be made up for one of them."""
    columns = [sample(type, length, seed) for seed, type in enumerate(types)]
    return None if any(column is None for column in columns) else columns
