"""Stored partials as partials of a query on Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ....runtime.partials.partials import Partials
from ....spark.engine import tasks
from ....spark.engine.source import PartialRows, left_to_executors
from ....spark.session.staging import stage, tasks_of
from ..stored_rows import StoredRows


class StoredSource:
    """The stored partials of a query; see `PartialsSource`."""

    def __init__(self, spark: SparkSession, job: tasks.Job, rows: StoredRows) -> None:
        self.spark, self.job, self.rows = spark, job, rows

    def collect(self, limit: int | None) -> Partials | None:
        count = sum(each.rows for part in self.rows.files for each in part)
        if limit is not None and count > limit:
            left_to_executors(f"max_driver_partials={limit} is not enough for the {count} that are stored")
            return None
        return self.rows.partials(self.job.plan, *range(len(self.rows.files)))

    def distribute(self) -> PartialRows:
        rows = stage(
            tasks_of(self.spark, len(self.rows)), read, self.rows, self.job, schema=self.job.codec.spark_schema
        )
        return PartialRows(rows, tasks.slide, ("frame", "batch_rank"))

    def release(self, result: DataFrame | None) -> None:
        """Nothing is persisted."""


def read(rows: StoredRows, job: tasks.Job, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The parts of files whose numbers come, as rows that Spark can shuffle."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from tasks.to_rows(job, [rows.partials(job.plan, number)])
