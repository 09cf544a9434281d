"""A shard's tables in Spark's state, and how much there is of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.plan.plan import FRAME
from ..convert import partials_codec


class Size(NamedTuple):
    """How many rows tables have, how many frames, and the bytes that they take in the state."""

    rows: int = 0
    frames: int = 0
    bytes: int = 0

    def changed(self, by: Size, sign: int = 1) -> Size:
        """The sum, or the difference."""
        return Size(*(mine + sign * other for mine, other in zip(self, by, strict=True)))


class StateStore:
    """A shard's partials, or events, in Spark's state; see ``runtime.streams.store.Store``.

    Each call of Spark's state takes its time: what is there is asked once.

    Parameters
    ----------
    state
        The map of Spark's state.
    size
        Of all tables, as it was when they were written; None where nobody has noted it.
    """

    def __init__(self, state: Any, size: Iterable[int] | None = None) -> None:
        self.state = state
        self.sizes: dict[int, Size] = {}
        if size is not None:
            self.size = Size(*size)
            return
        self.size = Size()
        for block in self.known:
            self.get(block)
            self.size = self.size.changed(self.sizes[block])

    @cached_property
    def known(self) -> set[int]:
        return {block for (block,) in self.state.keys()}  # noqa: SIM118  # it is no dict

    def blocks(self) -> Iterable[int]:
        return sorted(self.known)

    def get(self, block: int) -> pa.Table | None:
        if block not in self.known:
            return None
        ipc = self.state.getValue((block,))[0]
        table = partials_codec.opened(ipc)
        self.sizes[block] = size_of(table, ipc)
        return table

    def put(self, block: int, table: pa.Table) -> None:
        ipc = partials_codec.to_ipc(table)
        self.state.updateValue((block,), (ipc,))
        self.known.add(block)
        self._becomes(block, size_of(table, ipc))

    def remove(self, block: int) -> None:
        if block in self.known:
            self.state.removeKey((block,))
            self.known.remove(block)
            self._becomes(block, Size())

    def _becomes(self, block: int, size: Size) -> None:
        # What is written in place of another table was read before, and so its size is known.
        self.size = self.size.changed(self.sizes.get(block, Size()), -1).changed(size)
        self.sizes[block] = size


def size_of(table: pa.Table, ipc: bytes) -> Size:
    """The size of a table."""
    frames = pc.count_distinct(table.column(FRAME)).as_py() if FRAME in table.column_names else 0
    return Size(len(table), frames, len(ipc))
