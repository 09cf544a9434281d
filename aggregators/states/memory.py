"""How much memory this machine has for the lists of states."""

from __future__ import annotations

import os
from functools import cache

from ..errors import QueryError


@cache
def memory() -> int:
    """The bytes of memory of this machine; 0 where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def require_memory(items: int, item_bytes: int) -> None:
    """QueryError where lists of so much, in all windows together, take more than this machine's memory."""
    size = items * item_bytes
    if size > (memory() or size):
        raise QueryError(
            f"the lists of all windows would have {items:.2g} items and take {size / (1 << 30):.1f} GiB, more than "
            "this machine has; expected shorter or fewer windows, or an operation whose state does not grow"
        )
