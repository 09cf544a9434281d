"""What runs on the executors, inside ``mapInArrow``: batches in, batches out, with memory bounded on the way.

No setting of the user's session is touched, so batches arrive as Spark cuts them (10,000 rows unless told
otherwise): they are gathered to a size that pays before any arithmetic starts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from ...runtime.accumulate import batching
from ...runtime.accumulate.sql_request import Request
from ...runtime.plan.plan import Plan
from ...runtime.results.row_blocks import with_neighbours
from ..convert import ipc
from ..convert.partials_codec import PartialsCodec, batches, cast_to
from ..input.row_numbers import Offsets, begins, ends, filled, numbered, partition_id
from ..session.packaging import unpack
from ..session.worker import worker_context

# What Spark has added up is taken so many rows at a time: enough to make the fixed cost of numpy calls vanish.
GATHER_ROWS = 1 << 20
GATHER_BYTES = 64 << 20
# What a task holds of partials before it merges them, and emits them if merging did not help.
HOLD_ROWS = 1 << 18
HOLD_BYTES = 64 << 20
# A packet of partials: some megabytes.
PACKET_ROWS = 1 << 16
# Partials of whole keys that are turned into results together.
CHUNK_ROWS = 1 << 17


@dataclass(frozen=True)
class Job:
    """All that a task needs to know.

    Parameters
    ----------
    query
        What to compute.
    wire
        How partials are shuffled.
    results
        The types Spark was promised.
    blocks
        The query that partials are shuffled for where windows are slid by blocks of rows and not by whole keys.
    offsets
        How events are numbered where windows are counted in rows.
    """

    plan: Plan
    wire: PartialsCodec
    results: pa.Schema
    blocks: Plan | None = None
    offsets: Offsets | None = None

    @property
    def gathered(self) -> Plan:
        """The query of partials after the shuffle."""
        return self.blocks or self.plan


@lru_cache(maxsize=8)
def job_in(payload: bytes) -> Job:
    """The job in a payload; a worker that is used for many tasks opens it once."""
    job: Job = unpack(payload)
    return job


def run(stage: str, payload: bytes, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A stage by its name."""
    stages = {
        "count": count,
        "accumulate": accumulate,
        "accumulate_to_ipc": accumulate_to_ipc,
        "unpacked": unpacked,
        "built": built,
        "built_results": built_results,
        "merge": merge,
        "results": results,
    }
    with worker_context():
        yield from stages[stage](job_in(payload), rows)


def count(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first and the last key of sorted events, with their numbers of rows: before windows counted in rows."""
    yield from ends(rows, len(job.plan.by))


def accumulate(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Events to partials: a task's first stage.

    Parts number the pieces of input in their order, over all tasks: the partition in the high bits, a counter in
    the low ones, so that partials of one (key, frame) can be merged in the order of the events.
    """
    yield from _sent(job, _accumulated(job, rows))


def accumulate_to_ipc(job: Job, rows: Iterator[pa.RecordBatch], most: int | None = None) -> Iterator[pa.RecordBatch]:
    """Events to partials in packets: for the driver, which reads them as they are.

    Spark turns every row of a task into its own format and back. A packet is one row to it.

    Parameters
    ----------
    most
        A task that has more partials ends with an empty packet, and sends no more: the driver is not to have them.
    """
    count = 0
    for partials in _accumulated(job, rows):
        count += len(partials)
        if most is not None and count > most:
            yield pa.RecordBatch.from_pydict({"rows": [count], "ipc": pa.array([None], pa.binary())})
            return
        for start in range(0, len(partials), PACKET_ROWS):
            part = partials.slice(start, PACKET_ROWS)
            yield pa.RecordBatch.from_pydict({"rows": [len(part)], "ipc": [ipc.to_ipc(part)]})


def unpacked(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packets to rows that Spark can shuffle, where the driver has no room for them."""
    yield from _sent(job, (ipc.from_ipc(batch, job.plan.partials_schema) for batch in rows))


def built(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What Spark has added up, as partials that it can shuffle."""
    request = Request(job.plan)
    yield from _encoded(job, (request.partials(answer) for answer in _gathered(rows)))


def _accumulated(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    plan, schema = job.plan, job.plan.input_schema
    if job.offsets is not None:
        rows = numbered(rows, [plan.columns.index(name) for name in plan.by], job.offsets)
    parts = itertools.count(partition_id() << 32)

    def accumulated(events: pa.Table) -> pa.Table:
        return plan.accumulate(cast_to(events, schema, coded=True), next(parts))

    yield from _merged(plan, batching.accumulated(accumulated, filled(rows)))


def _sent(job: Job, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Partials on their way to the shuffle, to all the blocks that need them."""
    if job.blocks is not None:
        tables = (with_neighbours(job.blocks, table) for table in tables)
    yield from _encoded(job, tables)


def merge(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Partials sorted by key, frame and batch rank to one partial for each (key, frame)."""
    whole = _whole(rows, columns=job.wire.keys + 1, enough=HOLD_ROWS)
    yield from _encoded(job, (job.gathered.merge(job.wire.decode(partials)) for partials in whole))


def results(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Partials sorted by key, frame and batch rank to results; holds one key's partials, or a chunk of small keys.

    However many windows these have, results come and go a piece at a time. Where there are blocks, each is a key.
    """
    for partials in _whole(rows, columns=job.wire.keys, enough=CHUNK_ROWS):
        yield from _slid(job, job.wire.decode(partials))


def built_results(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What Spark has added up, sorted by key, to results."""
    request = Request(job.plan)
    for held in _whole(rows, columns=job.wire.keys, enough=CHUNK_ROWS):
        yield from _slid(job, request.partials(pa.Table.from_batches(held)))


def _slid(job: Job, partials: pa.Table) -> Iterator[pa.RecordBatch]:
    for found in job.gathered.results_in_pieces(partials):
        if job.blocks is not None:
            found = found.remove_column(job.wire.keys - 1)
        yield from batches(cast_to(found, job.results))


def _gathered(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in filled(rows):
        held.append(batch)
        count += batch.num_rows
        size += batch.nbytes
        if count >= GATHER_ROWS or size >= GATHER_BYTES:
            yield pa.Table.from_batches(held)
            held, count, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _merged(plan: Plan, pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Merge a task's partials as they grow; let go of them when merging no longer makes them few."""
    held: list[pa.Table] = []
    for table in pieces:
        held.append(table)
        if _beyond(held, HOLD_ROWS, HOLD_BYTES):
            together = plan.merge(pa.concat_tables(held)) if len(held) > 1 else table
            # Half, so that merging happens once for every half bound of new rows and not for every piece.
            if _beyond([together], HOLD_ROWS // 2, HOLD_BYTES // 2):
                yield together
                held = []
            else:
                held = [together]
    if held:
        yield plan.merge(pa.concat_tables(held)) if len(held) > 1 else held[0]


def _beyond(held: list[pa.Table], rows: int, size: int) -> bool:
    return bool(sum(table.num_rows for table in held) > rows or sum(table.nbytes for table in held) > size)


def _encoded(job: Job, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield from job.wire.encode(table)


def _whole(rows: Iterable[pa.RecordBatch], columns: int, enough: int) -> Iterator[list[pa.RecordBatch]]:
    """Cut sorted batches so that rows equal in their first columns are never parted.

    Holds as many rows as are equal, and up to `enough` more. Without columns to tell rows apart, nothing is cut.
    """
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in filled(rows):
        if count + batch.num_rows > enough:
            starts = np.flatnonzero(begins(held[-1] if held else None, batch, range(columns)))
            if len(starts):
                cut = int(starts[-1])
                ready = [*held, batch.slice(0, cut)]
                if any(part.num_rows for part in ready):
                    yield ready
                held, count, batch = [], 0, batch.slice(cut)
        held.append(batch)
        count += batch.num_rows
    if held:
        yield held
