"""The engine of files on Spark: tasks read them where they can, so that no event passes through the JVM."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...aggregators.errors import QueryError
from ...runtime.explain import Explanation, explain
from ...runtime.plan.plan import Plan
from ...runtime.reporting import LOGGER
from ..convert.names import check_result, spelt, under_plain_names
from ..convert.types import input_schema, output_schema
from ..engine import driver
from ..engine.decision import Decision, decide, reader
from ..engine.engine import DataFrameEngine, run, source_of
from ..engine.explain import stages
from ..engine.source import PartialsSource
from ..engine.tasks import Job
from ..options import Options
from ..session.errors import reraise
from ..session.staging import stage
from . import task_reader
from .scan import ReadPlan, Scan
from .scan_source import ScanSource, read_by_tasks


class FileEngine(DataFrameEngine):
    """Queries over files.

    Parameters
    ----------
    scan
        The files, and the condition that their events meet.
    """

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    @cached_property
    def df(self) -> DataFrame:  # type: ignore[override]  # made on first use
        """The files as a DataFrame."""
        return dataframe(self.scan)

    @property
    def spark(self) -> SparkSession:
        return self.scan.spark

    def schema(self, used: Sequence[str]) -> pa.Schema:
        self.scan.require_types(used)
        by_spark = self.scan.why_not(used) is not None  # Spark reads them, and so says what they are
        found = input_schema(self.df, used) if by_spark else self.scan.schema
        return self.scan.with_zones(self.scan.with_orders(found, used))

    def run(self, plan: Plan, options: Options, labels: pa.Table | None = None) -> DataFrame:
        decision, scan = self._decide(plan, options), self.scan
        read = decision.read
        if read is not None and read.by == "spark":
            asked = options.read == "spark" or options.accumulate == "spark"
            LOGGER.log(logging.INFO if asked else logging.WARNING, "Spark reads the files, not tasks: %s", read.why)
            return run(dataframe(scan, plan.columns), plan, decision, labels)
        if LOGGER.isEnabledFor(logging.INFO):
            LOGGER.info("the events are read %s", self._read(plan, decision))
        keys = [scan.kinds[name] for name in plan.result_keys]
        schema = output_schema(plan.result_schema, [kind for kind in keys if kind is not None])
        job = Job(plan, schema, decision.blocks).trusting()
        with reraise(scan.spark, lambda: dataframe(scan, plan.columns), plan):
            return driver.run(scan.spark, ScanSource(scan, job, decision), job, decision, labels)

    def partials(self, job: Job, options: Options) -> tuple[PartialsSource, Decision]:
        decision = self._decide(job.plan, options)
        if decision.read is not None and decision.read.by == "spark":
            return source_of(dataframe(self.scan, job.plan.columns), job, decision), decision
        return ScanSource(self.scan, job, decision), decision

    def explain(self, plan: Plan, options: Options) -> Explanation:
        if plan.axis.beside == "event":
            return super().explain(plan, options)
        decision = self._decide(plan, options)
        return explain(plan, "Spark", [("read", self._read(plan, decision)), *stages(plan, decision)])

    def where(self, condition: object) -> FileEngine:
        return FileEngine(self.scan.where(condition))

    def _decide(self, plan: Plan, options: Options) -> Decision:
        check_result(self.scan.spark, plan)
        return decide(plan, options, reader(plan, options, self.scan.why_not(plan.columns)))

    def _read(self, plan: Plan, decision: Decision) -> str:
        scan = self.scan
        assert decision.read is not None
        by, why = decision.read
        where = "" if scan.condition is None else f"; where {scan.condition}"
        if by == "tasks":
            return f"on executors, with pyarrow, {why}: {scan.read_plan(plan.columns).found}{where}"
        by_spark = scan.by_jvm and not handed_over(scan, plan.columns)
        how = f"by spark.read.{scan.files.format}" if by_spark else "by tasks, handed to Spark"
        return f"{how} as a DataFrame: {why}{where and where + ', in mapInArrow'}"


def dataframe(scan: Scan, columns: Sequence[str] | None = None) -> DataFrame:
    """Files as a DataFrame, with some of their columns at least.

    Raises
    ------
    QueryError
        If only Spark can read the files, and would take a column's name for another.
    """
    if not scan.by_jvm or handed_over(scan, columns or ()):
        usable = [name for name, kind in scan.kinds.items() if kind is not None]
        names = usable if columns is None else as_spelt(columns, usable)
        fields = [t.StructField(f"c{at}", scan.kinds[name] or t.NullType()) for at, name in enumerate(names)]
        read_plan = scan.read_plan(names)
        return read_by_tasks(scan.spark, task_reader.hand_over, read_plan, schema=t.StructType(fields)).toDF(*names)
    df = scan.by_spark
    if scan.condition is None:
        return df
    whole = input_schema(df, [])
    usable = [field.name for field in whole if not pa.types.is_null(field.type)]
    names = as_spelt([*(usable if columns is None else columns), *scan.conditioned], whole.names)
    schema = input_schema(df, names)
    read_plan = ReadPlan("", None, pa.schema(map(schema.field, names)), tuple(names), scan.condition, (), "")
    plain = under_plain_names(df, names)
    return stage(plain, task_reader.keep, read_plan, schema=plain.schema).toDF(*names)


def handed_over(scan: Scan, columns: Sequence[str]) -> bool:
    """Whether tasks read files for Spark, whose own readers would take a name for another."""
    odd = substituted([*columns, *scan.conditioned])
    reason = None if odd is None else scan.why_not(columns)
    if reason is not None:
        raise QueryError(
            f"only Spark can read the files ({reason}), and its readers put the value of a setting or a variable in "
            f"place of ${{...}} in the name of the column {odd!r}; expected another name"
        )
    return odd is not None


def substituted(columns: Sequence[str]) -> str | None:
    """The first name with ``${...}``, in whose place Spark's readers of Parquet and ORC put the value of a setting."""
    return next((name for name in columns if "${" in name), None)


def as_spelt(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Columns as they are spelt where they are, each once."""
    return list(dict.fromkeys(spelt(name, names) for name in columns))
