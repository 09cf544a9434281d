"""When freed memory is kept for the next array, or given back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache

import numpy as np
import pyarrow as pa

MMAP_THRESHOLD = (32 << 20) - (1 << 13)
"""The largest block, in bytes, that glibc can be made to keep."""


@cache
def raise_mmap_threshold() -> None:
    """Raise glibc's mmap threshold to :data:`MMAP_THRESHOLD`; once in a process.

    glibc returns larger blocks to the system when they are freed, and the system clears every page before it gives one
    out again, which is slow. The threshold rises to the size of the largest block that was freed (mallopt(3),
    M_MMAP_THRESHOLD). This block is never written to, and so takes no memory.
    """
    np.empty(MMAP_THRESHOLD, np.uint8)


def give_back() -> None:
    """Give what is free to the system, of Arrow's pool and of glibc: threads that are gone have left most of it."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
