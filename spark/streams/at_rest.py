"""The partials of a stream, added to a stored table with each micro-batch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from .places import readable

Append = Callable[[DataFrame, str], Any]
"""Adds events as a run of a name, once."""


def append_stream(
    df: DataFrame, append: Append, checkpoint: str | os.PathLike[str], trigger: Mapping[str, Any]
) -> StreamingQuery:
    """Start a query that adds each micro-batch as a run, named by the query and the number of the batch.

    Spark gives a batch again where it cannot know whether it was done. Its run is in then, and is not added again.
    """
    place = readable(checkpoint)
    writer = df.writeStream.foreachBatch(partial(added, append, place, [])).option("checkpointLocation", place)
    return (writer.trigger(**trigger) if trigger else writer).start()


def added(append: Append, checkpoint: str, ids: list[str], batch: DataFrame, number: int) -> None:
    """Add a micro-batch; ``ids`` has the id of the query once one has been added."""
    if not ids:
        ids.append(id_of(batch.sparkSession, checkpoint))
    append(batch, f"{ids[0]} {number}")


def id_of(spark: SparkSession, checkpoint: str) -> str:
    """The id of the query of a checkpoint, which stays the same when it is started again."""
    (line,) = spark.read.text(f"{checkpoint}/metadata").collect()
    found: str = json.loads(line.value)["id"]
    return found
