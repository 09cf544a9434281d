"""Memory that is let go of is kept at hand for what comes next."""

from __future__ import annotations

from functools import cache

import numpy as np

LARGE = (32 << 20) - (1 << 13)
"""The largest block that the allocator of Linux takes for something that may come again."""


@cache
def keep_at_hand() -> None:
    """Let the allocator keep up to twice :data:`LARGE` of what is let go of; once in a process.

    Results are worked out in columns of a megabyte, each let go of when the next is there. The allocator of glibc
    gives such blocks back to the system, which clears every page before it gives it out again: as much work as the
    arithmetic. It stops doing so for blocks up to the size of the largest that it has seen come and go (mallopt(3), on
    M_MMAP_THRESHOLD). This one is never written to, and so takes no memory. Other allocators do not care.
    """
    np.empty(LARGE, np.uint8)
