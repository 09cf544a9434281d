"""Where a shard keeps what it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa


class Store(Protocol):
    """Tables by numbers: partials by their block of frames, or events that are held back by their block of time."""

    def blocks(self) -> Iterable[int]:
        """The numbers of all blocks."""

    def get(self, block: int) -> pa.Table | None:
        """The table of a block; None where there is none."""

    def put(self, block: int, table: pa.Table) -> None:
        """Store a table, in place of the one that the block has."""

    def remove(self, block: int) -> None:
        """Forget a block, if there is one of this number."""
