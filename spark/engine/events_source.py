"""Partials that Python tasks make of the events of a DataFrame, in ``mapInArrow``."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...runtime.partials.merge import Partials
from ..convert.names import column
from ..convert.partials_codec import from_ipc
from ..input import row_numbers
from ..input.ordering import in_row_order, in_time_order
from ..session.packaging import stage
from . import tasks
from .decision import Decision
from .source import PartialRows

BLOBS = t.StructType([t.StructField("rows", t.LongType()), t.StructField("ipc", t.BinaryType())])
"""Partials sent to the driver: their number, and an Arrow IPC stream of them."""


class EventsSource:
    """The events of a DataFrame; see `PartialsSource`."""

    def __init__(self, df: DataFrame, job: tasks.Job, decision: Decision) -> None:
        # Under plain names: mapInArrow looks columns up by name, and fails at a dot in one.
        self.events = df.select([column(name).alias(f"c{at}") for at, name in enumerate(job.plan.columns)])
        self.job, self.sort = job, decision.sort
        self.blobs: DataFrame | None = None
        self.persisted: list[DataFrame] = []

    def collect(self, limit: int | None) -> Partials | None:
        events = self._events(checkpoint=False)
        blobs = stage(events, tasks.accumulate_to_ipc, self.job, None, schema=BLOBS)
        if limit is not None:
            # Persisted and not checkpointed: a local checkpoint drops its lineage, so that a lost executor fails the
            # query, while a persisted partition is computed again.
            self.blobs = blobs = self._persist(blobs)
            if sum(blobs.select("rows").toArrow().column("rows").to_pylist()) > limit:
                return None
        return Partials(from_ipc(blobs.toArrow(), self.job.plan.partials_schema))

    def distribute(self) -> PartialRows:
        if self.blobs is None:
            rows, function = self._events(checkpoint=True), tasks.accumulate
        else:
            rows = self.blobs.localCheckpoint() if self.sort == "rows" else self.blobs
            function = tasks.from_blobs
        df = stage(rows, function, self.job, schema=self.job.codec.spark_schema)
        return PartialRows(df, tasks.slide, ("frame", "batch_rank"))

    def release(self, result: DataFrame | None) -> None:
        for df in self.persisted:
            if result is None or self.sort == "rows":  # a checkpoint is read
                df.unpersist()
            else:
                weakref.finalize(result, unpersist, df).atexit = False

    def _persist(self, df: DataFrame) -> DataFrame:
        self.persisted.append(df.persist())
        return self.persisted[-1]

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
        events = self.events.where(f.col(time).isNotNull()) if plan.null_time == "drop" else self.events
        ordered = in_row_order(events, time, keys, ties)
        ordered = ordered.localCheckpoint() if checkpoint else self._persist(ordered)
        schema = row_numbers.ends_schema([ordered.schema[name] for name in keys])
        counted = stage(ordered.select(keys or f.lit(0)), row_numbers.ends, len(keys), schema=schema)
        self.job = replace(self.job, offsets=row_numbers.offsets(counted.toArrow()))
        return ordered

    def _names(self, columns: Sequence[str]) -> list[str]:
        return [f"c{self.job.plan.columns.index(name)}" for name in columns]


def unpersist(df: DataFrame) -> None:
    """Unpersist in a thread of its own: the garbage collector may ask for it in the middle of a call to Spark."""

    def run() -> None:
        with suppress(Exception):  # the session has ended, and what it held with it
            df.unpersist()

    threading.Thread(target=run, daemon=True).start()
