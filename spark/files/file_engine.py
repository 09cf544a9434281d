"""Queries over files: events that never pass through the JVM, or a DataFrame where they have to."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...runtime.plan.plan import Plan
from ..convert.names import check_result, spelt
from ..convert.partials_codec import PartialsCodec
from ..convert.types import arrow_schema, input_schema, output_schema
from ..engine import engine, explain, tasks
from ..input.ordering import column
from ..options import Options
from ..session import errors
from ..session.packaging import pack, ship, task
from .scan import ReadPlan, Scan
from .task_reader import Reading

READING = "files.task_reader"
"""The module with the functions of the tasks."""


def schema(scan: Scan, used: Sequence[str]) -> pa.Schema:
    """The schema of files; see ``types.input_schema``."""
    if scan.why_not(used) is not None:  # Spark reads them, and so says what they are
        return input_schema(dataframe(scan), used)
    return scan.schema


def why_a_dataframe(scan: Scan, plan: Plan, options: Options) -> str | None:
    """Why a query over files runs over a DataFrame of them; None where it does not."""
    if options.accumulate == "spark":
        return "Spark is to add events up by itself, accumulate='spark'"
    if plan.in_rows:
        return "the windows are counted in rows, and so need all events in their order"
    if plan.ordered:
        return "the order of events matters to an operation"
    return scan.why_not(plan.columns)


def run(scan: Scan, plan: Plan, options: Options) -> DataFrame:
    """Run a query over files; see :func:`framefold.spark.engine.engine.run`.

    Parameters
    ----------
    scan
        The files.
    query
        Bound to their schema.
    options
        Where to combine.
    """
    check_result(scan.spark, plan)
    if why_a_dataframe(scan, plan, options) is not None:
        return engine.run(dataframe(scan, plan.columns), plan, options)
    pipeline = FilePipeline(scan, plan)
    if options.combine == "executors":
        return pipeline.on_executors(pipeline.partials())
    try:
        if options.combine == "driver":
            return pipeline.on_driver(pipeline.packed())
        return pipeline.where_they_fit(options.max_driver_partials)
    except Exception as error:
        if not errors.raised_by_spark(error):
            raise
        with errors.reraise(dataframe(scan, plan.columns), plan):
            raise


class FilePipeline(engine.Pipeline):
    """One query over files that tasks read by themselves.

    Parameters
    ----------
    scan
        The files.
    query
        What to compute.
    """

    def __init__(self, scan: Scan, plan: Plan) -> None:
        self.plan = plan
        self.spark = scan.spark
        self.read_plan = scan.read_plan(plan.columns).with_dictionaries(plan.by)
        keys = [scan.kinds[name] for name in plan.by]
        self.schema = output_schema(plan.result_schema, [kind for kind in keys if kind is not None])
        self.job = tasks.Job(plan, PartialsCodec(plan.partials_schema, len(plan.by)), arrow_schema(self.schema))

    def partials(self) -> DataFrame:
        """The partials of every task, not yet merged across tasks, as rows that Spark can shuffle."""
        return started(self.spark, self.read_plan, "accumulate", self.job.wire.spark_schema, self.job)

    def packed(self, most: int | None = None) -> DataFrame:
        """The same in packets; a task that has more than its share of ``most`` sends an empty one and stops."""
        share = None if most is None else most // max(1, len(self.read_plan.tasks))
        return started(self.spark, self.read_plan, "accumulate_to_ipc", engine.BLOBS, self.job, share)

    def where_they_fit(self, bound: int) -> DataFrame:
        """Collect the partials if there is room for them, in one job; else read the files again on executors."""
        # Counting before collecting would be a job more, and what was read would have to be kept meanwhile.
        packets = self.packed(bound).toArrow()
        if not packets.column("ipc").null_count:
            result = self.of_driver(packets)
            if result is not None:
                return result
        return self.on_executors(self.partials())


def started(
    spark: SparkSession,
    read_plan: ReadPlan,
    stage: str,
    schema: t.StructType,
    job: tasks.Job | None,
    most: int | None = None,
) -> DataFrame:
    """A stage of tasks that read files: each gets its number, and nothing else."""
    ship(spark)
    count = len(read_plan.tasks)
    numbers = spark.range(0, count, 1, max(1, count))
    return numbers.mapInArrow(task(stage, pack(Reading(read_plan, job, most)), READING), schema)


def stages(scan: Scan, plan: Plan, options: Options) -> list[tuple[str, str]]:
    """Pairs of a stage of a query over files and where it runs, and why."""
    rows = explain.stages(scan.spark, plan, options)
    reason = why_a_dataframe(scan, plan, options)
    if reason is not None:
        by = "by tasks, handed to Spark" if not scan.by_jvm else f"by spark.read.{scan.files.format}"
        filtered = "" if scan.condition is None else f"; where {scan.condition}, in mapInArrow"
        return [("read", f"{by} as a DataFrame: {reason}{filtered}"), *rows]
    filtered = "" if scan.condition is None else f"; where {scan.condition}"
    read = f"on executors, with pyarrow, not through the JVM: {scan.read_plan(plan.columns).found}{filtered}"
    own = {"accumulate": "on executors, where the events are read: partials per task"}
    return [("read", read), *((stage, own.get(stage, text)) for stage, text in rows)]


def dataframe(scan: Scan, columns: Sequence[str] | None = None) -> DataFrame:
    """Files as a DataFrame, with some of their columns at least.

    Parquet and ORC are read by Spark. Arrow files it does not read, and CSV it takes for something else: these are read
    by tasks, and handed to it.
    """
    if not scan.by_jvm:
        usable = [name for name, kind in scan.kinds.items() if kind is not None]
        return handed_over(scan, usable if columns is None else _as_spelt(columns, usable))
    df = scan.by_spark
    if scan.condition is None:
        return df
    whole = input_schema(df, [])
    usable = [field.name for field in whole if not pa.types.is_null(field.type)]
    names = _as_spelt([*(usable if columns is None else columns), *scan.conditioned], whole.names)
    schema = input_schema(df, names)
    read_plan = ReadPlan("", None, pa.schema(map(schema.field, names)), tuple(names), scan.condition, (), "")
    # Under plain names: mapInArrow itself looks columns up by name, and stumbles over a dot in one.
    plain = df.select([column(name).alias(f"c{at}") for at, name in enumerate(names)])
    ship(scan.spark)
    return plain.mapInArrow(task("keep", pack(Reading(read_plan, None)), READING), plain.schema).toDF(*names)


def _as_spelt(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Columns as they are spelt where they are, each once."""
    return list(dict.fromkeys(spelt(name, known) for name in columns))


def handed_over(scan: Scan, names: Sequence[str]) -> DataFrame:
    """Some columns of files, read by tasks."""
    fields = [t.StructField(f"c{at}", scan.kinds[name] or t.NullType()) for at, name in enumerate(names)]
    return started(scan.spark, scan.read_plan(names), "hand_over", t.StructType(fields), None).toDF(*names)
