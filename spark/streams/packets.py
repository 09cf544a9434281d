"""The tasks around the shards of a stream: events to packets of partials, and packets of results to rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from ...runtime.columns.key_codes import one_array
from ...runtime.partials.merge import merge
from ...runtime.streams.key_hash import shard_numbers
from ..convert.partials_codec import batches, from_ipc, to_ipc
from ..convert.types import arrow_schema, cast_to
from ..engine.tasks import Job, accumulated_partials

PARTIALS = t.StructType([t.StructField("shard", t.IntegerType()), t.StructField("ipc", t.BinaryType())])
"""Partials of one shard's keys, as an Arrow IPC stream."""

RESULTS = t.StructType([t.StructField("ipc", t.BinaryType()), t.StructField("late", t.LongType())])
"""Results as an Arrow IPC stream, or null; and how many events were dropped."""


def pack(job: Job, labels: tuple[int, ...], rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
    for partials in accumulated_partials(job, rows):
        merged = merge(job.plan, partials)
        if merged.starts is None or not len(merged):
            continue
        first = pa.array(merged.starts)
        keys = [one_array(merged.table.column(name).take(first)) for name in job.plan.keys]
        sizes = np.diff(np.append(merged.starts, len(merged)))
        shards = np.repeat(shard_numbers(keys, len(merged.starts), len(labels)), sizes)
        found = np.unique(shards).tolist()
        blobs = [to_ipc(merged.table.filter(pa.array(shards == shard))) for shard in found]
        yield pa.RecordBatch.from_arrays(
            [pa.array([labels[shard] for shard in found], pa.int32()), pa.array(blobs, pa.binary())], ["shard", "ipc"]
        )


def unpack(job: Job, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packets of results to rows."""
    schema = arrow_schema(job.schema)
    for batch in rows:
        filled = batch.filter(batch.column("ipc").is_valid())
        yield from batches(cast_to(from_ipc(filled, job.plan.result_schema), schema))
