"""What Spark calls for a shard: its partials in the state store, its results as packets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ...aggregators.errors import EngineError
from ...runtime.partials.merge import Partials
from ...runtime.streams.shard import FIRST, Shard
from ..convert import partials_codec
from ..engine.tasks import Job
from ..session.packaging import pack
from ..session.worker import opened

VERSION = 1
"""Of what is in the state; a later release reads this one."""


def slider(job: Job, fingerprint: dict[str, Any]) -> StatefulProcessor:
    """The processor of a query's shards.

    It is of a class that is pickled whole: a worker opens it before framefold is on its path.
    """
    module, payload = __name__, pack((job, fingerprint))

    class Slider(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.partials = handle.getMapState("partials", "block bigint", "ipc binary")
            self.book = handle.getValueState("book", "book string")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # Spark's names
            yield from import_module(module).slide(payload, self, rows, timerValues.getCurrentWatermarkInMs())

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
            yield from import_module(module).slide(payload, self, (), timerValues.getCurrentWatermarkInMs())

    return Slider()


class StateStore:
    """A shard's partials in Spark's state; see ``runtime.streams.shard.Store``."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def blocks(self) -> Iterable[int]:
        return [block for (block,) in self.state.keys()]  # noqa: SIM118  # it is no dict

    def get(self, block: int) -> pa.Table | None:
        if not self.state.containsKey((block,)):
            return None
        return partials_codec.opened(self.state.getValue((block,))[0])

    def put(self, block: int, table: pa.Table) -> None:
        self.state.updateValue((block,), (partials_codec.to_ipc(table),))

    def remove(self, block: int) -> None:
        self.state.removeKey((block,))


def slide(payload: bytes, of: Any, rows: Iterable[Row], watermark: int) -> Iterator[Row]:
    """The packets of a shard in a micro-batch: results of windows that have closed, and how many events were late.

    Parameters
    ----------
    payload
        The job and the fingerprint.
    of
        The processor, with the shard's state.
    rows
        Packets of partials; none where a timer has expired.
    watermark
        In milliseconds.
    """
    job, fingerprint = opened(payload)
    found = of.book.get()
    book = json.loads(found[0]) if found is not None else {"version": VERSION, "query": fingerprint}
    check(book, fingerprint)
    timer = book.get("timer")
    shard = Shard(job.plan, StateStore(of.partials), book.get("watermark", FIRST), book.get("due"))
    for table in shard.advance(watermark * 1000):
        if len(table):
            yield Row(ipc=partials_codec.to_ipc(table), late=0)
    tables = [partials_codec.opened(row.ipc) for row in rows]
    if tables and (late := shard.add(Partials(pa.concat_tables(tables)))):
        yield Row(ipc=None, late=late)
    wanted = None if shard.due is None else -(-shard.due // 1000)
    if wanted != timer:
        if timer is not None and timer > watermark:
            of.handle.deleteTimer(timer)
        if wanted is not None:
            of.handle.registerTimer(wanted)
    of.book.update((json.dumps(book | {"watermark": shard.watermark, "due": shard.due, "timer": wanted}),))


def check(book: dict[str, Any], fingerprint: dict[str, Any]) -> None:
    """EngineError where the state in a checkpoint is of another query, or of a later release."""
    if book["version"] > VERSION:
        raise EngineError(
            f"the checkpoint has state of version {book['version']}, and this framefold knows up to {VERSION}; "
            "expected the release that wrote it, or a later one"
        )
    other = [name for name in fingerprint if book["query"].get(name) != fingerprint[name]]
    if other:
        differs = "; ".join(f"{name} {book['query'].get(name)!r} became {fingerprint[name]!r}" for name in other)
        raise EngineError(
            f"the checkpoint is of another query: {differs}; expected the same query, or a new checkpoint"
        )
