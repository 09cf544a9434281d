"""Between a session and the driver: what the session has set meanwhile, and how results come back into it."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

# Up to THRESHOLD (48 MB unless the user says otherwise) createDataFrame makes every row an object on the driver and
# sends it out as one; beyond it sends batches out as they are, which takes a third of the time. Below this there is
# nothing to gain, and rows that are on the driver can be collected without a job.
LOCAL_RELATION_BYTES = 1 << 16
THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"

# Each batch is a task, of 10,000 rows unless the user says otherwise: too few for what a task costs.
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
TASK_ROWS = 1 << 17
TASK_BYTES = 16 << 20

# What makes the aggregation quicker whose groups are collected.
FASTER_GROUPING = {
    # A task's groups go into a table of Java longs first, of 65,536 rows unless the user says otherwise; those that
    # find no room there take several times as long. It is 2 MB for each task.
    "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "18",
    # 200 unless the user says otherwise, for each of which a task opens a file: 0.2 s in all. From 201 on it sorts and
    # writes one. Spark joins what is small before it reads it.
    "spark.sql.shuffle.partitions": "201",
}

_setting = threading.Lock()
_held: Counter[tuple[int, str]] = Counter()


def to_dataframe(spark: SparkSession, results: pa.Table, schema: t.StructType) -> DataFrame:
    """A table as a DataFrame, its rows in their order.

    Parameters
    ----------
    spark
        A session of any kind.
    results
        Of the Arrow types that carry the schema's.
    schema
        What the DataFrame is to have.
    """
    # Through Connect, whose sessions are of another class, a table goes to the server as it is.
    if results.nbytes < LOCAL_RELATION_BYTES or not isinstance(spark, SparkSession):
        return spark.createDataFrame(results, schema=schema)
    tasks = math.ceil(max(len(results) / TASK_ROWS, results.nbytes / TASK_BYTES))
    with as_batches(spark, -(-len(results) // tasks)):
        return spark.createDataFrame(results, schema=schema)


@contextmanager
def as_batches(spark: SparkSession, rows: int) -> Iterator[None]:
    """While this is open, tables become batches of so many rows that tasks open."""
    settings = {THRESHOLD: "0", BATCH_ROWS: str(rows)}
    with _setting:
        before = {name: spark.conf.get(name) or "" for name in settings}
        try:
            for name, value in settings.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)


@contextmanager
def conf_overrides(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """While this is open, a session has some settings, but for those that its user has made himself.

    They say how quickly something is computed, and never what.
    """
    ours = []
    if isinstance(spark, SparkSession):
        with _setting:
            for name, value in settings.items():
                # Another query of this session's, in another thread, may have set it.
                if _held[id(spark), name] or spark.conf.get(name, None) is None:
                    spark.conf.set(name, value)
                    _held[id(spark), name] += 1
                    ours.append(name)
    try:
        yield
    finally:
        with _setting:
            for name in ours:
                _held[id(spark), name] -= 1
                if not _held[id(spark), name]:
                    spark.conf.unset(name)
