"""A stream without Spark: micro-batches dealt to shards, which are opened from bytes for each and written back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

import framefold as ff
from framefold.extras.stored.moving.exported import (
    Exported,
    exported,
    gone_on,
    layout_of,
    store,
    stored_rows,
    why_not_stored,
)
from framefold.extras.stored.table import Table, Written
from framefold.runtime.plan.plan import fingerprint, trusting
from framefold.runtime.streams.held_events import HeldEvents, ticks_of
from framefold.runtime.streams.history import history_of
from framefold.runtime.streams.key_hash import shard_numbers
from framefold.runtime.streams.latest import LatestShard as LatestShard
from framefold.runtime.streams.latest import why_not_latest as why_not_latest
from framefold.runtime.streams.pages import FRAMES
from framefold.runtime.streams.scope import counted, holds, why_no_revisions, why_not
from framefold.runtime.streams.shard import Shard, events_in

from .limits import limits
from .plans import Plan
from .sources import LocalEngine, Source
from .stages import Partials, merged, one_array, partials_of

END = {pa.int64(): 1 << 61, pa.date32(): 1 << 16}
"""A watermark beyond all windows, in ticks; of timestamps one in the year 2112."""


class Bytes:
    """A store whose tables are Arrow IPC, as in a checkpoint."""

    def __init__(self) -> None:
        self.blobs: dict[int, bytes] = {}

    def pages(self) -> list[int]:
        return list(self.blobs)

    def get(self, page: int) -> pa.Table | None:
        return pa.ipc.open_stream(self.blobs[page]).read_all() if page in self.blobs else None

    def put(self, page: int, table: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        self.blobs[page] = sink.getvalue().to_pybytes()

    def remove(self, page: int) -> None:
        self.blobs.pop(page, None)


@dataclass
class Stored:
    """What a shard leaves behind between two micro-batches: its tables, and a book of numbers."""

    partials: Bytes = field(default_factory=Bytes)
    events: Bytes = field(default_factory=Bytes)
    book: str = "{}"

    def opened(self, stream: Stream) -> Shard:
        book = {"series": 0, "first_held": None} | json.loads(self.book)
        series, first = book.pop("series"), book.pop("first_held")
        held = HeldEvents(stream.plan, self.events, stream.width, series, first) if stream.holds else None
        return Shard(stream.plan, self.partials, held, stream.forget, **stream.late_ones, **book)

    def keep(self, shard: Shard) -> None:
        book = {name: getattr(shard, name) for name in ("watermark", "gone", "due", "released")}
        if shard.held is not None:
            book |= {"series": shard.held.series, "first_held": shard.held.due}
        self.book = json.dumps(book)


class Stream:
    """A query over micro-batches.

    Parameters
    ----------
    plan
        What is computed.
    shards
        How many there are.
    width
        How much time a page of events has that are held back, in ticks.
    forget
        How long a key is kept, in ticks.
    lateness, drop_partial
        Which late events are taken; see ``Shard``.
    """

    def __init__(
        self,
        plan: Plan,
        shards: int = 1,
        width: int = 10,
        forget: int | None = None,
        lateness: int = 0,
        drop_partial: bool = False,
    ) -> None:
        self.late_ones = {"lateness": lateness, "drop_partial": drop_partial}
        self.plan, self.holds, self.width, self.forget = trusting(counted(plan)), holds(plan), width, forget
        self.stored = [Stored() for _ in range(shards)]
        self.late = 0
        """How many events have been dropped."""

    def dealt(self, table: pa.Table, by: Sequence[str] | None = None) -> np.ndarray:
        """The shard of each row, by columns, or by those that come first in partials: their keys."""
        columns = table.select(range(len(self.plan.by)) if by is None else by).columns
        return shard_numbers([one_array(each) for each in columns], len(table), len(self.stored))

    def begin(self, tick: int, events: Sequence[pa.Table] = (), stored: ff.StoredPartials | None = None) -> None:
        """What was before the first micro-batch, up to a tick: portions of events, or what is at rest."""
        plan = self.plan
        if stored is not None:
            history = history_of(stored)
            asked, files = history.before(tick, plan, self.late_ones["lateness"])
            tables = [history.table.partials(history.layout, files, plan, asked).table]
        else:
            past = [each.filter(pa.array(ticks_of(plan, each) < tick)) for each in events]
            tables = past if self.holds else [partials_of(plan, each, rank).table for rank, each in enumerate(past)]
        for number, shard_state in enumerate(self.stored):
            shard = shard_state.opened(self)
            for table in tables:
                of_events = self.holds and stored is None
                own = table.filter(pa.array(self.dealt(table, plan.by if of_events else None) == number))
                if of_events:
                    shard.hold(own.select(plan.columns))
                elif self.holds:
                    shard.go_on_from(Partials(plan, own))
                else:
                    shard.add(Partials(plan, own))
            assert not [*shard.advance(tick, silent=True)]
            shard_state.keep(shard)

    def export(self, path: str, watermark: int) -> None:
        """Store the state as of a micro-batch with a watermark."""
        shards = [stored.opened(self) for stored in self.stored]
        for shard in shards:
            assert not [*shard.advance(watermark)], "it was called where anything closes"
        table, layout = Table.at(path), layout_of(self.plan)
        written = [table.write(layout, stored_rows(layout, shard.stored(), "r"), "r") for shard in shards]
        files = [file for each in written for file in each.files]
        gone = max(shard.gone for shard in shards)
        said = exported(self.plan, "checkpoint", 0, watermark, gone, fingerprint(self.plan))
        store(table, layout, said, "r", Written(files, sum(each.events for each in written)))

    def go_on(self, path: str, *, skip: bool = False) -> int:
        """Begin with the stored state of another stream; the watermark up to which windows are closed."""
        if (reason := why_not_stored(self.plan)) is not None:
            raise ff.QueryError(reason)
        table = Table.at(path)
        commit = table.commits.latest()
        found = gone_on(table, Exported.of(commit, path), commit, self.plan, self.late_ones["lateness"], skip=skip)
        partials = table.partials(found.layout, found.files, self.plan)
        dealt = self.dealt(partials.table)
        for number, stored in enumerate(self.stored):
            shard = stored.opened(self)
            own = partials.table.filter(pa.array(dealt == number))
            shard.import_state(Partials(self.plan, own), found.watermark, found.gone)
            stored.keep(shard)
        return found.watermark

    def batch(self, watermark: int, portions: Sequence[pa.Table] = ()) -> Iterator[pa.Table]:
        """The results at a watermark: of the windows that it closes, then of those that events change after it.

        Only those shards are asked that get events, or whose time has come: the others have nothing to say.
        """
        dealt = [self.dealt(each, self.plan.by) for each in portions]
        for number, stored in enumerate(self.stored):
            pairs = zip(portions, dealt, strict=True)
            own = [(rank, each.filter(pa.array(of == number))) for rank, (each, of) in enumerate(pairs)]
            some = [(rank, each) for rank, each in own if len(each)]
            shard = stored.opened(self)
            if not some and (shard.due is None or shard.due > watermark):
                continue
            yield from shard.advance(watermark)
            if shard.held is not None and some:
                self.late += shard.hold(pa.concat_tables(each for _, each in some).select(self.plan.columns))
            elif some:
                tables = [partials_of(self.plan, each, rank).table for rank, each in reversed(some)]
                new = merged(Partials(self.plan, pa.concat_tables(tables)))
                self.late += events_in(shard.add(new))
                yield from shard.revised(new)
            assert shard.due is None or shard.due > watermark
            stored.keep(shard)


@dataclass(frozen=True)
class Cut:
    """How events become a stream.

    Parameters
    ----------
    sizes
        Of the micro-batches; what is left is in a last one.
    slack
        How much further back a watermark is than the events to come make it, in ticks.
    shards, width, forget
        See :class:`Stream`.
    portion
        The most events that a task of a micro-batch has.
    full
        The most partials of a page of a shard's.
    begin
        The tick before which events are the history's; None: there is none.
    history
        What they are at rest as; None: the events themselves.
    """

    sizes: Sequence[int] = (3, 0, 1, 2) * 9
    slack: int = 0
    shards: int = 2
    width: int = 10
    portion: int = 2
    forget: int | None = None
    full: int = 4
    begin: int | None = None
    history: ff.StoredPartials | None = None

    def batches(self, rows: int) -> list[tuple[int, int]]:
        """The rows of each micro-batch, from where to where; the last one has none."""
        ends, count = [], 0
        for size in self.sizes:
            ends.append(count := min(count + size, rows))
        return list(pairwise([0, *ends, rows, rows]))


class ShardsEngine(LocalEngine):
    """The local engine's twin for a stream of the same events, none of them late, which ends by closing all windows."""

    def __init__(self, source: Source, cut: Cut) -> None:
        super().__init__(source)
        self.cut = cut

    def run(self, query: Plan, options: object) -> pa.Table:
        if (reason := why_not(query)) is not None:
            raise ff.QueryError(f"a stream cannot answer this query: {reason}")
        cut, events = self.cut, self.source.batches(self.source.schema.names).read_all()
        stream = Stream(query, cut.shards, cut.width, cut.forget)
        end = END.get(query.times.type, 1 << 52) + cut.slack
        ticks, found = ticks_of(query, events).tolist(), [query.result_schema.empty_table()]
        with limits(shard_block_partials=cut.full):
            if cut.begin is not None:
                stream.begin(cut.begin, [events], cut.history)
                kept = [tick >= cut.begin for tick in ticks]
                events, ticks = events.filter(pa.array(kept, pa.bool_())), [tick for tick in ticks if tick >= cut.begin]
            for first, last in cut.batches(len(events)):
                portions = [events.slice(at, min(cut.portion, last - at)) for at in range(first, last, cut.portion)]
                found += stream.batch(min(ticks[first:], default=end) - cut.slack, portions)
        assert stream.late == 0
        assert not any(stored.events.blobs for stored in stream.stored)
        return pa.concat_tables(found)


def frame_of(stored: ff.StoredPartials, tick: int) -> tuple[int, int]:
    """The bounds of the frame that a tick is in, in ticks."""
    (start,), (end,) = history_of(stored).layout.bounds(np.array([tick]))
    return int(start), int(end)


def as_stream(events: ff.Events, cut: Cut) -> ff.Events:
    """Events of the local engine as a stream: `.aggregate()` gives all that its shards give."""
    assert isinstance(events.engine, LocalEngine)
    return replace(events, engine=ShardsEngine(events.engine.source, cut))
