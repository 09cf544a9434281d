"""Columns in blocks that fit the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 15
"""Rows of a block."""


def extremes(values: NDArray[Any]) -> tuple[Any, Any]:
    """The least and the greatest of some numbers; NaN where one is. One pass over memory."""
    blocks = [values[start : start + BLOCK] for start in range(0, len(values), BLOCK)]
    least, greatest = zip(*[(block.min(), block.max()) for block in blocks], strict=True)
    return np.min(least), np.max(greatest)
