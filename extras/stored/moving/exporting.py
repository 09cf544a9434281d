"""The state in a stream's checkpoint to stored partials."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from ....aggregators.errors import EngineError
from ....spark.convert.partials_codec import Batches
from ....spark.session.staging import stage
from ....spark.streams.checkpoint import books, known_operator, shards_in, state_of, unreadable_named
from ....spark.streams.logs import Logs
from ....spark.streams.shards import Shards
from ..layout import Layout
from ..on_spark.engine import WRITTEN, as_row, written
from ..table import Table
from .exported import exported, layout_of, require_free, store, stored_rows


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
        states = spark.read.format("state-metadata").load(logs.place)
        if (several := states.select("operatorId").distinct().count()) > 1:
            raise EngineError(
                f"the query of the checkpoint {str(logs.path)!r} has {several} states, and another one would need all "
                "of them; expected a query with the state of one .aggregate(...) only"
            )
        records = books(spark, logs.place, operator, batch)
        rows = state_of(spark, logs.place, operator, with_events=False, batch=batch)
    if any("latest" in each["query"] for each in records):
        raise EngineError(
            f"the checkpoint {str(logs.path)!r} is of .latest(...), whose state goes by the clock; expected one of "
            ".aggregate(...)"
        )
    if len({each["watermark"] for each in records}) != 1:
        raise EngineError(
            f"the shards in the checkpoint {str(logs.path)!r} are not at one watermark; expected the query to be "
            "started once more with .trigger(availableNow=True), and to end"
        )
    watermark, gone = records[0]["watermark"], max(each.get("gone", each["watermark"]) for each in records)
    layout = layout_of(shards.job.plan)
    with unreadable_named(logs.place):
        files = written(stage(rows, write_state, shards, table, layout, run, schema=WRITTEN))
    said = exported(shards.job.plan, str(logs.path), batch, watermark, gone, records[0]["query"])
    store(table, layout, said, run, files)


def write_state(shards: Shards, table: Table, layout: Layout, run: str, rows: Batches) -> Batches:
    """The state of some shards to files; gives what has been written."""
    for shard in shards_in(shards, rows):
        yield as_row(table.write(layout, stored_rows(layout, shard.stored(), run), run))
