"""The shards of a query, each restored from Spark's state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...aggregators.errors import EngineError
from ...runtime.streams.held_events import HeldEvents
from ...runtime.streams.shard import Shard
from ..engine.tasks import Job
from .state import StateStore, recalled, remember, stores_of

VERSION = 2
"""Of what is in the state; a later release reads earlier ones. In version 1 each page was of 16 frames."""

BOOK, PARTIALS, EVENTS = "book", "partials", "events"
"""The variables of the state."""

EPOCH = 0
"""Spark's watermark before any event, in ticks: earlier events are late from the first micro-batch on."""

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
        How much time a page of events has that are held back, in ticks.
    forget
        How long a key is kept, in ticks; see ``runtime.streams.shard.Shard``.
    late
        Whether late events are wanted, and not results: packets are whole events then, see :func:`.packets.pack_whole`.
    early
        How often results of open windows are given, in milliseconds; None: never.
    lateness
        How long after they have closed windows take late events, and are given again, in ticks.
    drop_partial
        Whether events are late of which any window has closed; else those of which all have.
    begin
        The tick before which events are the history's, and up to which no windows are given; None: there is no history.
    """

    job: Job
    fingerprint: dict[str, Any]
    width: int
    forget: int | None
    late: bool = False
    early: int | None = None
    lateness: int = 0
    drop_partial: bool = False
    begin: int | None = None

    @property
    def marks(self) -> tuple[str, ...]:
        """The extra columns of results, where a window may be emitted more than once."""
        return tuple(self.job.schema.names[len(self.job.plan.result_schema) :])


def read_record(shards: Shards, found: str | None) -> dict[str, Any]:
    """The shard's bookkeeping: from JSON in Spark's state, or a fresh one if there is none."""
    record: dict[str, Any] = {"version": VERSION, "query": shards.fingerprint}
    record = record if found is None else json.loads(found)
    check(record, shards.fingerprint)
    return record


def restored(shards: Shards, of: Any, record: dict[str, Any], first: int = EPOCH) -> Shard:
    """A shard as its state has it; ``first`` is the watermark of one that is new."""
    plan, held, sizes, recent = shards.job.plan, None, record.get("sizes", {}), recalled(record.get("mark"))
    if of.events is not None and not shards.late:
        width = record.setdefault("width", shards.width)  # that of the pages in the checkpoint
        events = StateStore(of.events, sizes.get("events"), recent.get("events"))
        held = HeldEvents(plan, events, width, record.get("series", 0), record.get("first_held"))
    watermark = record.get("watermark", first)
    return Shard(
        plan,
        StateStore(of.partials, sizes.get("partials"), recent.get("partials")),
        held,
        shards.forget,
        watermark,
        record.get("due"),
        record.get("released", 0),
        shards.lateness,
        record.get("gone", watermark - shards.lateness),
        shards.drop_partial,
    )


def keep(of: Any, record: dict[str, Any], shard: Shard, watermark: int | None) -> None:
    """Write what a shard knows beside its partials and events, and have Spark call it when the watermark goes on.

    Parameters
    ----------
    of
        The processor, with the shard's state.
    record
        What it knew.
    shard
        The shard.
    watermark
        Spark's, in milliseconds, where a timer has gone off, which Spark removes; None elsewhere.
    """
    stores = stores_of(shard)
    for store in stores.values():
        store.write()
    # Also where nothing is due: what is late by a watermark is so in every shard, and each has to know of it.
    timer, wanted = record.get("timer"), shard.watermark // 1000 + 1
    if wanted != timer:
        if timer is not None and (watermark is None or timer > watermark):
            of.handle.deleteTimer(timer)
        of.handle.registerTimer(wanted)
    of.book.update((json.dumps(record | record_of(shard) | {"timer": wanted, "mark": remember(stores)}),))


def record_of(shard: Shard) -> dict[str, Any]:
    """The shard's bookkeeping, as JSON: all that it keeps beside partials and events."""
    found: dict[str, Any] = {"version": VERSION, "watermark": shard.watermark, "gone": shard.gone, "due": shard.due}
    if shard.held is not None:
        found |= {"released": shard.released, "series": shard.held.series, "first_held": shard.held.due}
    return found | {"sizes": {name: store.size for name, store in stores_of(shard).items()}}


def check(record: dict[str, Any], fingerprint: dict[str, Any]) -> None:
    """EngineError where the state in a checkpoint is of another query, or of a later release."""
    if record["version"] > VERSION:
        raise EngineError(
            f"the checkpoint has state of version {record['version']}, and this framefold knows up to {VERSION}; "
            "expected the release that wrote it, or a later one"
        )
    other = [name for name in fingerprint if record["query"].get(name) != fingerprint[name]]
    if other:
        differs = "; ".join(f"{name} {record['query'].get(name)!r} became {fingerprint[name]!r}" for name in other)
        raise EngineError(
            f"the checkpoint is of another query: {differs}; expected the same query, or a new checkpoint"
        )
