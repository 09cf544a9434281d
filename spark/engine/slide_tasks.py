"""Partials that are on the driver, of which more results come than it makes: whole keys go out to tasks to be slid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ..convert.ipc import from_ipc, to_ipc
from ..convert.partials_codec import batches, cast_to
from ..session.conf_overrides import as_batches
from ..session.packaging import pack, ship, task
from ..session.worker import worker_context
from . import tasks

SENDING = "engine.slide_tasks"
"""The module with the function of the tasks."""

BLOBS = t.StructType([t.StructField("ipc", t.BinaryType())])
"""Partials of whole keys, sorted by key and frame, as an Arrow stream."""

SENT_PARTIALS_BYTES = 256 << 20
"""Partials beyond this are not sent from the driver to the JVM, whose heap may be 1 GB."""


def sent(
    spark: SparkSession, job: tasks.Job, partials: pa.Table, starts: NDArray[np.intp], schema: t.StructType
) -> DataFrame:
    """The results of merged partials, made by tasks when they are asked for.

    Keys stay whole because each packet is one row to Spark, however it spreads rows over tasks.

    Parameters
    ----------
    spark
        A session of any kind.
    job
        What to compute.
    partials, starts
        As ``Plan.by_key`` gives them.
    schema
        What the DataFrame is to have.
    """
    ship(spark)
    # Each a task of its own, but through Connect, where the server shares them out.
    packets = pa.table({"ipc": pa.array(blobs_of(partials, starts), pa.binary())})
    with as_batches(spark, 1) if isinstance(spark, SparkSession) else nullcontext():
        rows = spark.createDataFrame(packets, schema=BLOBS)
    return rows.mapInArrow(task("slide", pack(job), SENDING), schema)


def blobs_of(partials: pa.Table, starts: NDArray[np.intp], rows: int = tasks.CHUNK_ROWS) -> list[bytes]:
    """Packets of about so many rows; of a key that has more, all of them."""
    edges = starts[np.searchsorted(starts, np.arange(0, len(partials), rows), side="left").clip(max=len(starts) - 1)]
    cuts = [*np.unique(np.append(edges, 0)).tolist(), len(partials)]
    return [to_ipc(partials.slice(first, last - first)) for first, last in itertools.pairwise(cuts)]


def run(stage: str, payload: bytes, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The one stage there is: packets to results; see ``tasks.run``."""
    job = tasks.job_in(payload)
    with worker_context():
        for batch in rows:
            for start in range(len(batch)):
                partials = from_ipc(batch.slice(start, 1), job.plan.partials_schema)
                for found in job.plan.results_in_pieces(partials):
                    yield from batches(cast_to(found, job.results))
