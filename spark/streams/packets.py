"""The tasks around the shards of a stream: events to packets before them, packets to rows behind them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from ...aggregators.errors import NullTimeError
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import one_array
from ...runtime.columns.ticks import null_times
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.streams.history import PartialsInParts
from ...runtime.streams.key_hash import shard_numbers
from ..convert.partials_codec import Batches, batches, from_ipc, opened, to_ipc
from ..convert.types import arrow_schema, cast_to
from ..engine.tasks import Job, accumulated_partials
from ..input.row_numbers import partition_id

PACKETS = t.StructType([
    t.StructField("shard", t.IntegerType()), t.StructField("place", t.LongType()), t.StructField("ipc", t.BinaryType())
])  # fmt: skip
"""Partials, or events, of one shard's keys, as an Arrow IPC stream, or null; in the order of ``place``."""


def pack_partials(job: Job, labels: tuple[int, ...], rows: Batches) -> Batches:
    """Events to packets of partials, at most one for each shard and each time that a task emits partials.

    Parameters
    ----------
    job
        Of the query.
    labels
        What Spark calls each shard.
    rows
        The events.
    """
    yield from packets(by_shard(accumulated_partials(job, rows), len(labels)), labels)


def pack_stored(stored: PartialsInParts, job: Job, labels: tuple[int, ...], numbers: Batches) -> Batches:
    """The parts of stored partials whose numbers come, to packets; see `pack_partials`."""
    parts = (stored.partials(job.plan, number) for batch in numbers for number in batch.column(0).to_pylist())
    yield from packets(by_shard(parts, len(labels)), labels)


def by_shard(some: Iterable[Partials], shards: int) -> Iterator[tuple[pa.Table, Ints]]:
    """Partials, merged as they come, and the shard of each."""
    for partials in some:
        merged = merge(partials)
        if merged.starts is not None and len(merged):
            first = pa.array(merged.starts)
            keys = [key.take(first) for key in merged.keys]
            sizes = np.diff(np.append(merged.starts, len(merged)))
            yield merged.table, np.repeat(shard_numbers(keys, len(merged.starts), shards), sizes)


def pack_events(job: Job, labels: tuple[int, ...], rows: Batches) -> Batches:
    """Events to packets of events, one for each shard and batch; see `pack_partials`.

    Raises
    ------
    NullTimeError
        If an event has no time, unless the plan drops those.
    """
    both = (timed(job, batch) for batch in rows)
    yield from packets(((events, shards_of(job, events, len(labels))) for _, events in both), labels)


def pack_whole(job: Job, labels: tuple[int, ...], rows: Batches) -> Batches:
    """As `pack_events`, of events that have all their columns after those that the query reads."""
    both = (timed(job, batch) for batch in rows)
    yield from packets(((whole, shards_of(job, events, len(labels))) for whole, events in both), labels)


def timed(job: Job, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
    """The events of a batch that have a time: all their columns, and those that the query reads."""
    plan, whole = job.plan, pa.Table.from_batches([batch])
    events = cast_to(whole.select(range(len(plan.columns))), plan.events_schema)
    time = events.column(plan.time)
    if not time.null_count:
        return whole, events
    if plan.null_time == "error":
        raise NullTimeError(null_times(plan.time, time.null_count, len(events)))
    return whole.filter(pc.is_valid(time)), events.filter(pc.is_valid(time))


def shards_of(job: Job, events: pa.Table, shards: int) -> Ints:
    """The shard of each event."""
    return shard_numbers([one_array(events.column(name)) for name in job.plan.by], len(events), shards)


def packets(tables: Iterable[tuple[pa.Table, Ints]], labels: tuple[int, ...]) -> Batches:
    """The rows of tables as packets, by shard; the first task makes one for every shard, so that Spark calls them all.

    A shard that is not called does not know the watermark, by which events to come are late.
    """
    partition, left = partition_id(), set(labels)
    places = itertools.count(partition << 32)
    for table, shards in tables:
        found = np.unique(shards).tolist()
        left -= {labels[shard] for shard in found}
        blobs = [to_ipc(table.filter(pa.array(shards == shard))) for shard in found]
        yield batch_of([labels[shard] for shard in found], places, blobs)
    if partition == 0 and left:
        yield batch_of(sorted(left), places, [None] * len(left))


def batch_of(shards: list[int], places: Iterator[int], blobs: Sequence[bytes | None]) -> pa.RecordBatch:
    """Packets as a record batch, a row each."""
    numbers = pa.array([next(places) for _ in shards], pa.int64())
    columns = [pa.array(shards, pa.int32()), numbers, pa.array(blobs, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, PACKETS.names)


def unpack(job: Job, rows: Batches) -> Batches:
    """Packets of results to rows."""
    schema, found = arrow_schema(job.schema), job.plan.result_schema
    for name in job.schema.names[len(found) :]:  # what says which result of a window one is
        found = found.append(pa.field(name, pa.bool_()))
    for batch in rows:
        filled = batch.filter(batch.column("ipc").is_valid())
        yield from batches(cast_to(from_ipc(filled, found), schema))


def unpack_events(schema: t.StructType, rows: Batches) -> Batches:
    """Packets of whole events to rows."""
    for batch in rows:
        for blob in batch.column("ipc").drop_null():
            yield from batches(cast_to(opened(blob.as_buffer()), arrow_schema(schema)))
