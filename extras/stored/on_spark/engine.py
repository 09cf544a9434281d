"""Stored partials on Spark: runs of events that tasks write, results of windows over them as a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ....aggregators.errors import EngineError
from ....runtime.partials.merge import merge
from ....runtime.partials.partials import Partials
from ....runtime.plan.plan import Plan
from ....spark.convert.names import check_result, column
from ....spark.convert.types import output_schema, to_spark
from ....spark.engine import driver, tasks
from ....spark.engine.decision import Decision, decide
from ....spark.engine.engine import DataFrameEngine
from ....spark.engine.source import PartialsSource
from ....spark.engine.tasks import Job
from ....spark.options import Options
from ....spark.session.errors import reraise, stopped_named
from ....spark.session.staging import stage
from ..asked import Asked
from ..commits import Run, StoredFile, checked
from ..layout import Layout
from ..stored_rows import StoredRows
from ..stored_types import SAID
from ..table import Span, Table, Written
from .stored_source import StoredSource

DRIVER_PARTIALS = Options.max_driver_partials
"""The most partials that the driver writes."""

HELD_BY = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}
"""The types of Spark that hold all values of others."""

WHOLE = {"float": 2**24, "double": 2**53}
"""Up to which number floats hold all whole numbers."""

DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The most digits of integers."""

WRITTEN = t.StructType([t.StructField("files", t.StringType()), t.StructField("events", t.LongType())])
"""What a task has written, as a row."""


def results(
    spark: SparkSession, table: Table, layout: Layout, files: Sequence[StoredFile], plan: Plan, asked: Asked | None
) -> DataFrame:
    """The results of a plan over the rows of some files, sorted by key and window."""
    with stopped_named():
        check_result(spark, plan)
        decision = decide(plan, Options())
        job = job_of(plan)
        job = replace(job, blocks=decision.blocks if asked is None else None, wanted=asked).trusting()
        source = StoredSource(spark, job, StoredRows.of(table, layout, files, plan, asked))
        with reraise(spark, lambda: spark.range(0).toDF(plan.time), plan):
            return driver.run(spark, source, job, replace(decision, sort=None))


def append(engine: DataFrameEngine, table: Table, layout: Layout, run: str, within: Span | None = None) -> Run:
    """Add the partials of events to a table as a run: from the driver where they are few, else tasks write them.

    With ``within`` they are instead of the frames between two ticks.
    """
    job = job_of(layout.plan).trusting()
    with partials_of(engine, job, Options(max_driver_partials=DRIVER_PARTIALS)) as (source, decision):
        partials = driver.collected(source, decision)
        if partials is not None:
            return table.append(layout, partials, run, within)
    with partials_of(engine, job, Options(accumulate="python")) as (source, _):
        return table.commit(layout, written_by_tasks(source, job, table, layout, run, within), run, within)


def in_types(engine: DataFrameEngine, types: Mapping[str, pa.DataType]) -> DataFrameEngine:
    """Events with some columns in other types, which hold their values.

    EngineError where a type does not hold all values of a column's own. Exception: whole numbers become floats, and
    numbers that floats do not hold are an EngineError as they are read.
    """
    given, kinds = engine.df.schema, dict[str, Column]()
    for name, type in types.items():
        own, kind = given[name].dataType, to_spark(type)
        if own == kind:  # the same to Spark: long texts, other units of time
            continue
        said = f"{SAID} the column {name!r} as {type}, and it is {own.simpleString()} in the DataFrame"
        whole = WHOLE.get(kind.simpleString()) if isinstance(own, t.IntegralType) and kind is not None else None
        if kind is None or not (isinstance(own, t.NullType) or holds(kind, own) or whole):
            raise EngineError(f"{said}; expected it cast to {type}, or another path")
        kinds[name] = column(name).cast(kind)
        if whole and not holds(kind, own):
            wrong = f"{said}, with values that {type} does not hold; expected it cast to {type}, or another path"
            raised = f.raise_error(f.lit(f"\nframefold.EngineError: {wrong}\n")).cast(kind)
            kinds[name] = f.when(~column(name).between(-whole, whole), raised).otherwise(kinds[name])
    return engine.with_columns(kinds) if kinds else engine


def holds(kind: t.DataType, own: t.DataType) -> bool:
    """Whether a type has all values of another one.

    >>> holds(t.LongType(), t.IntegerType()), holds(t.DecimalType(22, 2), t.LongType())
    (True, True)
    >>> holds(t.DecimalType(20, 2), t.DecimalType(20, 4)), holds(t.DoubleType(), t.LongType())
    (False, False)
    """
    if not isinstance(kind, t.DecimalType):
        return kind.simpleString() in HELD_BY.get(own.simpleString(), ())
    digits, scale = DIGITS.get(own.simpleString()), 0
    if isinstance(own, t.DecimalType):
        digits, scale = own.precision - own.scale, own.scale
    return digits is not None and kind.precision - kind.scale >= digits and kind.scale >= scale


def all_partials(engine: DataFrameEngine, layout: Layout) -> Partials:
    """The merged partials of events, on the driver."""
    with partials_of(engine, job_of(layout.plan).trusting(), Options(combine="driver")) as (source, decision):
        found = driver.collected(source, decision)
        return merge([Partials.none(layout.plan), *([] if found is None else [found])])


@contextmanager
def partials_of(engine: DataFrameEngine, job: Job, options: Options) -> Iterator[tuple[PartialsSource, Decision]]:
    """What makes the partials of events, which is released in the end, with the decision for it."""
    with stopped_named(), reraise(engine.spark, lambda: engine.df, job.plan):
        source, decision = engine.partials(job, options)
        try:
            yield source, decision
        finally:
            source.release(None)


def written_by_tasks(
    source: PartialsSource, job: Job, table: Table, layout: Layout, run: str, within: Span | None
) -> Written:
    """Write partials in tasks, each those of some keys."""
    rows, codec = source.distribute(), job.codec
    keys = [f.col(name) for name in codec.key_names]
    df = rows.df.repartition(*keys) if keys else rows.df.repartition(1)
    df = df.sortWithinPartitions(*keys, *(rows.order or ()))
    return written(stage(df, write, job, table, layout, run, within, schema=WRITTEN))


def write(
    job: Job, table: Table, layout: Layout, run: str, within: Span | None, rows: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Partials sorted by key, frame and batch to files; gives what has been written."""
    for partials in tasks.merged(job, rows):
        yield as_row(table.write(layout, layout.rows(partials, run), run, within))


def as_row(of: Written) -> pa.RecordBatch:
    """What a task has written."""
    return pa.RecordBatch.from_pydict({"files": [json.dumps(list(map(asdict, of.files)))], "events": [of.events]})


def written(tasks: DataFrame) -> Written:
    """What tasks have written."""
    found = tasks.toArrow().to_pylist()
    files = [checked(StoredFile, file) for each in found for file in json.loads(each["files"])]
    return Written(files, sum(each["events"] for each in found))


def job_of(plan: Plan) -> Job:
    """What tasks need of a plan."""
    keys = [to_spark(plan.result_schema.field(name).type) for name in plan.result_keys]
    return Job(plan, output_schema(plan.result_schema, [kind for kind in keys if kind is not None]))
