"""A shard's tables in Spark's state."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.plan.plan import FRAME
from ...runtime.streams.shard import Shard
from ..convert import partials_codec

STATE_BYTES_AT_ONCE = 4 << 20
"""Bytes of a shard's tables that Spark is asked for in one message, and up to which a worker keeps them."""

MOST_RECENT = 16 << 20
"""Bytes of tables, as they are in the state, that a worker keeps of all shards."""

Pages = dict[int, tuple[pa.Table, int]]
"""The table of each page, and the bytes that it takes in the state."""


class Size(NamedTuple):
    """How many rows tables have, how many frames, and the bytes that they take in the state."""

    rows: int = 0
    frames: int = 0
    bytes: int = 0

    def changed(self, by: Size, sign: int = 1) -> Size:
        """The sum, or the difference."""
        return Size(*(mine + sign * other for mine, other in zip(self, by, strict=True)))


class StateStore:
    """A shard's partials, or events, in Spark's state; see ``runtime.streams.pages.Store``.

    Each call of Spark's state takes its time, and a micro-batch that closes windows removes much of what it has just
    put. So what is there is asked once, all of it at once where that is little, and what has changed is written by
    `write`, in the end.

    Parameters
    ----------
    state
        The map of Spark's state.
    size
        Of all tables, as it was when they were written; None where nobody has noted it.
    recent
        All that is in the state, where this worker still has it; see `remember`.
    """

    def __init__(self, state: Any, size: Iterable[int] | None = None, recent: Pages | None = None) -> None:
        self.state = state
        self.written: Pages = {} if recent is None else recent  # what is known of the state
        if recent is not None:
            self.numbers = set(recent)
        self.changed: dict[int, pa.Table | None] = {}
        self.size = Size(*size or ())
        if size is None:
            for read in (self._all() if recent is None else recent).values():
                self.size = self.size.changed(size_of(*read))

    @cached_property
    def numbers(self) -> set[int]:
        """The pages in Spark's state."""
        if self.size.bytes <= STATE_BYTES_AT_ONCE:
            return set(self._all())
        return {page for (page,) in self.state.keys()}  # noqa: SIM118  # it is no dict

    def pages(self) -> Iterable[int]:
        known = self.numbers.difference(self.changed)
        return known.union(page for page, table in self.changed.items() if table is not None)

    def get(self, page: int) -> pa.Table | None:
        if page in self.changed:
            return self.changed[page]
        if page not in self.numbers:
            return None
        if page not in self.written:
            self._read(page, self.state.getValue((page,))[0])
        return self.written[page][0]

    def put(self, page: int, table: pa.Table) -> None:
        self.changed[page] = table

    def remove(self, page: int) -> None:
        self.changed[page] = None

    def write(self) -> None:
        """Write the changed tables to Spark's state."""
        if self.changed:
            pages = set(self.pages())
            for page, table in self.changed.items():
                self._write_page(page, table)
            self.changed, self.numbers = {}, pages

    def recent(self) -> Pages | None:
        """All tables, if all are known here and small enough for a worker to keep; else None."""
        known = vars(self).get("numbers")  # else it would be read for this
        return self.written if known == set(self.written) and self.size.bytes <= STATE_BYTES_AT_ONCE else None

    def _write_page(self, page: int, table: pa.Table | None) -> None:
        if (before := self.written.pop(page, None)) is not None:  # what is in place of another table was read before
            self.size = self.size.changed(size_of(*before), -1)
        if table is not None:
            ipc = partials_codec.to_ipc(table)
            self.state.updateValue((page,), (ipc,))
            self.written[page] = table, len(ipc)
            self.size = self.size.changed(size_of(table, len(ipc)))
        elif before is not None:
            self.state.removeKey((page,))

    def _all(self) -> Pages:
        for (page,), (ipc,) in self.state.iterator():
            self._read(page, ipc)
        return self.written

    def _read(self, page: int, ipc: bytes) -> None:
        self.written[page] = partials_codec.opened(ipc), len(ipc)


RECENT: dict[str, tuple[int, dict[str, Pages]]] = {}
"""What this worker has written of shards, and its bytes, by the marks in their books, the oldest first."""


def remember(stores: Mapping[str, StateStore]) -> str | None:
    """Keep what a shard has just written, and give the mark by which it is found: for the shard's book.

    A mark is of one write alone. A book that has it was committed with the very state of this write, so that a worker
    which finds the mark need not read that state; after a failure or a restart Spark has a book with another mark.
    None where a store does not know all of its tables, or has too many bytes for a worker to keep.
    """
    kept = {name: pages for name, store in stores.items() if (pages := store.recent()) is not None}
    if len(kept) < len(stores):
        return None
    RECENT[mark := uuid.uuid4().hex] = sum(store.size.bytes for store in stores.values()), kept
    while len(RECENT) > 1 and sum(size for size, _ in RECENT.values()) > MOST_RECENT:
        del RECENT[next(iter(RECENT))]
    return mark


def recalled(mark: str | None) -> dict[str, Pages]:
    """What `remember` has kept under a mark, which is forgotten: the shard will write another one."""
    return RECENT.pop(mark)[1] if mark in RECENT else {}


def stores_of(shard: Shard) -> dict[str, StateStore]:
    """What a shard has in Spark's state, by name."""
    stores = {"partials": shard.store} | ({} if shard.held is None else {"events": shard.held.store})
    return {name: store for name, store in stores.items() if isinstance(store, StateStore)}


def size_of(table: pa.Table, stored: int) -> Size:
    """The size of a table that takes some bytes in the state."""
    frames = pc.count_distinct(table.column(FRAME)).as_py() if FRAME in table.column_names else 0
    return Size(len(table), frames, stored)
