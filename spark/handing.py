"""Results on their way from the driver back into a session."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from .ship import ship, task
from .wire import BATCH_ROWS, batches

# Below this, createDataFrame is quick. Above it, up to where it changes its ways (spark.sql.execution.arrow.
# localRelationThreshold, 48 MB), it makes every row an object on the driver and sends it out as one: three times the
# work. Tables beyond that are no longer for a payload that each task gets whole.
LEAST_BYTES = 1 << 20
MOST_BYTES = 48 << 20
# No more tasks than this: each opens the whole payload.
MOST_TASKS = 8


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
    if not LEAST_BYTES < results.nbytes < MOST_BYTES:
        return spark.createDataFrame(results, schema=schema)
    ship(spark)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, results.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(results)
    count = min(MOST_TASKS, -(-len(results) // BATCH_ROWS))
    numbers = spark.range(0, count, 1, count)
    return numbers.mapInArrow(task(str(count), sink.getvalue().to_pybytes(), "handing"), schema)


def run(stage: str, payload: bytes, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The part of a table that is a task's.

    Parameters
    ----------
    stage
        Into how many parts the table is cut.
    payload
        The table, as an Arrow stream.
    rows
        The numbers of the task's parts.
    """
    table, count = opened(payload), int(stage)
    for batch in rows:
        for number in batch.column(0).to_pylist():
            start, end = (len(table) * each // count for each in (number, number + 1))
            yield from batches(table.slice(start, end - start))


@lru_cache(maxsize=1)
def opened(payload: bytes) -> pa.Table:
    """The table in a payload."""
    return pa.ipc.open_stream(payload).read_all()
