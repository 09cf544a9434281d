"""The engine of DataFrames: Spark in, Spark out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession

from ...aggregators.contract.column_expressions import kind_of
from ...aggregators.errors import EngineError, QueryError, excerpt
from ...runtime.columns.field_types import type_of
from ...runtime.explain import Explanation, explain
from ...runtime.expressions.text import Expr
from ...runtime.plan.plan import Plan
from ...runtime.sources.computed import INPUT
from ...runtime.sources.conditions import WHERE
from ...runtime.sources.files import one_line
from ...runtime.sources.struct_fields import struct_paths
from ..convert.expressions import in_spark, parsed
from ..convert.names import check_result, column, type_in
from ..convert.types import collected, input_schema, output_schema
from ..options import Options
from ..session.errors import reraise, stopped_named
from ..session.filtered import filtered
from . import driver
from .beside import beside_events
from .decision import Decision, decide
from .events_source import EventsSource
from .explain import IN_WHOLE_KEYS, stages
from .few_events import FewEventsSource, RowsSource
from .readable import require_readable
from .source import PartialsSource
from .sql_source import SqlSource
from .tasks import Job


class DataFrameEngine:
    """Queries over a DataFrame, classic or Connect.

    Parameters
    ----------
    df
        The events.
    """

    def __init__(self, df: DataFrame) -> None:
        self.df = df

    def schema(self, used: Sequence[str]) -> pa.Schema:
        with stopped_named():
            return input_schema(self.df, used)

    def run(self, plan: Plan, options: Options, labels: pa.Table | None = None) -> DataFrame:
        """The results of a plan, sorted by key and window, or by key and ``at``; or labels with these beside them.

        Raises
        ------
        FramefoldError
            What the plan runs into (null times, overflow, a faulty operation), with ``combine`` ``"driver"`` and
            ``"auto"``; with ``"executors"`` its sentence is in the exception that Spark raises when the result is used.
        """
        with stopped_named():
            return run(self.df, plan, self._decide(plan, options), labels)

    def beside(self, plan: Plan, options: Options, rows: Sequence[str] | pa.Table) -> DataFrame:
        """Events, or labels, with the outputs of a plan beside them; those of events are computed when they are used.

        Errors of the plan are raised as by :meth:`run`, those of events in the exception of Spark's.
        """
        if isinstance(rows, pa.Table):
            return self.run(plan, options, rows)
        with stopped_named():
            return beside_events(self.df, plan, rows)

    def explain(self, plan: Plan, options: Options) -> Explanation:
        if plan.axis.beside == "event":
            return explain(plan, "Spark", IN_WHOLE_KEYS)
        return explain(plan, "Spark", stages(plan, self._decide(plan, options)))

    def of(self, df: DataFrame) -> DataFrameEngine:
        """The engine of what was made of the events."""
        return DataFrameEngine(df)

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.df.sparkSession

    def partials(self, job: Job, options: Options) -> tuple[PartialsSource, Decision]:
        """What makes the partials of a query, and the decision for it."""
        decision = self._decide(job.plan, options)
        return source_of(self.df, job, decision), decision

    def with_fields(self, names: Sequence[str]) -> DataFrameEngine:
        dotted = [name for name in names if "." in name]
        if not dotted or {*dotted} <= {*self.df.columns}:
            return self
        paths = struct_paths(input_schema(self.df, ()), names)
        added = [reduce(Column.getField, path[1:], column(path[0])).alias(name) for name, path in paths.items()]
        return self.of(self.df.select("*", *added)) if added else self

    def where(self, condition: Any) -> DataFrameEngine:
        if isinstance(condition, (str, Expr)):
            condition = parsed(condition) if isinstance(condition, str) else condition
            condition = self.column_of(condition, WHERE, of_truth=True)
        if not isinstance(condition, Column):
            kind = type(condition)
            raise QueryError(
                f"where() of a DataFrame is given a {kind.__module__}.{kind.__name__}; expected SQL as "
                "ff.expr has it, or a Spark column such as functions.col('x') > 0"
            )
        try:
            return self.of(filtered(self.df, condition))
        except AnalysisException as error:
            raise QueryError(
                f"the condition {excerpt(condition)} of where() does not fit the DataFrame: {reason(error)}"
            ) from error

    def with_columns(self, expressions: Mapping[str, Any]) -> DataFrameEngine:
        df = self.df
        for name, each in expressions.items():
            if isinstance(each, Expr):
                each = self.column_of(each, INPUT)
            if not isinstance(each, Column):
                raise QueryError(
                    f"the input {name} is {kind_of(each)}, and the events are on Spark; expected ff.expr('x * 2'), or "
                    "a Spark column such as functions.col('x') * 2"
                )
            try:
                df = df.withColumn(name, each)
                df.schema  # noqa: B018  # through Connect, only this analyses the column
            except AnalysisException as error:
                raise QueryError(f"the input {excerpt(name)} does not fit the DataFrame: {reason(error)}") from error
        return self.of(df)

    def first_events(self, names: Sequence[str], time: str, most: int) -> tuple[pa.Table, bool]:
        if self.df.isStreaming:
            raise EngineError(
                "draw() is given a stream; expected events that are there, such as some that were written"
            )
        engine = self.with_fields(names)
        type_of(engine.schema(names), time, "time=")
        some = engine.df.where(column(time).isNotNull()).orderBy(column(time)).limit(most + 1)
        return collected(some, names), False

    def column_of(self, expression: Expr, user: str, *, of_truth: bool = False) -> Column:
        """The column of an ff.expr."""
        names = [name for path in expression.columns for name in (".".join(path), path[0])]
        known = {*self.df.columns}
        schema = self.schema([name for name in names if name in known])
        return in_spark(expression, schema, user, of_truth=of_truth)

    def without_time(self, time: str) -> DataFrame:
        engine = self.with_fields([time])
        type_of(engine.schema([time]), time, "time=")
        some = engine.df.where(column(time).isNull())
        return some if engine is self else some.drop(column(time))

    def _decide(self, plan: Plan, options: Options) -> Decision:
        check_result(self.spark, plan)
        return decide(plan, options)


def run(df: DataFrame, plan: Plan, decision: Decision, labels: pa.Table | None = None) -> DataFrame:
    """The results of a plan over a DataFrame; see `DataFrameEngine.run`."""
    schema = output_schema(plan.result_schema, [type_in(df, name) for name in plan.result_keys])
    if decision.combine == "executors":
        require_readable(df, plan.columns)
    job = Job(plan, schema, decision.blocks).trusting()
    with reraise(df.sparkSession, lambda: df, plan):
        return driver.run(df.sparkSession, source_of(df, job, decision), job, decision, labels)


def source_of(df: DataFrame, job: Job, decision: Decision) -> PartialsSource:
    """What makes the partials of a query over a DataFrame."""
    if decision.sort == "rows" and decision.gathers:
        return RowsSource(df, job, decision)
    source: PartialsSource = (
        SqlSource(df, job) if decision.accumulate.by == "spark" else EventsSource(df, job, decision)
    )
    return FewEventsSource(df, job, source) if decision.gathers else source


def reason(error: Exception) -> str:
    """What Spark says, without the plan that follows it."""
    return one_line(error).partition(". SQLSTATE:")[0]
