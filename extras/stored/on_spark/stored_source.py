"""Stored partials as partials of a query on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ....runtime.partials.partials import Partials
from ....runtime.plan.plan import Plan
from ....spark.engine import tasks
from ....spark.engine.source import PartialRows, left_to_executors
from ....spark.session.staging import stage
from ..asked import Asked
from ..commits import StoredFile
from ..layout import Layout
from ..table import Table, in_parts

TASK_ROWS = 1 << 20
"""The rows of files that one task reads."""


@dataclass(frozen=True)
class StoredRows:
    """The rows of some files.

    Parameters
    ----------
    table, layout
        Whose files they are.
    files
        In parts, one a task.
    asked
        The windows that are wanted; None: all.
    """

    table: Table
    layout: Layout
    files: Sequence[Sequence[StoredFile]]
    asked: Asked | None = None

    @classmethod
    def of(cls, table: Table, layout: Layout, files: Sequence[StoredFile], plan: Plan, asked: Asked | None) -> Self:
        """Files for a query: where its events have an order, one task puts together what one frame is made of."""
        return cls(table, layout, in_parts(files, TASK_ROWS) if files and not plan.ordered else [files], asked)

    def numbers(self, spark: SparkSession) -> DataFrame:
        """The numbers of the parts, each in a task of its own."""
        count = len(self.files)
        return spark.range(0, count, 1, max(1, count))

    def partials(self, plan: Plan, *parts: int) -> Partials:
        """The partials of some parts, merged, in the frames of a query."""
        files = [file for part in parts for file in self.files[part]]
        return self.table.partials(self.layout, files, plan, self.asked)


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
        rows = stage(self.rows.numbers(self.spark), read, self.rows, self.job, schema=self.job.codec.spark_schema)
        return PartialRows(rows, tasks.slide, ("frame", "batch_rank"))

    def release(self, result: DataFrame | None) -> None:
        """Nothing is persisted."""


def read(rows: StoredRows, job: tasks.Job, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The parts of files whose numbers come, as rows that Spark can shuffle."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from tasks.to_rows(job, [rows.partials(job.plan, number)])
