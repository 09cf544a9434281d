"""Columns of rows as integers in a known range, and several of them packed into one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .key_codes import MAX_PACKED, Ints, dictionary, edges, encode, near, normalised, with_nulls_below

BLOCK = 1 << 15
"""Rows worked on at a time, so that intermediate columns stay in the cache."""


@dataclass(frozen=True)
class Coded:
    """A column of rows as integers.

    Parameters
    ----------
    codes
        One integer for each row.
    least
        The least of them.
    count
        The greatest minus the least, plus one.
    values
        Function from codes minus ``least`` to the column's values.
    """

    codes: NDArray[Any]
    least: int
    count: int
    values: Callable[[Ints], Any]

    def at(self, rows: Ints | slice) -> Coded:
        """Those of some rows, in the range of all."""
        return replace(self, codes=self.codes[rows])


def code_numbers(codes: Ints, bounds: Sequence[int] | Ints | None = None) -> Coded:
    """A column of integers, at least one; ``bounds`` are the least and the greatest of them, where known."""
    least, greatest = edges(codes) if bounds is None else map(int, bounds)
    if greatest - least < MAX_PACKED >> 8:
        return Coded(codes, least, greatest - least + 1, lambda own: own + least)
    values, inverse = np.unique(codes, return_inverse=True)
    return Coded(inverse, 0, len(values), values.__getitem__)


def code_key(column: pa.Array) -> Coded:
    """A key column: integers and times in a small range as they are, other values by their dictionary."""
    if (close := near(column)) is not None:
        numbers, least, count = close
        kind = numbers.dtype
        return Coded(numbers, least, count, lambda own: pa.array((own + least).astype(kind)).view(column.type))
    if (below := with_nulls_below(column)) is not None and (close := near(below[0])) is not None:
        (filled, null), (numbers, least, count) = below, close

        def values_or_null(own: Ints) -> pa.Array:
            found = own + least
            return pa.array(found, filled.type, mask=found == null).view(column.type)

        return Coded(numbers, least, count, values_or_null)
    if not isinstance(column, pa.DictionaryArray):
        codes, values = dictionary(normalised(column))
        return Coded(codes, 0, max(len(values), 1), lambda own: values.take(pa.array(own)))
    values = column.dictionary
    if values.null_count or len(values.unique()) < len(values):
        return code_key(values.take(column.indices))
    if not column.null_count:
        return Coded(column.indices.to_numpy(), 0, max(len(values), 1), lambda own: values.take(pa.array(own)))
    null = len(values)  # a null is a key as any other
    codes = pc.fill_null(column.indices.cast(pa.int64()), null).to_numpy()
    return Coded(codes, 0, null + 1, lambda own: values.take(pa.array(own, mask=own == null)))


def code_ordered(column: pa.Array) -> Coded:
    """A key column as integers that compare as its values do, which are not needed again."""
    if (close := near(column)) is not None:
        return Coded(*close, lambda own: own)
    codes, count = encode(column, ordered=True)
    return Coded(codes, 0, max(count, 1), lambda own: own)


def codes_of_block(index: NDArray[np.intp], columns: Sequence[Coded], block: slice) -> NDArray[np.intp]:
    """The codes of all columns in one, for a block of rows."""
    part = index[block]
    least = 0
    factor = math.prod(column.count for column in columns)
    for place, column in enumerate(columns):
        factor //= column.count
        least += column.least * factor
        codes = column.codes[block]
        if not place:
            np.multiply(codes, factor, out=part, dtype=np.int64, casting="unsafe")
        else:
            own = codes if factor == 1 else np.multiply(codes, factor, dtype=np.int64, casting="unsafe")
            np.add(part, own, out=part, dtype=np.int64, casting="unsafe")
    part -= (least + (1 << 63)) % (1 << 64) - (1 << 63)  # int64 wraps: overflows above cancel here
    return part


def packed(columns: Sequence[Coded], rows: int) -> Ints:
    """The codes of all columns in one, which must fit, for all rows."""
    index = np.empty(rows, np.int64) if columns else np.zeros(rows, np.int64)
    for start in range(0, rows, BLOCK):
        codes_of_block(index, columns, slice(start, start + BLOCK))
    return index


def subtract(codes: NDArray[Any], least: int) -> Ints:
    """Codes minus the least, as int64."""
    return cast(Ints, np.subtract(codes, least, dtype=np.int64))
