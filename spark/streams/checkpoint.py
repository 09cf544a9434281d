"""The windows that are still open in a stream's checkpoint, as a batch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ...aggregators.errors import EngineError
from ...runtime.streams.scope import holds
from ...runtime.streams.shard import Shard
from ..convert.partials_codec import Batches, batches, opened
from ..convert.types import arrow_schema, cast_to
from ..session.errors import first_cause, is_of_spark
from ..session.staging import stage
from .places import readable
from .shards import BOOK, EVENTS, PARTIALS, Shards, check, read_record, record_in, restored
from .state import Pages

OPERATOR = "transformWithStateInPySparkExec"
"""What Spark calls what has the state."""


def still_open(spark: SparkSession, checkpoint: str | os.PathLike[str], shards: Shards) -> DataFrame:
    """The results of open windows as of the last micro-batch that is over, lazily; sorted by nothing.

    Parameters
    ----------
    spark
        The session.
    checkpoint
        The ``checkpointLocation`` of the query.
    shards
        Of the query.

    Raises
    ------
    EngineError
        If there is no checkpoint of a query like this one.
    """
    place = readable(checkpoint)
    with unreadable_named(place):
        operator = known_operator(spark, place, shards)
        rows = state_of(spark, place, operator, with_events=holds(shards.job.plan))
    return stage(rows, give_open, shards, schema=shards.job.schema)


def known_operator(spark: SparkSession, place: str, shards: Shards) -> Operator:
    """The operator that holds a query's state in a checkpoint; EngineError where there is none."""
    operator = operator_of(spark, place, shards)
    if operator is None:
        raise EngineError(
            f"the checkpoint {place!r} has no state that can be read: none of framefold's; expected the "
            "checkpointLocation of this query, of which a micro-batch is over"
        )
    return operator


def check_fits(spark: SparkSession, checkpoint: str | os.PathLike[str], shards: Shards, mode: str) -> bool:
    """Whether a checkpoint has the state of a query; EngineError where it has that of another one.

    Parameters
    ----------
    spark, checkpoint, shards
        As for :func:`still_open`.
    mode
        The output mode of the query.
    """
    place = readable(checkpoint)
    with unreadable_named(place):
        operator = operator_of(spark, place, shards)
        if operator is None and not has_lines(spark, f"{place}/commits"):
            return False  # no micro-batch is over
    if operator is None:
        raise EngineError(
            f"the checkpoint {place!r} is of another query, which has no state of framefold's; expected the same "
            "query, or a new checkpoint"
        )
    if operator.mode != mode:
        raise EngineError(
            f"the checkpoint {place!r} is of a query in output mode {operator.mode.lower()}, and this one is in "
            f"{mode.lower()}: early= and late='update' cannot be turned on or off in it; expected the same, or a new "
            "checkpoint"
        )
    return True


@contextmanager
def unreadable_named(checkpoint: str) -> Iterator[None]:
    """EngineError where Spark cannot read a checkpoint."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error) and not isinstance(error, json.JSONDecodeError):
            raise
        raise EngineError(
            f"the checkpoint {checkpoint!r} has no state that can be read: {first_cause(error)}; expected the "
            "checkpointLocation of this query"
        ) from error


def has_lines(spark: SparkSession, folder: str) -> bool:
    """Whether there is a folder with files that are not empty."""
    try:
        return not spark.read.text(folder).isEmpty()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return False


class Operator(NamedTuple):
    """A part of a streaming query that has our state: its number, and its output mode."""

    number: int
    mode: str


def operator_of(spark: SparkSession, place: str, shards: Shards) -> Operator | None:
    """The operator that holds a query's state in a checkpoint; a streaming query may have several results.

    None where nothing of framefold's is there.

    Raises
    ------
    EngineError
        If all of them are of other queries.
    """
    found = spark.read.format("state-metadata").load(place).where(f.col("operatorName") == OPERATOR)
    ours = [
        Operator(row.operatorId, json.loads(row.operatorProperties).get("outputMode", ""))
        for row in found.select("operatorId", "operatorProperties").distinct().collect()
        if f'"{PARTIALS}"' in row.operatorProperties
    ]
    other: EngineError | None = None
    for operator in sorted(ours):
        try:
            for book in books(spark, place, operator):
                check(book, shards.fingerprint)
        except EngineError as error:
            other = other or error
        else:
            return operator
    if other is not None:
        raise other
    return None


def variable(spark: SparkSession, place: str, operator: Operator, name: str, batch: int | None = None) -> DataFrame:
    """A variable of the state of all shards, as of a micro-batch, or of the last one that is over."""
    reader = spark.read.format("statestore").option("operatorId", operator.number)
    reader = reader if batch is None else reader.option("batchId", batch)
    return reader.option("stateVarName", name).load(place)


def books(spark: SparkSession, place: str, operator: Operator, batch: int | None = None) -> list[dict[str, Any]]:
    """The records of all shards."""
    rows = variable(spark, place, operator, BOOK, batch).select(f"value.{BOOK}").collect()
    return [record_in(row[0]) for row in rows]


def state_of(
    spark: SparkSession, place: str, operator: Operator, *, with_events: bool, batch: int | None = None
) -> DataFrame:
    """The state of all shards, each shard in one task: records, partials, and events that are held back."""
    shard, nothing = f.col("key.shard").alias("shard"), f.lit(0).cast("bigint").alias("block")
    book = f.col(f"value.{BOOK}").cast("binary").alias("ipc")
    rows = variable(spark, place, operator, BOOK, batch).select(shard, f.lit(BOOK).alias("part"), nothing, book)
    for name in (PARTIALS, EVENTS) if with_events else (PARTIALS,):
        pages = variable(spark, place, operator, name, batch)
        page, ipc = f.col("user_map_key.block"), f.col("user_map_value.ipc")
        rows = rows.union(pages.select(shard, f.lit(name), page, ipc))
    return rows.repartition("shard")


def give_open(shards: Shards, rows: Batches) -> Batches:
    """The state of some shards to the results of their open windows."""
    schema = arrow_schema(shards.job.schema)
    for shard in shards_in(shards, rows):
        for found in shard.early():
            yield from batches(cast_to(found, schema))


def shards_in(shards: Shards, rows: Batches) -> Iterator[Shard]:
    """Some shards, for reading only."""
    if not (some := list(rows)):
        return
    table = pa.Table.from_batches(some).rename_columns(["shard", "part", "block", "ipc"])
    for label in pc.unique(table.column("shard")).to_pylist():
        mine = table.filter(pc.equal(table.column("shard"), label))
        found = mine.filter(pc.equal(mine.column("part"), BOOK)).column("ipc").to_pylist()
        book = found[0] if len(found) == 1 else "null"  # which is no record
        known = {name: pages_in(mine.filter(pc.equal(mine.column("part"), name))) for name in (PARTIALS, EVENTS)}
        yield restored(shards, SimpleNamespace(partials=None, events=()), read_record(shards, book), known=known)


def pages_in(rows: pa.Table) -> Pages:
    """The tables of a map of Spark's state."""
    blobs = zip(rows.column("block").to_pylist(), rows.column("ipc").to_pylist(), strict=True)
    return {page: (opened(ipc), len(ipc)) for page, ipc in blobs}
