"""The shards of a query, each restored from Spark's state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...aggregators.errors import EngineError
from ...runtime.plan.plan import changes, differing
from ...runtime.sources.untrusted import untrusted
from ...runtime.streams.held_events import HeldEvents
from ...runtime.streams.latest import LatestShard
from ...runtime.streams.shard import Shard
from ..engine.tasks import Job
from .state import Pages, StateStore, recalled, remember, stores_of

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
    at_rest
        Whether the history has partials, and not events.
    imported
        Up to which ticks windows are closed, and take no more events, in the state of another query that is the first
        state; None: there is none.
    latest
        Whether the window is given that ends now by the clock, and not those that the watermark closes.
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
    at_rest: bool = False
    imported: tuple[int, int] | None = None
    latest: bool = False

    @property
    def marks(self) -> tuple[str, ...]:
        """The extra columns of results, where a window may be emitted more than once."""
        return tuple(self.job.schema.names[len(self.job.plan.result_schema) :])


def read_record(shards: Shards, found: str | None) -> dict[str, Any]:
    """The shard's bookkeeping: from JSON in Spark's state, or a fresh one if there is none."""
    fresh = {"version": VERSION, "query": shards.fingerprint}
    record = fresh if found is None else record_in(found)
    check(record, shards.fingerprint)
    return record


def record_in(found: str) -> dict[str, Any]:
    """The bookkeeping in a checkpoint, which may be anybody's; EngineError where it is none of framefold's."""
    with untrusted("the checkpoint has no state of framefold's", "the checkpointLocation of this query"):
        record: dict[str, Any] = json.loads(found)
        if type(record) is not dict:
            raise ValueError(f"a record is {found[:80]!r}")
        if is_count(record["version"]) and record["version"] > VERSION:  # which `check` refuses
            return record
        for name, right in KNOWN.items():
            if (name in record or name in REQUIRED) and not right(record.get(name)):
                raise ValueError(f"{name} {record.get(name)!r:.80}")
    return record


def is_number(value: Any) -> bool:
    """Whether it is an integer that a tick may be, or a number of milliseconds."""
    return type(value) is int and abs(value) <= MOST


def is_count(value: Any) -> bool:
    """Whether it is such a number, and not below zero."""
    return is_number(value) and value >= 0


def is_maybe_number(value: Any) -> bool:
    """Whether it is such a number, or nothing."""
    return value is None or is_number(value)


def are_sizes(value: Any) -> bool:
    """Whether it has sizes of tables, as `StateStore` counts them."""
    some = list(value.values()) if type(value) is dict else [None]
    return all(type(each) is list and len(each) == 3 and all(map(is_count, each)) for each in some)


MOST = 1 << 62
"""The greatest number in a record, and how far it may be below zero."""

KNOWN: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("watermark", "gone", "early"), is_number),
    **dict.fromkeys(("version", "released", "series"), is_count),
    **dict.fromkeys(("due", "timer", "number", "first_held"), is_maybe_number),
    "width": lambda value: is_count(value) and value > 0,
    "sizes": are_sizes,
    "changed": lambda value: type(value) is bool,
    "mark": lambda value: value is None or type(value) is str,
    "query": lambda value: type(value) is dict,
}
"""The entries of a record, with a check of the value of each."""

REQUIRED = ("version", "query", "watermark")
"""What each record has."""


def restored(
    shards: Shards, of: Any, record: dict[str, Any], first: int = EPOCH, known: dict[str, Pages] | None = None
) -> Shard:
    """A shard as its state has it; ``first`` is the watermark of one that is new, ``known`` has all its tables."""
    plan, held, sizes = shards.job.plan, None, record.get("sizes", {})
    recent = recalled(record.get("mark")) if known is None else known
    if of.events is not None and not shards.late:
        width = record.setdefault("width", shards.width)  # that of the pages in the checkpoint
        events = StateStore(of.events, sizes.get("events"), recent.get("events"))
        held = HeldEvents(plan, events, width, record.get("series", 0), record.get("first_held"))
    watermark = record.get("watermark", first)
    shard = (LatestShard if shards.latest else Shard)(
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
    if isinstance(shard, LatestShard):
        shard.number = record.get("number")
    return shard


def keep(of: Any, record: dict[str, Any], shard: Shard, passed: int | None) -> None:
    """Write the shard's bookkeeping to Spark's state, and set the timer by which Spark calls it again.

    Parameters
    ----------
    of
        The processor, with the shard's state.
    record
        What it knew.
    shard
        The shard.
    passed
        Spark's watermark, or its clock, in milliseconds, where a timer has gone off, which Spark removes; else None.
    """
    stores = stores_of(shard)
    for store in stores.values():
        store.write()
    timer, wanted = record.get("timer"), wakes_at(shard)
    if wanted != timer:
        if timer is not None and (passed is None or timer > passed):
            of.handle.deleteTimer(timer)
        if wanted is not None:
            of.handle.registerTimer(wanted)
    of.book.update((json.dumps(record | record_of(shard) | {"timer": wanted, "mark": remember(stores)}),))


def wakes_at(shard: Shard) -> int | None:
    """The watermark, or clock, at which Spark is to call a shard, in milliseconds; None: with new events only."""
    if isinstance(shard, LatestShard):
        tick = shard.wakes()
        return None if tick is None else -(-tick // 1000)
    # Also where nothing is due: what is late by a watermark is so in every shard, and each has to know of it.
    return shard.watermark // 1000 + 1


def record_of(shard: Shard) -> dict[str, Any]:
    """The shard's bookkeeping, as JSON: all that it keeps beside partials and events."""
    found: dict[str, Any] = {"version": VERSION, "watermark": shard.watermark, "gone": shard.gone, "due": shard.due}
    if isinstance(shard, LatestShard):
        found["number"] = shard.number
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
    there = {name: each for name, each in record["query"].items() if name in fingerprint}
    if other := differing(there, fingerprint):
        remedy = (
            ". spark.sql.shuffle.partitions stays as it was when the query first started: say the number, as in "
            "ff.spark_conf(streams=True, partitions=4)"
        )
        raise EngineError(
            f"the checkpoint is of another query: {changes(other)}; expected the same query, or a new checkpoint, into "
            f"which .export_state and .import_state take the state{remedy if 'shards' in other else ''}"
        )
