"""The state in a stream's checkpoint to stored partials."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from ...aggregators.errors import EngineError
from ...runtime.stored.exported import exported, layout_of, require_free, store, stored_rows
from ...runtime.stored.layout import Layout
from ...runtime.stored.table import Table
from ..session.staging import stage
from ..stored.engine import WRITTEN, as_row, written
from .checkpoint import known_operator, shards_in, state_of, unreadable_named, variable
from .logs import Logs
from .shards import BOOK, Shards


def export_state(spark: SparkSession, checkpoint: str | os.PathLike[str], shards: Shards, table: Table) -> None:
    """Store the state as of the last micro-batch, which has to be over; nothing where that is stored already.

    Raises
    ------
    EngineError
        If there is no checkpoint of a query like this one, which has ended, or other partials are stored there.
    """
    logs = Logs.at(checkpoint)
    batch = logs.last(spark)
    run = f"{logs.id()} {batch}"
    if (commit := table.commits.latest()).run(run) is None:
        require_free(commit, table)
    with unreadable_named(logs.place):
        operator = known_operator(spark, logs.place, shards)
        if (several := operators(spark, logs.place)) > 1:
            raise EngineError(
                f"the query of the checkpoint {str(logs.path)!r} has {several} states, and another one would need all "
                "of them; expected a query with the state of one .aggregate(...) only"
            )
        book = f.col(f"value.{BOOK}")
        books = [
            json.loads(row[0]) for row in variable(spark, logs.place, operator, BOOK, batch).select(book).collect()
        ]
        rows = state_of(spark, logs.place, operator, with_events=False, batch=batch)
    if any("latest" in each["query"] for each in books):
        raise EngineError(
            f"the checkpoint {str(logs.path)!r} is of .latest(...), whose state goes by the clock; expected one of "
            ".aggregate(...)"
        )
    if len({each["watermark"] for each in books}) != 1:
        raise EngineError(
            f"the shards in the checkpoint {str(logs.path)!r} are not at one watermark; expected the query to be "
            "started once more with .trigger(availableNow=True), and to end"
        )
    watermark, gone = books[0]["watermark"], max(each.get("gone", each["watermark"]) for each in books)
    layout = layout_of(shards.job.plan)
    with unreadable_named(logs.place):
        files = written(stage(rows, write_state, shards, table, layout, run, schema=WRITTEN))
    said = exported(shards.job.plan, str(logs.path), batch, watermark, gone, books[0]["query"])
    store(table, layout, said, run, files)


def operators(spark: SparkSession, place: str) -> int:
    """How many operators have a state in a checkpoint."""
    return spark.read.format("state-metadata").load(place).select("operatorId").distinct().count()


def write_state(
    shards: Shards, table: Table, layout: Layout, run: str, rows: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The state of some shards to files; gives what has been written."""
    for shard in shards_in(shards, rows):
        yield as_row(table.write(layout, stored_rows(layout, shard.stored(), run), run))
