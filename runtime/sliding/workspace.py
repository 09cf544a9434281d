"""Scratch columns of kernels, which each tile uses again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aggregators.states.arrays import Ints


class Workspace:
    """Scratch columns by name and type, each valid until the next call for it."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, Any], NDArray[Any]] = {}

    def column(self, name: str, length: int, dtype: Any = np.float64) -> NDArray[Any]:
        """An uninitialized column, shape (length,)."""
        column = self._columns.get((name, dtype))
        if column is None or len(column) < length:
            column = self._columns[name, dtype] = np.empty(length, dtype)
        return column[:length]


def copy_rows(column: NDArray[Any], rows: Ints | slice, out: NDArray[Any]) -> NDArray[Any]:
    """Copy some rows of a column, all of which it has, into ``out``."""
    if isinstance(rows, slice):
        np.copyto(out, column[rows])
        return out
    # With "clip" numpy writes to ``out`` directly, otherwise by way of a buffer.
    return np.take(column, rows, out=out, mode="clip")
