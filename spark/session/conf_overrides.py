"""Temporary settings of a session, and results as a DataFrame."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

LOCAL_RELATION_BYTES = 1 << 16
"""A table below this is a local relation: rows that are on the driver can be collected without a job."""

# Up to THRESHOLD, 48 MB by default, createDataFrame makes each row a Java object. Beyond it each Arrow batch is a task,
# of BATCH_ROWS rows, 10,000 by default: too few for the cost of a task.
THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
TASK_ROWS, TASK_BYTES = 1 << 17, 16 << 20

LARGE_BATCHES = {BATCH_ROWS: str(1 << 17)}
"""Settings for rows that are collected: by default a batch has 10,000 of them, and each has costs of its own."""

NO_BYTE_LIMIT = {"spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1)}
"""A setting for events that go to Python tasks: with a limit Spark adds up the size of a batch after each row of it."""

FASTER_GROUPING = LARGE_BATCHES | {
    # By default a task looks for each group in a table of 65,536 rows first, and in the one that has room for all only
    # where that is full: two searches, and neither table stays in the cache.
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
    # By default 200, for each of which a task opens a file. From 201 on it sorts and writes one; Spark joins
    # small ones.
    "spark.sql.shuffle.partitions": "201",
}
"""Settings for groups that are collected."""

DESCRIPTION = "spark.job.description"
"""What Spark's own pages show of a job; a property of the thread that starts it."""

# Sessions that share one in the JVM share its settings, which no public API shows: one lock for all.
_lock = threading.Lock()
_users: Counter[tuple[int, str]] = Counter()
"""The number of steps that need each setting of a session, by its id."""


def to_dataframe(spark: SparkSession, table: pa.Table, schema: t.StructType) -> DataFrame:
    """A table as a DataFrame, its rows in their order.

    Parameters
    ----------
    spark
        A session of any kind.
    table
        Of the Arrow types that carry the schema's.
    schema
        Of the DataFrame.
    """
    # Through Connect, whose sessions are of another class, a table goes to the server as it is.
    if table.nbytes < LOCAL_RELATION_BYTES or not isinstance(spark, SparkSession):
        return spark.createDataFrame(table, schema=schema)
    count = math.ceil(max(len(table) / TASK_ROWS, table.nbytes / TASK_BYTES))
    return batches_to_dataframe(spark, table, schema, -(-len(table) // count))


def batches_to_dataframe(spark: SparkSession, table: pa.Table, schema: t.StructType, rows: int) -> DataFrame:
    """A table as a DataFrame, in tasks of ``rows`` rows each; through Connect the server chooses."""
    if not isinstance(spark, SparkSession):
        return spark.createDataFrame(table, schema=schema)
    # Held for the call: two tables at a time would take each other's number of rows.
    with _lock:
        before = {name: spark.conf.get(name, None) for name in (THRESHOLD, BATCH_ROWS)}
        try:
            spark.conf.set(THRESHOLD, "0")
            spark.conf.set(BATCH_ROWS, str(rows))
            return spark.createDataFrame(table, schema=schema)
        finally:
            for name, value in before.items():
                if value is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, value)


@contextmanager
def conf_overrides(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session temporarily, except those that its user has set.

    They change the speed of a computation, never its result.
    """
    ours = []
    if isinstance(spark, SparkSession):
        with _lock:
            for name, value in settings.items():
                # Another query of this session, in another thread, may have set it.
                if _users[id(spark), name] or spark.conf.get(name, None) is None:
                    spark.conf.set(name, value)
                    _users[id(spark), name] += 1
                    ours.append(name)
    try:
        yield
    finally:
        with _lock:
            for name in ours:
                _users[id(spark), name] -= 1
                if not _users[id(spark), name]:
                    spark.conf.unset(name)


@contextmanager
def described(spark: SparkSession, words: str) -> Iterator[None]:
    """The jobs that this thread starts under a description, unless the user has given them one; on Connect under a tag.

    Parameters
    ----------
    spark
        A session of any kind.
    words
        What the jobs are for.
    """
    if not isinstance(spark, SparkSession):
        tag = words.replace(",", ";")  # Spark's own separator
        spark.addTag(tag)
        try:
            yield
        finally:
            spark.removeTag(tag)
        return
    try:
        # Only here: the description that Spark's pages show of jobs is a property of the thread, and tags, which both
        # kinds of sessions have, are not shown in its place.
        context = spark.sparkContext
        free = context.getLocalProperty(DESCRIPTION) is None
    except (PySparkException, AttributeError):  # a cluster that gives users none, or a stopped one
        free = False
    if free:
        context.setLocalProperty(DESCRIPTION, words)
    try:
        yield
    finally:
        if free:
            with suppress(AttributeError):  # it was stopped meanwhile
                context.setLocalProperty(DESCRIPTION, None)  # type: ignore[arg-type]
