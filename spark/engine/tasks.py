"""The functions of tasks, inside ``mapInArrow``: batches in, batches out, in bounded memory.

Batches come as Spark cuts them, 10,000 rows by default, and are gathered before they are worked on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from ...runtime.accumulate.accumulate import accumulate as accumulate_events
from ...runtime.accumulate.portions import in_portions
from ...runtime.accumulate.sql_accumulate import SqlAccumulate
from ...runtime.local import beside_events
from ...runtime.partials.add_aligned import add_aligned
from ...runtime.partials.merge import merge as merge_partials
from ...runtime.partials.partials import Partials
from ...runtime.plan.plan import Plan, trusting
from ...runtime.results.blocks import with_neighbours
from ...runtime.results.finish import Wanted, results
from ..convert.partials_codec import Batches, PartialsCodec, batches, from_ipc, to_ipc
from ..convert.types import arrow_schema, cast_to
from ..input.row_numbers import Offsets, begins, filled, partition_id, with_row_numbers
from ..tuning import BLOB_ROWS, MERGED_ROWS, ROW_BYTES, SLID_ROWS, TASK_HELD_BYTES, WEIGHT_BYTES

FAILED, COUNTED = -1, -2
"""The rows of a blob without partials: one has the report of an error, the other the number of a task's events that
have no time, and of all its events."""


@dataclass(frozen=True)
class Job:
    """What all tasks of a query need.

    Parameters
    ----------
    plan
        What to compute.
    schema
        Of the results, in Spark.
    blocks
        The plan of partials in blocks of rows or windows, where windows slide by these and not by whole keys.
    offsets
        How events are numbered, where windows are counted in rows.
    wanted
        The windows that are wanted; None: all.
    """

    plan: Plan
    schema: t.StructType
    blocks: Plan | None = None
    offsets: Offsets | None = None
    wanted: Wanted | None = None

    def trusting(self) -> Job:
        """The job of tasks that read pickles: those of other tasks of this query, or of a trusted checkpoint."""
        return replace(self, plan=trusting(self.plan), blocks=self.blocks and trusting(self.blocks))

    @property
    def shuffled(self) -> Plan:
        """The plan of partials after the shuffle."""
        return self.blocks or self.plan

    @property
    def codec(self) -> PartialsCodec:
        """How partials are shuffled."""
        return PartialsCodec(self.shuffled.partials_schema, len(self.shuffled.by))


def accumulate(job: Job, rows: Batches) -> Batches:
    """Events to partials, as rows that Spark can shuffle."""
    yield from to_rows(job, accumulated_partials(job, rows))


def accumulate_to_ipc(job: Job, limit: int | None, rows: Batches) -> Batches:
    """Events to partials in IPC blobs, which spare the conversion of each row to Spark's format and back.

    A task with more than ``limit`` partials ends with a null. If the plan drops events without a time, a blob counts
    them.
    """
    time, counts = job.plan.columns.index(job.plan.time), np.zeros(2, np.int64)

    def counted() -> Batches:
        for batch in rows:
            counts[:] += batch.column(time).null_count, len(batch)
            yield batch

    drops = job.plan.null_time == "drop"
    yield from _blobs(accumulated_partials(job, counted() if drops else rows), limit)
    if drops:
        yield _blob(partition_id() << 32, COUNTED, counts.tobytes())


def merge_blobs(job: Job, limit: int, rows: Batches) -> Batches:
    """Merge the partials in IPC blobs of several tasks, sorted by place, to one partial for each key and frame.

    A task with more than ``limit`` partials ends with a null.
    """
    yield from _blobs(_merged(_unpacked(job, rows)), limit)


def from_blobs(job: Job, rows: Batches) -> Batches:
    """IPC blobs to rows that Spark can shuffle."""
    yield from to_rows(job, _unpacked(job, rows))


def merge(job: Job, rows: Batches) -> Batches:
    """Partials sorted by key, frame and batch rank to one for each (key, frame)."""
    for partials in merged(job, rows):
        yield from job.codec.encode(partials.table)


def merged(job: Job, rows: Batches) -> Iterator[Partials]:
    """Partials sorted by key, frame and batch rank, merged, some keys or frames at a time."""
    codec = job.codec
    for some in _cut(rows, columns=codec.keys + 1, enough=MERGED_ROWS):
        yield merge_partials(Partials(job.shuffled, codec.decode(some)))


def slide(job: Job, rows: Batches) -> Batches:
    """Partials sorted by key, frame and batch rank to results; a task holds one key, or some small ones."""
    for some in _cut(rows, columns=len(job.shuffled.by), enough=SLID_ROWS):
        yield from _results(job, Partials(job.shuffled, job.codec.decode(some)))


def slide_sql(job: Job, rows: Batches) -> Batches:
    """Groups that Spark has aggregated, sorted by key and frame, to results."""
    sql = SqlAccumulate(job.plan)
    for some in _cut(rows, columns=len(job.shuffled.by), enough=SLID_ROWS):
        yield from _results(job, sql.partials(pa.Table.from_batches(some)))


def slide_blobs(job: Job, rows: Batches) -> Batches:
    """IPC blobs, each of whole keys, to results."""
    for partials in _unpacked(job, rows):
        yield from _results(job, partials)


def beside(plan: Plan, read: Sequence[str], schema: t.StructType, rows: Batches) -> Batches:
    """Whole keys of events to the rows that are beside them, with the outputs of a plan.

    Parameters
    ----------
    plan
        What is computed.
    read
        The plan's columns, its keys first: the first columns that come. Those after them are of the result.
    schema
        Of the result.
    rows
        Sorted by key.
    """
    taken = pa.schema([plan.input_schema.field(name) for name in read])
    outputs = arrow_schema(t.StructType(schema.fields[-len(plan.columns_computed) :]))
    for some in _cut(rows, columns=len(plan.by), enough=SLID_ROWS):
        table = pa.Table.from_batches(some)
        own, events = table.select(range(len(read), table.num_columns)), table.select(range(len(read)))
        found = beside_events(own, cast_to(events, taken, coded=True), plan)
        columns = [*own.columns, *cast_to(found.select(range(own.num_columns, found.num_columns)), outputs).columns]
        yield from batches(pa.table(columns, names=schema.names))


def _results(job: Job, partials: Partials) -> Batches:
    schema = arrow_schema(job.schema)
    for table in results(merge_partials(partials), wanted=job.wanted):
        if len(partials.plan.by) > len(job.plan.by):
            table = table.remove_column(len(job.plan.by))  # the block
        yield from batches(cast_to(table, schema))


def accumulated_partials(job: Job, rows: Batches) -> Iterator[Partials]:
    """The partials of a task's events, each merged as far as memory allows."""
    plan, schema = job.plan, job.plan.input_schema
    if job.offsets is not None:
        rows = with_row_numbers(rows, [plan.columns.index(name) for name in plan.by], job.offsets)
    # Ranks of batches rise over all tasks: partials of one (key, frame) are merged in the order of the events.
    ranks = itertools.count(partition_id() << 32)

    def accumulated(events: pa.Table) -> Partials:
        return accumulate_events(plan, cast_to(events, schema, coded=True), next(ranks), with_empty=True)

    yield from _merged(in_portions(accumulated, filled(rows)))


def _unpacked(job: Job, rows: Batches) -> Iterator[Partials]:
    """The partials in IPC blobs, blob by blob."""
    for batch in rows:
        if job.plan.null_time == "drop" and "rows" in batch.schema.names:
            batch = batch.filter(pc.not_equal(batch.column("rows"), COUNTED))
        for start in range(len(batch)):
            yield Partials(job.plan, from_ipc(batch.slice(start, 1), job.plan.partials_schema))


def failed(report: str) -> Batches:
    """The report of an error in place of IPC blobs."""
    yield _blob(partition_id() << 32, FAILED, report.encode())


def _blobs(several: Iterable[Partials], limit: int | None) -> Batches:
    """Partials in IPC blobs, with their weight for the rows; beyond a weight of ``limit`` a null ends them."""
    count, places = 0, itertools.count(partition_id() << 32)
    for partials in several:
        weight = weight_of(partials.table)
        count += weight
        if limit is not None and count > limit:
            yield _blob(next(places), count, None)
            return
        rows = max(1, BLOB_ROWS * len(partials) // max(weight, 1))
        for start in range(0, len(partials), rows):
            some = partials.table.slice(start, rows)
            yield _blob(next(places), weight_of(some), to_ipc(some))


def weight_of(partials: pa.Table) -> int:
    """How many partials these are, each of lists or binaries counted by its bytes: who merges is chosen by that."""
    kinds = pa.types
    large = [each for each in partials.columns if kinds.is_large_list(each.type) or kinds.is_large_binary(each.type)]
    return len(partials) + sum(int(column.nbytes) for column in large) // WEIGHT_BYTES


def _blob(place: int, rows: int, ipc: bytes | None) -> pa.RecordBatch:
    columns = [pa.array([place]), pa.array([rows]), pa.array([ipc], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["place", "rows", "ipc"])


def to_rows(job: Job, several: Iterable[Partials]) -> Batches:
    """Partials as rows that Spark can shuffle, once for each block that needs them."""
    for partials in several:
        yield from job.codec.encode((partials if job.blocks is None else with_neighbours(job.blocks, partials)).table)


def _merged(several: Iterable[Partials]) -> Iterator[Partials]:
    """Merge a task's partials as they grow; emit them when merging leaves many."""
    held: list[Partials] = []
    for partials in several:
        together = add_aligned(held[-1], partials) if held else None
        held = [*held, partials] if together is None else [*held[:-1], together]
        if sum(each.table.nbytes for each in held) > TASK_HELD_BYTES:
            merged = _whole(held)
            # Half, so that merging happens once for half the limit of new bytes and not each time.
            if merged.table.nbytes > TASK_HELD_BYTES // 2:
                yield merged
                held = []
            else:
                held = [merged]
    if held:
        yield _whole(held)


def _whole(held: list[Partials]) -> Partials:
    """All that is held, merged where it is of several batches."""
    return merge_partials(held) if len(held) > 1 else held[0].filled()


def _cut(rows: Iterable[pa.RecordBatch], columns: int, enough: int) -> Iterator[list[pa.RecordBatch]]:
    """Sorted batches in lists of about ``enough`` rows, of :data:`ROW_BYTES`; rows equal in some columns are together.

    With no columns all rows are.
    """
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in filled(rows):
        if count + rows_of(batch) > enough:
            starts = np.flatnonzero(begins(held[-1] if held else None, batch, range(columns)))
            if len(starts):
                cut = int(starts[-1])
                ready = [*held, batch.slice(0, cut)]
                if any(part.num_rows for part in ready):
                    yield ready
                held, count, batch = [], 0, batch.slice(cut)
        held.append(batch)
        count += rows_of(batch)
    if held:
        yield held


def rows_of(batch: pa.RecordBatch) -> int:
    """The rows of a batch, more where they are large."""
    return max(int(batch.num_rows), int(batch.nbytes) // ROW_BYTES)
