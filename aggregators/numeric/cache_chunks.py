"""Columns looked at block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 15
"""So many rows stay in the cache while they are worked on."""


def extremes(values: NDArray[Any]) -> tuple[Any, Any]:
    """The least and the greatest of some numbers, NaN where one is: block by block, the second found in the cache."""
    blocks = [values[start : start + BLOCK] for start in range(0, len(values), BLOCK)]
    least, greatest = zip(*[(block.min(), block.max()) for block in blocks], strict=True)
    return np.min(least), np.max(greatest)
