"""A table of Arrow as a DataFrame."""

from __future__ import annotations

import math

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ..tuning import LOCAL_RELATION_BYTES, RESULT_TASK_BYTES, RESULT_TASK_ROWS
from .conf_overrides import BATCH_ROWS, LOCK, replaced_conf

# Up to THRESHOLD, 48 MB by default, createDataFrame makes each row a Java object. Beyond it each Arrow batch is a task,
# of BATCH_ROWS rows, 10,000 by default: too few for the cost of a task.
THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"


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
    count = math.ceil(max(len(table) / RESULT_TASK_ROWS, table.nbytes / RESULT_TASK_BYTES))
    return batches_to_dataframe(spark, table, schema, -(-len(table) // count))


def batches_to_dataframe(spark: SparkSession, table: pa.Table, schema: t.StructType, rows: int) -> DataFrame:
    """A table as a DataFrame, in tasks of ``rows`` rows each; through Connect the server chooses."""
    if not isinstance(spark, SparkSession):
        return spark.createDataFrame(table, schema=schema)
    # Held for the call: two tables at a time would take each other's number of rows.
    with LOCK, replaced_conf(spark, {THRESHOLD: "0", BATCH_ROWS: str(rows)}):
        return spark.createDataFrame(table, schema=schema)
