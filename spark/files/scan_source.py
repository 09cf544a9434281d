"""Partials that tasks make of the files that they read."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...runtime.partials.merge import Partials
from ..convert.partials_codec import from_ipc
from ..engine import tasks
from ..engine.events_source import BLOBS
from ..engine.source import PartialRows
from ..session.packaging import Task, stage
from . import task_reader
from .scan import ReadPlan, Scan


class ScanSource:
    """The events of the files of a scan; see `PartialsSource`."""

    def __init__(self, scan: Scan, job: tasks.Job) -> None:
        self.spark, self.job = scan.spark, job
        self.read_plan = scan.read_plan(job.plan.columns).with_dictionaries(job.plan.by)

    def collect(self, limit: int | None) -> Partials | None:
        # Each task has its share, and sends a null if it has more: counting first would be another job.
        share = None if limit is None else limit // max(1, len(self.read_plan.tasks))
        function = task_reader.accumulate_to_ipc
        found = read_by_tasks(self.spark, function, self.read_plan, self.job, share, schema=BLOBS).toArrow()
        return None if found.column("ipc").null_count else Partials(from_ipc(found, self.job.plan.partials_schema))

    def distribute(self) -> PartialRows:
        schema = self.job.codec.spark_schema
        df = read_by_tasks(self.spark, task_reader.accumulate, self.read_plan, self.job, schema=schema)
        return PartialRows(df, tasks.slide, ("frame", "batch_rank"))

    def release(self, result: DataFrame | None) -> None:
        pass


def read_by_tasks(
    spark: SparkSession, function: Task, read_plan: ReadPlan, *arguments: object, schema: t.StructType
) -> DataFrame:
    """A function of tasks that read files: each is given its number, and nothing else."""
    count = len(read_plan.tasks)
    return stage(spark.range(0, count, 1, max(1, count)), function, read_plan, *arguments, schema=schema)
