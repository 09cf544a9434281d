"""How much memory this machine has."""

from __future__ import annotations

import os
from functools import cache


@cache
def memory() -> int:
    """The bytes of memory of this machine; 0 where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
