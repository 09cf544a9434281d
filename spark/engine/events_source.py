"""Partials that Python tasks make of the events of a DataFrame, in ``mapInArrow``."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.errors import PythonException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.plan.plan import Plan
from ...runtime.reporting import LOGGER, warn_of_nulls
from ..convert.names import under_plain_names
from ..convert.partials_codec import from_ipc
from ..input import row_numbers
from ..input.ordering import in_row_order, in_time_order
from ..session.conf_overrides import conf_overrides
from ..session.parallelism import parallelism
from ..session.settings import NO_BYTE_LIMIT
from ..session.staging import Task, stage
from ..tuning import BLOB_ROWS, PARTIALS_AT_ONCE
from . import tasks
from .combining import choose
from .decision import Decision
from .source import PartialRows, left_to_executors
from .tasks import COUNTED, FAILED

BLOBS = t.StructType(
    [t.StructField("place", t.LongType()), t.StructField("rows", t.LongType()), t.StructField("ipc", t.BinaryType())]
)
"""Partials of a task: its number in the upper half of a place that rises with their batch ranks, how many they are (by
:func:`~framefold.spark.engine.tasks.weight_of`), and an Arrow IPC stream of them."""

ON_TWO = StorageLevel(True, True, False, True, 2)
"""In memory or on disk, on two executors; where one is lost, Spark copies what it had to another."""

ONE_PROCESS = re.compile(r"local($|\[)")
"""Masters without executors of their own."""

PENDING_BYTES = 128 << 20
"""The partials that the driver unpacks before it merges them; those that are merged come on top."""


class TaskSource:
    """Events that tasks accumulate; see `PartialsSource`."""

    def __init__(self, job: tasks.Job, decision: Decision) -> None:
        self.job, self.sort, self.in_rounds = job, decision.sort, decision.in_rounds
        self.blobs: DataFrame | None = None
        self.persisted: list[DataFrame] = []

    def collect(self, limit: int | None) -> Partials | None:
        blobs = self._staged(tasks.accumulate_to_ipc, None, schema=BLOBS, failed=tasks.failed)
        if limit is not None:
            # Persisted and not checkpointed: what a lost executor had of it is computed again.
            self.blobs = blobs = self._persist(blobs)
        with conf_overrides(blobs.sparkSession, NO_BYTE_LIMIT):
            return collect(blobs, self.job, limit, self.in_rounds)

    def distribute(self) -> PartialRows:
        schema = self.job.codec.spark_schema
        if self.blobs is None:
            df = self._staged(tasks.accumulate, schema=schema)
        else:
            rows = materialize(self.blobs) if self.sort == "rows" else self.blobs
            df = stage(rows, tasks.from_blobs, self.job, schema=schema)
        return PartialRows(df, tasks.slide, ("frame", "batch_rank"))

    def release(self, result: DataFrame | None) -> None:
        for df in self.persisted:
            release(df, None if self.sort == "rows" else result)  # of rows a checkpoint is read

    def _persist(self, df: DataFrame) -> DataFrame:
        self.persisted.append(df.persist())
        return self.persisted[-1]

    def _staged(self, function: Task, *given: object, schema: t.StructType, failed: Task | None = None) -> DataFrame:
        """What a function of tasks gives of the events, lazily; only its blobs are used at once."""
        raise NotImplementedError


class EventsSource(TaskSource):
    """The events of a DataFrame; see `PartialsSource`."""

    def __init__(self, df: DataFrame, job: tasks.Job, decision: Decision) -> None:
        super().__init__(job, decision)
        self.events = under_plain_names(df, job.plan.columns)

    def _staged(self, function: Task, *given: object, schema: t.StructType, failed: Task | None = None) -> DataFrame:
        events = self._events(checkpoint=schema is not BLOBS)  # blobs are read before what is persisted is gone
        return stage(events, function, self.job, *given, schema=schema, failed=failed)

    def _events(self, *, checkpoint: bool) -> DataFrame:
        """The events in the order in which tasks need them, with row numbers if windows are counted in rows.

        Row numbers hold for the partitions that were counted, so these are kept. A DataFrame derived from the result
        may be used after the result, and what it persists, are gone; a checkpoint is kept as long as anything reads it.
        """
        plan = self.job.plan
        (time,), keys, ties = map(self._names, ([plan.time], plan.by, plan.ties))
        if self.sort is None:
            return self.events
        if self.sort == "time":
            return in_time_order(self.events, time, keys, ties, plan.axis.block)
        ordered = in_row_order(self._with_times(self.events), time, keys, ties)
        ordered = materialize(ordered) if checkpoint else self._persist(ordered)
        schema = row_numbers.ends_schema([ordered.schema[name] for name in keys])
        counted = stage(ordered.select(keys or f.lit(0)), row_numbers.ends, len(keys), schema=schema)
        self.job = replace(self.job, offsets=row_numbers.offsets(counted.toArrow()))
        return ordered

    def _with_times(self, events: DataFrame) -> DataFrame:
        """The events that have a time, where others are dropped."""
        (time,) = self._names([self.job.plan.time])
        return events.where(f.col(time).isNotNull()) if self.job.plan.null_time == "drop" else events

    def _names(self, columns: Sequence[str]) -> list[str]:
        return [f"c{self.job.plan.columns.index(name)}" for name in columns]


def collect(blobs: DataFrame, job: tasks.Job, limit: int | None, in_rounds: bool) -> Partials | None:
    """The partials of tasks on the driver; None where executors are to have them.

    Parameters
    ----------
    blobs
        Of :data:`BLOBS`; persisted, where there is a limit.
    job
        Of the tasks.
    limit
        The most partials that come to the driver; None where all do.
    in_rounds
        Whether other tasks may merge partials of several tasks first.
    """
    if limit is None:
        return merged(job.plan, received(blobs, job.plan))
    # Each of a rising number of tasks may send less: together few, however many tasks there are.
    place, rows = f.col("place"), f.col("rows")
    before = (place.bitwiseAND((1 << 32) - 1) * BLOB_ROWS + rows) * (f.shiftright(place, 32) + 1)
    few = f.when(before <= min(limit, PARTIALS_AT_ONCE), f.col("ipc"))
    found = received(blobs.select(place, rows, few.alias("ipc")), job.plan)
    places, partials = (found.column(name).to_numpy() for name in ("place", "rows"))
    counts = np.bincount(np.unique(places >> 32, return_inverse=True)[1], partials).astype(np.int64).tolist()
    chosen = choose(counts, limit, parallelism(blobs.sparkSession), rounds=in_rounds)
    LOGGER.info("%s partials of %s tasks: %s", f"{sum(counts):,}", f"{len(counts):,}", chosen.words)
    if chosen.way == "driver":
        return merged(job.plan, received(blobs) if found.column("ipc").null_count else found)
    if chosen.way == "executors":
        left_to_executors(f"max_driver_partials={limit} is not enough")
        return None
    found = received(first_by_tasks(blobs, job, chosen.tasks, limit))
    if found.column("ipc").null_count:
        left_to_executors(f"max_driver_partials={limit} is not enough for what tasks have merged")
        return None
    return merged(job.plan, found)


def first_by_tasks(blobs: DataFrame, job: tasks.Job, count: int, limit: int) -> DataFrame:
    """Partials of tasks, merged by ``count`` other tasks: each merges neighbours; a null where too many are left."""
    ranges = blobs.repartitionByRange(count, "place").sortWithinPartitions("place")  # in the order of their batches
    return stage(ranges, tasks.merge_blobs, job, limit // count, schema=BLOBS, failed=tasks.failed)


def received(blobs: DataFrame, plan: Plan | None = None) -> pa.Table:
    """IPC blobs on the driver; it warns of a plan's events that tasks have dropped.

    Raises
    ------
    PythonException
        If a task has sent the report of an error instead, as Spark raises it where a task fails.
    """
    found = blobs.toArrow()
    reports = found.filter(pc.equal(found.column("rows"), FAILED)).column("ipc")
    if len(reports):
        raise PythonException(f"An exception was thrown from the Python worker:\n{reports[0].as_py().decode()}")
    counted = pc.equal(found.column("rows"), COUNTED)
    counts = [np.frombuffer(each.as_py(), np.int64) for each in found.column("ipc").filter(counted)]
    if counts and plan is not None:
        warn_of_nulls(plan, *np.sum(counts, axis=0).tolist())
    return found.filter(pc.invert(counted)) if counts else found


def merged(plan: Plan, blobs: pa.Table) -> Partials:
    """The partials in blobs, merged as they are unpacked: as many bytes at a time as are merged already, or more."""
    held, pending = [Partials.none(plan)], 0
    for batch in blobs.to_batches(max_chunksize=1):
        held.append(Partials(plan, from_ipc(batch, plan.partials_schema)))
        pending += held[-1].table.nbytes
        if pending > max(PENDING_BYTES, held[0].table.nbytes):
            held, pending = [merge(held)], 0
    return merge(held)


def materialize(df: DataFrame) -> DataFrame:
    """The rows of a DataFrame, computed now, the same ones as long as anything reads them, also without an executor.

    Computed again, Spark would cut them into partitions elsewhere. A checkpoint drops what they were made of: it is in
    the folder of the session's checkpoints, if it has one; else two executors have each row, if there are two.
    """
    conf = df.sparkSession.conf
    if conf.get("spark.checkpoint.dir", None):
        return df.checkpoint()
    if ONE_PROCESS.match(conf.get("spark.master", None) or ""):
        return df.localCheckpoint()
    return df.localCheckpoint(storageLevel=ON_TWO)


def release(df: DataFrame, result: DataFrame | None) -> None:
    """Unpersist a DataFrame: now, or once nobody has the result any more that reads it."""
    if result is None:
        df.unpersist()
    else:
        weakref.finalize(result, unpersist, df).atexit = False


def unpersist(df: DataFrame) -> None:
    """Unpersist in a thread of its own: the garbage collector may ask for it in the middle of a call to Spark."""

    def run() -> None:
        with suppress(Exception):  # the session has ended, and what it held with it
            df.unpersist()

    threading.Thread(target=run, daemon=True).start()
