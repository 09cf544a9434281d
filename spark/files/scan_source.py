"""Partials that tasks make of the files that they read."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...runtime.partials.partials import Partials
from ..engine import tasks
from ..engine.decision import Decision
from ..engine.events_source import BLOBS, TaskSource, merged, received
from ..engine.source import left_to_executors
from ..session.staging import Task, stage, tasks_of
from ..tuning import MIN_SHARE
from .scan import ReadPlan, Scan
from .task_reader import with_own_events


class ScanSource(TaskSource):
    """The events of the files of a scan; see `PartialsSource`."""

    def __init__(self, scan: Scan, job: tasks.Job, decision: Decision) -> None:
        super().__init__(job, decision)
        self.spark = scan.spark
        self.read_plan = scan.read_plan(job.plan.columns).with_dictionaries(job.plan.by)

    def collect(self, limit: int | None) -> Partials | None:
        # A few tasks have a share each, and send a null if they have more: counting first would be another job.
        share = None if limit is None else limit // max(1, len(self.read_plan.tasks))
        if share is not None and share < MIN_SHARE:
            return super().collect(limit)
        blobs = self._staged(tasks.accumulate_to_ipc, share, schema=BLOBS, failed=tasks.failed)
        found = received(blobs, self.job.plan)
        if found.column("ipc").null_count:
            left_to_executors(f"max_driver_partials={limit} is not enough")
            return None
        return merged(self.job.plan, found)

    def _staged(self, function: Task, *given: object, schema: t.StructType, failed: Task | None = None) -> DataFrame:
        arguments = function, self.job, *given
        return read_by_tasks(self.spark, with_own_events, self.read_plan, *arguments, schema=schema, failed=failed)


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
    return stage(tasks_of(spark, count), function, read_plan, *arguments, schema=schema, failed=failed)
