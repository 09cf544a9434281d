"""What Spark calls for a shard: its partials in the state store, its results as packets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ...aggregators.errors import EngineError
from ...runtime.accumulate.accumulate import accumulate
from ...runtime.partials.merge import Partials
from ...runtime.streams.held_events import HeldEvents, ticks_of
from ...runtime.streams.late_events import late_events
from ...runtime.streams.scope import holds
from ...runtime.streams.shard import FIRST, Shard, events_in
from ..convert import partials_codec
from ..convert.types import cast_to
from ..engine.tasks import Job
from ..session.packaging import pack
from ..session.worker import opened

VERSION = 1
"""Of what is in the state; a later release reads this one."""


@dataclass(frozen=True)
class Shards:
    """What the shards of a query need.

    Parameters
    ----------
    job
        Of the query.
    fingerprint
        What must not change while a checkpoint is used.
    width
        How much time a block of events has that are held back, in ticks.
    forget
        How long a key is kept, in ticks; see ``runtime.streams.shard.Shard``.
    late
        Whether late events are wanted, and not results: packets are whole events then, see :func:`.packets.pack_whole`.
    """

    job: Job
    fingerprint: dict[str, Any]
    width: int
    forget: int | None
    late: bool = False


def slider(shards: Shards) -> StatefulProcessor:
    """The processor of a query's shards.

    It is of a class that is pickled whole: a worker opens it before framefold is on its path.
    """
    module, payload, held = __name__, pack(shards), holds(shards.job.plan)

    class Slider(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.partials = handle.getMapState("partials", "block bigint", "ipc binary")
            self.events = handle.getMapState("events", "block bigint", "ipc binary") if held else None
            self.book = handle.getValueState("book", "book string")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # Spark's names
            yield from import_module(module).slide(payload, self, rows, timerValues.getCurrentWatermarkInMs())

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
            yield from import_module(module).slide(payload, self, (), timerValues.getCurrentWatermarkInMs())

    return Slider()


class StateStore:
    """A shard's partials, or events, in Spark's state; see ``runtime.streams.store.Store``.

    Each call of Spark's state takes its time: what is there is asked once.
    """

    def __init__(self, state: Any) -> None:
        self.state = state

    @cached_property
    def known(self) -> set[int]:
        return {block for (block,) in self.state.keys()}  # noqa: SIM118  # it is no dict

    def blocks(self) -> Iterable[int]:
        return sorted(self.known)

    def get(self, block: int) -> pa.Table | None:
        return partials_codec.opened(self.state.getValue((block,))[0]) if block in self.known else None

    def put(self, block: int, table: pa.Table) -> None:
        self.state.updateValue((block,), (partials_codec.to_ipc(table),))
        self.known.add(block)

    def remove(self, block: int) -> None:
        if block in self.known:
            self.state.removeKey((block,))
            self.known.remove(block)


def slide(payload: bytes, of: Any, rows: Iterable[Row], watermark: int) -> Iterator[Row]:
    """The packets of a shard in a micro-batch: results of windows that have closed, and how many events were late.

    Parameters
    ----------
    payload
        The `Shards`.
    of
        The processor, with the shard's state.
    rows
        Packets of partials, or of events; none where a timer has expired.
    watermark
        In milliseconds.
    """
    shards: Shards = opened(payload)
    found = of.book.get()
    book: dict[str, Any] = {"version": VERSION, "query": shards.fingerprint}
    book = book if found is None else json.loads(found[0])
    check(book, shards.fingerprint)
    shard = restored(shards, of, book)
    for table in shard.advance(watermark * 1000, silent=shards.late):
        if len(table):
            yield Row(ipc=partials_codec.to_ipc(table), late=0)
    tables = [partials_codec.opened(row.ipc) for row in sorted(rows, key=attrgetter("place"))]
    if tables:
        yield from (late_of if shards.late else taken)(shard, pa.concat_tables(tables))
    timer, wanted = book.get("timer"), None if shard.due is None else -(-shard.due // 1000)
    if wanted != timer:
        if timer is not None and timer > watermark:
            of.handle.deleteTimer(timer)
        if wanted is not None:
            of.handle.registerTimer(wanted)
    of.book.update((json.dumps(book | kept(shard) | {"timer": wanted}),))


def taken(shard: Shard, new: pa.Table) -> Iterator[Row]:
    """How many of new partials' events, or of new events, were late; the others are kept."""
    late = shard.hold(new) if shard.held is not None else events_in(shard.plan, shard.add(Partials(new)))
    if late:
        yield Row(ipc=None, late=late)


def late_of(shard: Shard, new: pa.Table) -> Iterator[Row]:
    """The late ones of whole events; the others are kept as partials, where what is late depends on them."""
    plan = shard.plan
    events = cast_to(new.select(range(len(plan.columns))), plan.events_schema)
    if holds(plan):
        late = ticks_of(plan, events) < shard.watermark
    else:
        late = late_events(plan, events, shard.add(accumulate(plan, events, 0)))
    if late.any():
        found = new.select(range(len(plan.columns), new.num_columns)).filter(pa.array(late))
        yield Row(ipc=partials_codec.to_ipc(found), late=len(found))


def restored(shards: Shards, of: Any, book: dict[str, Any]) -> Shard:
    """A shard as its state has it."""
    plan, held = shards.job.plan, None
    if of.events is not None and not shards.late:
        width = book.setdefault("width", shards.width)  # that of the blocks in the checkpoint
        held = HeldEvents(plan, StateStore(of.events), width, book.get("series", 0), book.get("first_held"))
    store = StateStore(of.partials)
    return Shard(
        plan, store, held, shards.forget, book.get("watermark", FIRST), book.get("due"), book.get("released", 0)
    )


def kept(shard: Shard) -> dict[str, int | None]:
    """What a shard knows beside its partials and events."""
    found = {"watermark": shard.watermark, "due": shard.due}
    if shard.held is not None:
        found |= {"released": shard.released, "series": shard.held.series, "first_held": shard.held.due}
    return found


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
