"""A shard's tables in Spark's state, and how much there is of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.plan.plan import FRAME
from ...runtime.streams.shard import Shard
from ..convert import partials_codec

AT_ONCE = 4 << 20
"""Bytes of a shard's tables that Spark is asked for in one message."""


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

    Each call of Spark's state takes its time, and a micro-batch that closes windows removes much of what it has just
    put. So what is there is asked once, all of it at once where that is little, and what has changed is written by
    `write`, in the end.

    Parameters
    ----------
    state
        The map of Spark's state.
    size
        Of all tables, as it was when they were written; None where nobody has noted it.
    """

    def __init__(self, state: Any, size: Iterable[int] | None = None) -> None:
        self.state = state
        self.written: dict[int, tuple[pa.Table, int]] = {}  # what has been read, and the bytes of it
        self.changed: dict[int, pa.Table | None] = {}
        self.size = Size(*size or ())
        if size is None:
            for read in self._all().values():
                self.size = self.size.changed(size_of(*read))

    @cached_property
    def known(self) -> set[int]:
        """The blocks in Spark's state."""
        if self.size.bytes <= AT_ONCE:
            return set(self._all())
        return {block for (block,) in self.state.keys()}  # noqa: SIM118  # it is no dict

    def blocks(self) -> Iterable[int]:
        known = self.known.difference(self.changed)
        return known.union(block for block, table in self.changed.items() if table is not None)

    def get(self, block: int) -> pa.Table | None:
        if block in self.changed:
            return self.changed[block]
        if block not in self.known:
            return None
        if block not in self.written:
            self._read(block, self.state.getValue((block,))[0])
        return self.written[block][0]

    def put(self, block: int, table: pa.Table) -> None:
        self.changed[block] = table

    def remove(self, block: int) -> None:
        self.changed[block] = None

    def write(self) -> None:
        """Have Spark's state know what has changed."""
        for block, table in self.changed.items():
            self._write_block(block, table)
        self.changed = {}

    def _write_block(self, block: int, table: pa.Table | None) -> None:
        if (before := self.written.pop(block, None)) is not None:  # what is in place of another table was read before
            self.size = self.size.changed(size_of(*before), -1)
        if table is not None:
            ipc = partials_codec.to_ipc(table)
            self.state.updateValue((block,), (ipc,))
            self.size = self.size.changed(size_of(table, len(ipc)))
        elif before is not None:
            self.state.removeKey((block,))

    def _all(self) -> dict[int, tuple[pa.Table, int]]:
        for (block,), (ipc,) in self.state.iterator():
            self._read(block, ipc)
        return self.written

    def _read(self, block: int, ipc: bytes) -> None:
        self.written[block] = partials_codec.opened(ipc), len(ipc)


def stores_of(shard: Shard) -> dict[str, StateStore]:
    """What a shard has in Spark's state, by name."""
    stores = {"partials": shard.store} | ({} if shard.held is None else {"events": shard.held.store})
    return {name: store for name, store in stores.items() if isinstance(store, StateStore)}


def size_of(table: pa.Table, stored: int) -> Size:
    """The size of a table that takes some bytes in the state."""
    frames = pc.count_distinct(table.column(FRAME)).as_py() if FRAME in table.column_names else 0
    return Size(len(table), frames, stored)
