"""The hash that deals keys to shards: the same in every process, in every release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import is_text
from ..columns.plain import fields_of

Hashes = NDArray[np.uint64]

PRIME = 0x9E3779B97F4A7C15
"""Odd, its bits in no order: 2^64 over the golden ratio."""
NULL = 0x632BE59BD9B4E019


def shard_numbers(keys: Sequence[pa.Array], rows: int, shards: int) -> Ints:
    """The shard of each row's key, from 0 on.

    Parameters
    ----------
    keys
        The key columns.
    rows
        How many rows there are.
    shards
        The number of shards.

    Examples
    --------
    >>> import pyarrow as pa
    >>> shard_numbers([pa.array(["a", "b", "a", None])], 4, 3).tolist()
    [0, 1, 0, 1]
    """
    return (of_several(keys, rows) % np.uint64(shards)).astype(np.int64)


def of_several(columns: Sequence[pa.Array], rows: int) -> Hashes:
    """The hash of each row of some columns."""
    found = np.zeros(rows, np.uint64)
    for column in columns:
        found = mixed(found * np.uint64(31) + hashes(column))
    return found


def hashes(key: pa.Array) -> Hashes:
    """The hash of each value of a column, of equal values the same."""
    kind = key.type
    if pa.types.is_dictionary(kind):
        return hashes(key.cast(kind.value_type))
    if pa.types.is_struct(kind):
        found = of_several(fields_of(key), len(key))
    elif pa.types.is_floating(kind):
        values = key.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False) + 0.0  # one zero
        found = np.where(np.isnan(values), np.nan, values).view(np.uint64)  # one NaN
    elif pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_boolean(kind):
        found = whole_numbers(key).view(np.uint64)
    else:
        found = of_bytes((key if is_text(kind) else key.cast(pa.string())).cast(pa.large_binary()))
    found = mixed(found)
    if key.null_count:
        found[pc.is_null(key).to_numpy(zero_copy_only=False)] = NULL
    return found


def whole_numbers(key: pa.Array) -> Ints:
    """Numbers, times or booleans as integers, nulls as 0."""
    kind = key.type
    if pa.types.is_temporal(kind):
        key = key.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif kind == pa.uint64():
        key = key.view(pa.int64())
    return key.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def of_bytes(column: pa.LargeBinaryArray) -> Hashes:
    """The hash of each value: the sum of its bytes, each plus one, times powers of a prime by their places."""
    column = column.fill_null(b"")
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(ends)
    first, last = int(ends[0]), int(ends[-1])
    values = np.frombuffer(data, np.uint8)[first:last] if data is not None else np.empty(0, np.uint8)
    powers = np.cumprod(np.full(max(int(lengths.max(initial=0)), 1), PRIME, np.uint64))
    place = np.arange(last - first) - np.repeat(ends[:-1] - first, lengths)
    terms = (values.astype(np.uint64) + np.uint64(1)) * powers[place]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    found: Hashes = sums[ends[1:] - first] - sums[ends[:-1] - first]
    return found


def mixed(numbers: Hashes) -> Hashes:
    """Numbers whose bits depend on all bits of the given ones (the finaliser of MurmurHash3)."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        numbers = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(33))
