"""What Spark calls for a shard: its partials in the state store, its results as packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as t
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ...aggregators.errors import EngineError
from ...runtime.accumulate.accumulate import accumulate
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.streams.given_windows import FIRST
from ...runtime.streams.held_events import ticks_of
from ...runtime.streams.late_events import late_events
from ...runtime.streams.latest import LatestShard
from ...runtime.streams.scope import holds
from ...runtime.streams.shard import Shard, events_in
from ..convert import partials_codec
from ..convert.types import cast_to
from ..session.errors import sentence_first
from ..session.pickling import pack
from ..session.staging import importer
from ..session.worker import opened, settle
from .progress import call_metrics, packet, state_counts
from .shards import BOOK, EVENTS, PARTIALS, Shards, is_number, keep, read_record, restored


def slider(spark: SparkSession, shards: Shards) -> StatefulProcessor:
    """The processor of a query's shards.

    It is of a class that is pickled whole: a worker opens it before framefold is on its path.
    """
    module, payload, held = __name__, pack(shards), holds(shards.job.plan)
    imported = importer(spark)
    book, partials, events = BOOK, PARTIALS, EVENTS
    # As types, and not as text: that Spark would parse, each in a call of its own, in every task.
    tables = t.StructType().add("block", t.LongType()), t.StructType().add("ipc", t.BinaryType())
    value = t.StructType().add(book, t.StringType())

    class Slider(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.partials = handle.getMapState(partials, *tables)
            self.events = handle.getMapState(events, *tables) if held else None
            self.book = handle.getValueState(book, value)
            self.said: dict[Any, Any] = {}

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # Spark's names
            yield from imported(module).called(payload, self, key, rows, timerValues)

        def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
            imported(module).start(payload, self, initialState.packets)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
            yield from imported(module).called(payload, self, key, (), timerValues)

    return Slider()


def called(payload: bytes, of: Any, key: Any, rows: Iterable[Row], times: Any) -> Iterator[Row]:
    """The packets of a shard in a micro-batch: results of windows, and what it says of itself.

    Parameters
    ----------
    payload
        What the shards of the query need, pickled.
    of
        The processor, with the shard's state, and what its calls in this micro-batch have said.
    key
        What Spark calls the shard.
    rows
        Packets of partials, or of events, some empty; none where a timer has expired.
    times
        Spark's ``TimerValues``: the watermark, and the time of the micro-batch, which is the same when it is repeated.
    """
    shards: Shards = opened(payload)
    with sentence_first():
        book = written(shards, of)
        shard = restored(shards, of, book)
        new = joined(row.ipc for row in sorted(rows, key=attrgetter("place")))
        if isinstance(shard, LatestShard):
            clock, watermark = times.getCurrentProcessingTimeInMs(), 0
            yield from slide_to_now(shards, shard, new, clock)
        else:
            clock = watermark = watermark_in(times)
            yield from slide(shards, shard, book, new, times)
        keep(of, book, shard, clock if rows == () else None)
        yield call_metrics(shard, of.said.get(key), watermark)
        of.said[key] = state_counts(shard)
    settle()  # else a worker would search all modules for garbage while Spark commits the state


def watermark_in(times: Any) -> int:
    """Spark's watermark, in milliseconds; EngineError where no event can have such a time, nor a timer be later."""
    found: int = times.getCurrentWatermarkInMs()
    if not is_number(1000 * found):
        raise EngineError(
            f"the watermark is {found} milliseconds since 1970, beyond the times of events; expected a checkpoint as "
            "Spark has written it, and events that are not in so far a future"
        )
    return found


def slide_to_now(shards: Shards, shard: LatestShard, new: pa.Table | None, now: int) -> Iterator[Row]:
    """Of keys that have changed, the window that ends now."""
    for found in shard.give(None if new is None else Partials(shard.plan, new), now * 1000):
        yield from marked(shards, [found]) if isinstance(found, pa.Table) else [packet(None, late_events=found)]


def slide(shards: Shards, shard: Shard, book: dict[str, Any], new: pa.Table | None, times: Any) -> Iterator[Row]:
    """What new partials or events revise, and the windows that the watermark closes; those still open, where wanted."""
    # As Spark's own window() has it: new events are late by the watermark of the micro-batch before, which every shard
    # has seen, and enter what this one's closes.
    if new is not None:
        book["changed"] = True
        yield from (late_of if shards.late else taken)(shards, shard, new)
    yield from marked(shards, shard.advance(times.getCurrentWatermarkInMs() * 1000, silent=shards.late))
    if shards.early is not None and not shards.late and book.get("changed"):
        now = times.getCurrentProcessingTimeInMs()
        if now >= book.get("early", now - shards.early) + shards.early:
            yield from marked(shards, shard.early(), provisional=True)
            book |= {"changed": False, "early": now}


@sentence_first()
def start(payload: bytes, of: Any, packets: list[bytes | None]) -> None:
    """The first state of a shard: the packets of a history, of which no window is given that has closed in it."""
    shards: Shards = opened(payload)
    book = written(shards, of)
    shard, new = restored(shards, of, book, FIRST), joined(packets)
    if shards.imported is not None:
        shard.import_state(Partials.none(shard.plan) if new is None else Partials(shard.plan, new), *shards.imported)
        return keep(of, book, shard, None)  # nothing has changed that a sink could be given early
    assert shards.begin is not None
    if new is None:
        pass
    elif shard.held is None:
        shard.add(Partials(shard.plan, new))
    elif shards.at_rest:
        shard.go_on_from(Partials(shard.plan, new))
    else:
        shard.hold(new)
    for _ in shard.advance(shards.begin, silent=True):
        pass
    keep(of, book | {"changed": True}, shard, None)


def written(shards: Shards, of: Any) -> dict[str, Any]:
    """What Spark's state says of a shard."""
    found = of.book.get()
    return read_record(shards, None if found is None else found[0])


def joined(packets: Iterable[bytes | None]) -> pa.Table | None:
    """The tables in packets, as one; None if all packets are empty."""
    tables = [partials_codec.opened(each) for each in packets if each is not None]
    return pa.concat_tables(tables) if tables else None


def marked(
    shards: Shards, found: Iterable[pa.Table], *, provisional: bool = False, revision: bool = False
) -> Iterator[Row]:
    """Packets of results, with the columns provisional and revision where a window may be emitted more than once."""
    is_so = {"provisional": provisional, "revision": revision}
    for table in found:
        if len(table):
            for name in shards.marks:
                table = table.append_column(name, pa.repeat(is_so[name], len(table)))
            yield packet(partials_codec.to_ipc(table), windows=len(table))


def taken(shards: Shards, shard: Shard, new: pa.Table) -> Iterator[Row]:
    """Add new partials, or events, to a shard; yields packets of what they revise, and of the number of late events."""
    if shard.held is not None:
        late = shard.hold(new)
    else:
        partials = merge(Partials(shard.plan, new))
        late = events_in(shard.add(partials))
        yield from marked(shards, shard.revised(partials), revision=True)
    if late:
        yield packet(None, late_events=late)


def late_of(_: Shards, shard: Shard, new: pa.Table) -> Iterator[Row]:
    """Packets of late events, with all their columns; the others are kept where it depends on them what is late."""
    plan = shard.plan
    events = cast_to(new.select(range(len(plan.columns))), plan.events_schema)
    if holds(plan):
        late = ticks_of(plan, events) < shard.watermark
    else:
        late = late_events(events, shard.add(accumulate(plan, events, 0)))
    if late.any():
        found = new.select(range(len(plan.columns), new.num_columns)).filter(pa.array(late))
        yield packet(partials_codec.to_ipc(found), late_events=len(found))
