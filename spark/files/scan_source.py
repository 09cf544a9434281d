"""Partials that tasks make of the files that they read."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...runtime.partials.partials import Partials
from ..engine import tasks
from ..engine.events_source import BLOBS, collect, merged, received, release
from ..engine.source import PartialRows, left_to_executors
from ..session.staging import Task, stage
from ..tuning import MIN_SHARE
from . import task_reader
from .scan import ReadPlan, Scan


class ScanSource:
    """The events of the files of a scan; see `PartialsSource`."""

    def __init__(self, scan: Scan, job: tasks.Job) -> None:
        self.spark, self.job = scan.spark, job
        self.read_plan = scan.read_plan(job.plan.columns).with_dictionaries(job.plan.by)
        self.blobs: DataFrame | None = None

    def collect(self, limit: int | None) -> Partials | None:
        # A few tasks have a share each, and send a null if they have more: counting first would be another job.
        share = None if limit is None else limit // max(1, len(self.read_plan.tasks))
        function, many = task_reader.accumulate_to_ipc, share is not None and share < MIN_SHARE
        share = None if many else share
        blobs = read_by_tasks(self.spark, function, self.read_plan, self.job, share, schema=BLOBS, failed=tasks.failed)
        if many:
            self.blobs = blobs = blobs.persist()
            return collect(blobs, self.job, limit, in_rounds=True)
        found = received(blobs)
        if found.column("ipc").null_count:
            left_to_executors(f"max_driver_partials={limit} is not enough")
            return None
        return merged(self.job.plan, found)

    def distribute(self) -> PartialRows:
        schema = self.job.codec.spark_schema
        if self.blobs is None:
            df = read_by_tasks(self.spark, task_reader.accumulate, self.read_plan, self.job, schema=schema)
        else:
            df = stage(self.blobs, tasks.from_blobs, self.job, schema=schema)
        return PartialRows(df, tasks.slide, ("frame", "batch_rank"))

    def release(self, result: DataFrame | None) -> None:
        if self.blobs is not None:
            release(self.blobs, result)


def read_by_tasks(
    spark: SparkSession,
    function: Task,
    read_plan: ReadPlan,
    *arguments: object,
    schema: t.StructType,
    failed: Task | None = None,
) -> DataFrame:
    """A function of tasks that read files: each is given its number, and nothing else."""
    count = len(read_plan.tasks)
    return stage(spark.range(0, count, 1, max(1, count)), function, read_plan, *arguments, schema=schema, failed=failed)
