"""What Spark calls for a shard: its partials in the state store, its results as packets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ...aggregators.errors import EngineError
from ...runtime.accumulate.accumulate import accumulate
from ...runtime.partials.merge import Partials, merge
from ...runtime.streams.held_events import HeldEvents, ticks_of
from ...runtime.streams.late_events import late_events
from ...runtime.streams.scope import holds
from ...runtime.streams.shard import Shard, events_in
from ...runtime.streams.wanted import FIRST
from ..convert import partials_codec
from ..convert.types import cast_to
from ..engine.tasks import Job
from ..session.packaging import pack
from ..session.worker import opened
from .progress import kept_by, packet, said
from .state import StateStore

VERSION = 1
"""Of what is in the state; a later release reads this one."""

BOOK, PARTIALS, EVENTS = "book", "partials", "events"
"""The variables of the state."""

PROVISIONAL, REVISION = ("provisional",), ("revision",)
"""Columns of results, where they can be of open windows, and where closed windows can change."""


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
    early
        How often results of open windows are given, in milliseconds; None: never.
    lateness
        How long after they have closed windows take late events, and are given again, in ticks.
    """

    job: Job
    fingerprint: dict[str, Any]
    width: int
    forget: int | None
    late: bool = False
    early: int | None = None
    lateness: int = 0

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that say which result of a window one is."""
        return tuple(self.job.schema.names[len(self.job.plan.result_schema) :])


def slider(shards: Shards) -> StatefulProcessor:
    """The processor of a query's shards.

    It is of a class that is pickled whole: a worker opens it before framefold is on its path.
    """
    module, payload, held = __name__, pack(shards), holds(shards.job.plan)
    book, partials, events = BOOK, PARTIALS, EVENTS

    class Slider(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.partials = handle.getMapState(partials, "block bigint", "ipc binary")
            self.events = handle.getMapState(events, "block bigint", "ipc binary") if held else None
            self.book = handle.getValueState(book, f"{book} string")
            self.said: dict[Any, Any] = {}

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # Spark's names
            yield from import_module(module).slide(payload, self, key, rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
            yield from import_module(module).slide(payload, self, key, (), timerValues)

    return Slider()


def slide(payload: bytes, of: Any, key: Any, rows: Iterable[Row], times: Any) -> Iterator[Row]:
    """The packets of a shard in a micro-batch: results of windows, and what it says of itself.

    Parameters
    ----------
    payload
        The `Shards`.
    of
        The processor, with the shard's state, and what its calls in this micro-batch have said.
    key
        What Spark calls the shard.
    rows
        Packets of partials, or of events; none where a timer has expired.
    times
        Spark's ``TimerValues``: the watermark, and the time of the micro-batch, which is the same when it is repeated.
    """
    shards: Shards = opened(payload)
    watermark: int = times.getCurrentWatermarkInMs()
    found = of.book.get()
    book: dict[str, Any] = {"version": VERSION, "query": shards.fingerprint}
    book = book if found is None else json.loads(found[0])
    check(book, shards.fingerprint)
    shard = restored(shards, of, book)
    yield from marked(shards, shard.advance(watermark * 1000, silent=shards.late))
    tables = [partials_codec.opened(row.ipc) for row in sorted(rows, key=attrgetter("place"))]
    if tables:
        book["changed"] = True
        yield from (late_of if shards.late else taken)(shards, shard, pa.concat_tables(tables))
    if shards.early is not None and not shards.late and book.get("changed"):
        now = times.getCurrentProcessingTimeInMs()
        if now >= book.get("early", now - shards.early) + shards.early:
            yield from marked(shards, shard.early(), provisional=True)
            book |= {"changed": False, "early": now}
    timer, wanted = book.get("timer"), None if shard.due is None else -(-shard.due // 1000)
    if wanted != timer:
        if timer is not None and timer > watermark:
            of.handle.deleteTimer(timer)
        if wanted is not None:
            of.handle.registerTimer(wanted)
    of.book.update((json.dumps(book | kept(shard) | {"timer": wanted}),))
    yield said(shard, of.said.get(key), watermark)
    of.said[key] = kept_by(shard)


def marked(
    shards: Shards, found: Iterable[pa.Table], *, provisional: bool = False, revision: bool = False
) -> Iterator[Row]:
    """Packets of results, which say what they are where there are several of a window."""
    is_so = {"provisional": provisional, "revision": revision}
    for table in found:
        if len(table):
            for name in shards.marks:
                table = table.append_column(name, pa.repeat(is_so[name], len(table)))
            yield packet(partials_codec.to_ipc(table), windows=len(table))


def taken(shards: Shards, shard: Shard, new: pa.Table) -> Iterator[Row]:
    """How many of new partials' events, or of new events, were late; the others are kept."""
    if shard.held is not None:
        late = shard.hold(new)
    else:
        partials = merge(shard.plan, Partials(new))
        late = events_in(shard.plan, shard.add(partials))
        yield from marked(shards, shard.revised(partials), revision=True)
    if late:
        yield packet(None, late_events=late)


def late_of(_: Shards, shard: Shard, new: pa.Table) -> Iterator[Row]:
    """The late ones of whole events; the others are kept as partials, where what is late depends on them."""
    plan = shard.plan
    events = cast_to(new.select(range(len(plan.columns))), plan.events_schema)
    if holds(plan):
        late = ticks_of(plan, events) < shard.watermark
    else:
        late = late_events(plan, events, shard.add(accumulate(plan, events, 0)))
    if late.any():
        found = new.select(range(len(plan.columns), new.num_columns)).filter(pa.array(late))
        yield packet(partials_codec.to_ipc(found), late_events=len(found))


def restored(shards: Shards, of: Any, book: dict[str, Any]) -> Shard:
    """A shard as its state has it."""
    plan, held, sizes = shards.job.plan, None, book.get("sizes", {})
    if of.events is not None and not shards.late:
        width = book.setdefault("width", shards.width)  # that of the blocks in the checkpoint
        events = StateStore(of.events, sizes.get("events"))
        held = HeldEvents(plan, events, width, book.get("series", 0), book.get("first_held"))
    watermark = book.get("watermark", FIRST)
    return Shard(
        plan,
        StateStore(of.partials, sizes.get("partials")),
        held,
        shards.forget,
        watermark,
        book.get("due"),
        book.get("released", 0),
        shards.lateness,
        book.get("gone", watermark),
    )


def kept(shard: Shard) -> dict[str, Any]:
    """What a shard knows beside its partials and events."""
    assert isinstance(shard.store, StateStore)
    found: dict[str, Any] = {"watermark": shard.watermark, "gone": shard.gone, "due": shard.due}
    found["sizes"] = {"partials": shard.store.size}
    if shard.held is not None and isinstance(shard.held.store, StateStore):
        found |= {"released": shard.released, "series": shard.held.series, "first_held": shard.held.due}
        found["sizes"]["events"] = shard.held.store.size
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
