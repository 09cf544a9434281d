"""Numbers of which many columns have the same, counts of one event each say: in memory once for all columns."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LEAST, MOST = 1 << 12, (1 << 20) + 1
"""The lengths of columns that are looked at: shorter ones take little, and there are no much longer ones."""

_lock = threading.Lock()
_known: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * 3


def to_arrow(column: NDArray[Any]) -> pa.Array:
    """A numpy column in Arrow, without a copy; zeros, ones, and the numbers from 0 on share the memory of all that are.

    >>> some = [to_arrow(np.ones(5000, np.int64)) for _ in range(2)]
    >>> some[0].buffers()[1].address == some[1].buffers()[1].address
    True
    """
    count = len(column)
    if LEAST <= count <= MOST and column.dtype in (np.int64, np.float64):
        bits = column.view(np.int64)
        for known in _of_length(count):
            own = known[:count]
            if bits[0] == own[0] and bits[-1] == own[-1] and np.array_equal(bits, own):
                return pa.array(own.view(column.dtype))
    return pa.array(column)


def _of_length(count: int) -> list[NDArray[np.int64]]:
    """Zeros, ones, and the numbers from 0 on: as many as asked for, or more."""
    with _lock:
        if len(_known[0]) < count:
            size = (1 << (count - 1).bit_length()) + 1 if count < MOST else MOST
            _known[:] = np.zeros(size, np.int64), np.ones(size, np.int64), np.arange(size)
        return list(_known)
