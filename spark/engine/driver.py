"""Runs every query on Spark: its partials are merged, slid, finished on the driver or on executors."""

from __future__ import annotations

import itertools
import logging
import math
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...aggregators.errors import EngineError
from ...aggregators.states.nested import any_in
from ...runtime.columns.malloc import raise_mmap_threshold
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.plan.plan import Plan
from ...runtime.reporting import LOGGER, report_partials, report_way
from ...runtime.results.beside import put_beside_labels
from ...runtime.results.chunks import result_bytes
from ...runtime.results.finish import results
from ..convert.partials_codec import to_ipc
from ..convert.types import arrow_schema, cast_to, output_schema
from ..session.conf_overrides import described
from ..session.dataframes import batches_to_dataframe, to_dataframe
from ..session.errors import lacks_memory, too_large
from ..session.staging import stage
from ..tuning import ROW_BYTES, SLID_ROWS
from . import tasks
from .beside import beside_labels
from .decision import Decision
from .explain import stages
from .source import PartialRows, PartialsSource, left_to_executors

AUTO_RESULT_BYTES = 256 << 20
"""The results that ``combine="auto"`` makes on the driver and sends to the JVM, whose heap may be 1 GB."""

DRIVER_RESULT_BYTES = 1 << 30
"""The results that ``combine="driver"`` makes; beyond it the driver might be killed."""

SENT_PARTIALS_BYTES = 256 << 20
"""The merged partials that the driver sends to tasks, through the same heap."""


TEXT_BYTES = 64
"""What a text, or a struct, among results is taken to have before it is computed."""

WORDS = 200
"""The length of a description, at most."""

COMPUTED: WeakKeyDictionary[DataFrame, int] = WeakKeyDictionary()
"""Results that the driver has made, by their numbers of rows: to read them again computes nothing. Others are lazy."""


def run(
    spark: SparkSession, source: PartialsSource, job: tasks.Job, decision: Decision, labels: pa.Table | None = None
) -> DataFrame:
    """The results of a query, sorted by key and window; or, in their order, labels with the results beside them.

    Raises
    ------
    EngineError
        If results are too large for ``combine="driver"``.
    """
    if LOGGER.isEnabledFor(logging.INFO):
        report_way(job.plan, "Spark", stages(job.plan, decision))
    result = None
    try:
        with described(spark, in_words(job.plan)):
            if decision.combine != "executors":
                partials = collected(source, decision)
                if partials is not None:
                    result = on_driver(spark, job, decision, partials, labels)
            if result is None:
                result = on_executors(spark, job, source.distribute())
            if labels is not None and result not in COMPUTED:
                result = beside_lazily(spark, job, decision, result, labels)
        return result
    except Exception as error:
        if not lacks_memory(error):
            raise
        raise EngineError(
            "the driver has no memory left for the partials and results of this query; expected "
            "combine='executors', or a driver with more memory"
        ) from error
    finally:
        source.release(None if result in COMPUTED else result)


def collected(source: PartialsSource, decision: Decision) -> Partials | None:
    """All partials, on the driver; None where executors are to have them."""
    insisted = decision.combine == "driver"
    try:
        return source.collect(None if insisted else decision.limit)
    except Exception as error:
        if (why := too_large(error)) is None:
            raise
        if insisted:
            raise EngineError(
                f"the driver cannot get all partials ({why}); expected combine='executors' or 'auto', "
                "or a driver with more memory and a larger spark.driver.maxResultSize"
            ) from error
        left_to_executors(f"it cannot get all partials: {why}")
        return None


def in_words(plan: Plan) -> str:
    """What Spark's pages say of the jobs of a query, such as ``framefold: n by driver over 1 hour every 1 minute``."""
    by = f" by {', '.join(plan.by)}" if plan.by else ""
    windows = " and ".join(each.named.removeprefix("windows of ").partition(",")[0] for each in plan.axis.windows)
    return f"framefold: {', '.join(plan.columns_computed)}{by} over {windows}"[:WORDS]


def on_driver(
    spark: SparkSession, job: tasks.Job, decision: Decision, partials: Partials, labels: pa.Table | None
) -> DataFrame | None:
    """The results of collected partials; lazily, by tasks, if they are large; None if partials are too.

    Only results that are not lazy are beside labels.
    """
    raise_mmap_threshold()
    plan = job.plan
    merged = merge([*Partials.of_given_keys(plan), partials])
    report_partials(merged, "the driver")
    limit = DRIVER_RESULT_BYTES if decision.combine == "driver" else AUTO_RESULT_BYTES
    size, tables, expected = 0, [], result_bytes(merged)
    if decision.combine == "driver" or expected <= limit:
        for table in results(merged, wanted=job.wanted):
            tables.append(table)
            size += table.nbytes
            if size > limit:
                break
        else:
            found = pa.concat_tables(tables)
            LOGGER.info("the driver gives %d windows", len(found))
            return computed(spark, cast_to(found, arrow_schema(job.schema)), job.schema, labels)
    if decision.combine == "driver":
        raise EngineError(
            f"the results take more than the {limit >> 20:,} MiB that combine='driver' makes on the driver; expected "
            "combine='executors' or 'auto' for as many"
        )
    why = f"results take about {max(expected, size) / 2**20:,.0f} MiB, more than {limit >> 20}"
    if decision.sort == "rows" or merged.table.nbytes > SENT_PARTIALS_BYTES:
        left_to_executors(why)
        return None
    LOGGER.warning("executors slide what the driver has merged: %s", why)
    blobs = pa.table({"ipc": pa.array(blobs_of(merged), pa.binary())})
    rows = batches_to_dataframe(spark, blobs, t.StructType([t.StructField("ipc", t.BinaryType())]), 1)
    return stage(rows, tasks.slide_blobs, job, schema=job.schema)


def computed(spark: SparkSession, found: pa.Table, schema: t.StructType, labels: pa.Table | None) -> DataFrame:
    """Results that the driver has, as a DataFrame; beside labels, if there are any."""
    if labels is not None:
        schema = t.StructType([*output_schema(labels.schema, []), *schema.fields[1:]])
        found = cast_to(put_beside_labels(labels, found), arrow_schema(schema))
    done = to_dataframe(spark, found, schema)
    COMPUTED[done] = len(found)
    return done


def beside_lazily(
    spark: SparkSession, job: tasks.Job, decision: Decision, results: DataFrame, labels: pa.Table
) -> DataFrame:
    """Labels beside results that tasks compute: now, if the driver may have these, which is where the labels are."""
    if decision.combine != "executors" and len(labels) * row_bytes(job.schema) <= AUTO_RESULT_BYTES:
        try:
            found = results.toArrow()
        except Exception as error:
            if too_large(error) is None:
                raise
            LOGGER.warning("the driver does not get the results beside labels: %s", too_large(error))
        else:
            LOGGER.info("the driver gets %d windows", len(found))
            return computed(spark, found, job.schema, labels)
    return beside_labels(labels, results)


def row_bytes(schema: t.StructType) -> float:
    """The bytes of a row of results, about; infinite with lists, whose length is not known."""
    kinds = arrow_schema(schema).types
    if any(any_in(kind, lambda each: pa.types.is_nested(each) and not pa.types.is_struct(each)) for kind in kinds):
        return math.inf
    return sum(kind.bit_width / 8 if pa.types.is_primitive(kind) else TEXT_BYTES for kind in kinds)


def blobs_of(merged: Partials, rows: int = SLID_ROWS) -> list[bytes]:
    """IPC blobs of whole keys, of about ``rows`` partials each, fewer where these are large."""
    starts = merged.starts
    assert starts is not None
    rows = max(1, min(rows, rows * ROW_BYTES * len(merged) // max(merged.table.nbytes, 1)))
    edges = starts[np.searchsorted(starts, np.arange(0, len(merged), rows), side="left").clip(max=len(starts) - 1)]
    cuts = [*np.unique(np.append(edges, 0)).tolist(), len(merged)]
    return [to_ipc(merged.table.slice(first, last - first)) for first, last in itertools.pairwise(cuts)]


def on_executors(spark: SparkSession, job: tasks.Job, rows: PartialRows) -> DataFrame:
    """The results of distributed partials, lazily: shuffled by key, and slid where they land."""
    df, codec = rows.df, job.codec
    keys, order = [f.col(name) for name in codec.key_names], [f.col(name) for name in rows.order]
    by_range = bool(keys) and job.plan.axis.beside is None  # labels have an order of their own
    if rows.merges:
        for empty in Partials.of_given_keys(job.plan):
            encoded = pa.Table.from_batches(list(codec.encode(empty.table)))
            df = df.union(spark.createDataFrame(encoded, schema=codec.spark_schema))
        if by_range and job.blocks is None:
            # Range partitioning samples its input, which is to run it twice. With a shuffle in front only what
            # follows that shuffle runs twice, and the events are read once. Merging in between keeps Spark from
            # taking two shuffles in a row for one, and makes the second one smaller.
            spread = df.repartition(*keys, order[0]).sortWithinPartitions(*keys, *order)
            df = stage(spread, tasks.merge, job, schema=codec.spark_schema)
    if by_range:
        df = df.repartitionByRange(*keys)
    else:
        df = df.repartition(*keys) if keys else df.repartition(1)
    return stage(df.sortWithinPartitions(*keys, *order), rows.slide, job, schema=job.schema)
