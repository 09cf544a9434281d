"""Numbers of which many columns have the same, counts of one event each say: in memory once for all columns."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .arrays import Ints

LEAST, MOST = 1 << 12, (1 << 20) + 1
"""The lengths of columns that are looked at: shorter ones take little, and there are no much longer ones."""

ZEROS, ONES, NUMBERS = range(3)

_lock = threading.Lock()
_known: list[Ints] = [np.empty(0, np.int64)] * 3


def zeros(count: int) -> Ints:
    """As many zeros, not to be written to."""
    return _shared(ZEROS, count)


def ones(count: int) -> Ints:
    """As many ones, not to be written to."""
    return _shared(ONES, count)


def numbers(count: int) -> Ints:
    """The numbers from 0 on, not to be written to.

    >>> numbers(3)
    array([0, 1, 2])
    """
    return _shared(NUMBERS, count)


def nulls(count: int) -> pa.Array:
    """As many nulls of float64.

    >>> nulls(2).null_count
    2
    """
    zeros = pa.py_buffer(_shared(ZEROS, count))  # a bit of 0 says that a value is null
    return pa.Array.from_buffers(pa.float64(), count, [zeros, zeros], count)


def trues(count: int) -> pa.Array:
    """As many booleans that are true.

    >>> trues(3).true_count
    3
    """
    return pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(b"\xff" * ((count + 7) // 8))])


def are_zeros(column: NDArray[Any]) -> bool:
    """Whether a column is one of :func:`zeros`, or a part of it, of which alone this is known at once."""
    return _is_part(ZEROS, column)


def are_ones(column: NDArray[Any]) -> bool:
    """Whether a column has ones only, at once where they are :func:`ones`, or a part of these."""
    return _is_part(ONES, column) or bool((column == 1).all())


def are_numbers(column: Ints) -> bool:
    """Whether a column has the numbers 0, 1, 2 and so on, at once where they are :func:`numbers`."""
    return not len(column) or (int(column[0]) == 0 and run_of(column) is not None)


def run_of(rows: Ints) -> slice | None:
    """Rows that come one after the other as a slice, which copies nothing; None for others.

    >>> run_of(np.array([3, 4, 5])), run_of(np.array([3, 5]))
    (slice(3, 6, None), None)
    """
    if not len(rows):
        return slice(0, 0)
    first, last = int(rows[0]), int(rows[-1])
    each = last - first == len(rows) - 1 and (_is_part(NUMBERS, rows) or bool((rows[1:] > rows[:-1]).all()))
    return slice(first, last + 1) if each else None


def to_arrow(column: NDArray[Any], *, offsets: bool = False) -> pa.Array:
    """A numpy column in Arrow, without a copy; zeros and ones share the memory of all that are.

    ``offsets`` says that a column has the offsets of lists: these share it where they are the numbers from 0 on.

    >>> some = [to_arrow(np.ones(5000, np.int64)) for _ in range(2)]
    >>> some[0].buffers()[1].address == some[1].buffers()[1].address
    True
    """
    count = len(column)
    if LEAST <= count <= MOST and column.dtype in (np.int64, np.float64):
        bits = column.view(np.int64)
        for known in _of_length(count)[slice(NUMBERS, None) if offsets else slice(NUMBERS)]:
            own = known[:count]
            same = bits[0] == own[0] and bits[-1] == own[-1]
            if same and (np.may_share_memory(bits, own) or np.array_equal(bits, own)):
                return pa.array(own.view(column.dtype))
    return pa.array(column)


def _shared(which: int, count: int) -> Ints:
    if count > MOST:
        return np.arange(count) if which == NUMBERS else np.full(count, int(which == ONES))
    return _of_length(count)[which][:count]


def _is_part(which: int, column: NDArray[Any]) -> bool:
    """Whether a column is in the memory of those that are shared."""
    of_kind = column.dtype == np.int64 or (which == ZEROS and column.dtype == np.float64)
    return of_kind and column.flags.c_contiguous and np.may_share_memory(column, _known[which])


def _of_length(count: int) -> list[Ints]:
    """Zeros, ones, and the numbers from 0 on: as many as asked for, or more."""
    with _lock:
        if len(_known[0]) < count:
            size = (1 << (count - 1).bit_length()) + 1 if count < MOST else MOST
            _known[:] = np.zeros(size, np.int64), np.ones(size, np.int64), np.arange(size)
            for known in _known:
                known.flags.writeable = False
        return list(_known)
