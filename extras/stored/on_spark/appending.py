"""The partials of a stream, added to a stored table with each micro-batch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from ....aggregators.errors import QueryError
from ....spark.session.errors import first_cause
from ....spark.streams.logs import ID, METADATA, id_in, reading
from ....spark.streams.places import readable

Append = Callable[[DataFrame, str], Any]
"""Adds events as a run of a name, once."""

MICRO_BATCH = re.compile(rf"({ID.pattern}) \d+", re.ASCII)
"""The names of runs of micro-batches: the id of their query, which is a group, and their number."""


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


def require_known(spark: SparkSession, checkpoint: str | os.PathLike[str], runs: Sequence[str]) -> None:
    """QueryError where there are runs of queries, and none of them is that of a checkpoint, which may be new."""
    if not (ids := {name[1]: None for each in runs if (name := MICRO_BATCH.fullmatch(each))}):
        return
    try:
        own = id_of(spark, readable(checkpoint))
    except AnalysisException:  # there is no file
        own = ""
    if own not in ids:
        raise QueryError(
            f"the stored partials have runs of the query {next(reversed(ids))}, and the checkpoint "
            f"{os.fspath(checkpoint)!r} is of {'another one' if own else 'none yet'}, which would add its events "
            "again; expected the checkpoint of that query, or beside=True for a stream of other events"
        )


def id_of(spark: SparkSession, checkpoint: str) -> str:
    """The id of the query of a checkpoint, which stays the same when it is started again."""
    with reading(checkpoint, METADATA):
        try:
            lines = spark.read.text(f"{checkpoint}/{METADATA}").limit(2).collect()
        except AnalysisException:
            raise
        except PySparkException as error:  # such as of another checksum
            raise ValueError(first_cause(error)) from error
        return id_in("\n".join(each.value for each in lines))
