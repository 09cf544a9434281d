"""Results on their way from the driver back into a session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

# Below this, createDataFrame is quick. Above it, up to THRESHOLD (48 MB unless the user says otherwise), it makes every
# row an object on the driver and sends it out as one, which takes three times as long as sending batches out as they
# are. So it does beyond the threshold.
LEAST_BYTES = 1 << 20
THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"

# Each batch would be a task, of 10,000 rows unless the user says otherwise: too few for what a task costs.
TASK_ROWS = 1 << 17

_setting = threading.Lock()


def handed_back(spark: SparkSession, results: pa.Table, schema: t.StructType) -> DataFrame:
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
    if results.nbytes < LEAST_BYTES or not isinstance(spark, SparkSession):
        return spark.createDataFrame(results, schema=schema)
    with as_batches(spark):
        rows = spark.createDataFrame(results, schema=schema)
    return rows.coalesce(-(-len(results) // TASK_ROWS))  # neighbours go together, so rows stay in order


@contextmanager
def as_batches(spark: SparkSession) -> Iterator[None]:
    """While this is open, tables become batches that tasks open.

    The one setting of a user's session that framefold touches, for some milliseconds: it says how a table travels, and
    never what is in it.
    """
    with _setting:
        before = spark.conf.get(THRESHOLD)
        spark.conf.set(THRESHOLD, "0")
        try:
            yield
        finally:
            spark.conf.set(THRESHOLD, before or "")
