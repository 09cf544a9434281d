"""The state of a stream, from one query to another."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame

from ....aggregators.errors import EngineError, QueryError
from ....runtime.plan.plan import Plan
from ....spark.convert.names import spelt
from ....spark.options import Options
from ....spark.session.errors import reraise
from ....spark.streams.engine import Imported, StreamEngine, delay_of, mode_of, ticks_of
from ....spark.streams.history import begin_tick
from ....spark.streams.logs import Logs
from ..partials import table_at
from ..stored_rows import StoredRows
from . import exporting
from .exported import Exported, gone_on, why_not_stored
from .importing import NewCheckpoint

Path = str | os.PathLike[str]


def export_state(engine: StreamEngine, plan: Plan, options: Options, checkpoint: Path, into: Path) -> None:
    """Store the state in the checkpoint of a query of a stream.

    Raises
    ------
    QueryError
        If it has none that can be stored.
    EngineError
        If there is no checkpoint of this query, which has ended, or something else is stored there.
    """
    table, shards = table_at(into), engine.all_shards(plan, options)
    require_stored(plan)
    with reraise(engine.df.sparkSession, lambda: engine.df, plan):
        exporting.export_state(engine.df.sparkSession, checkpoint, shards, table)


def import_state(
    engine: StreamEngine, plan: Plan, options: Options, exported: Path, checkpoint: Path, *, skip: bool
) -> int:
    """Make the checkpoint of a query of a stream, with which it goes on where another one has stopped.

    Parameters
    ----------
    exported
        Where `export_state` has stored the other one's state.
    checkpoint
        Where the new checkpoint is to be.
    skip
        Whether windows are left out for which not all events are stored.

    Returns
    -------
    The tick up to which windows are closed.

    Raises
    ------
    QueryError
        If the query asks for something that is not stored.
    EngineError
        If nothing is, the other query has gone on since, or something is at the new place.
    """
    stored = table_at(exported)
    df, spark = engine.checked(plan, options), engine.df.sparkSession
    require_stored(plan)
    new, commit = NewCheckpoint(checkpoint), stored.commits.latest()
    said = Exported.of(commit, stored.commits.path)
    if (until := begin_tick(plan, options)) != said.query.get("until"):
        word = "none" if until is None else plan.times.word(until)
        raise QueryError(
            f"until= is {word}, and was another one in the query whose state was exported; expected the same "
            ".stream(history=, until=)"
        )
    old = Logs.at(said.checkpoint)
    if (last := old.last(spark)) != said.batch:
        raise EngineError(
            f"the query of the checkpoint {said.checkpoint!r} has gone on to the micro-batch {last}, and its state "
            f"was exported as of {said.batch}; expected .export_state(...) anew, to another path"
        )
    job = engine.job(df, plan, options)
    lateness = ticks_of(plan, options.allowed_lateness, "allowed_lateness") or 0
    start = gone_on(stored, said, commit, job.plan, lateness, skip=skip)
    rows = StoredRows.of(start.table, start.layout, start.files, job.plan, None)
    fields = [df.schema[spelt(name, df.columns)] for name in plan.columns]
    watermark = spelt(plan.time, df.columns), delay_of(df, plan) or 0

    def query(events: DataFrame) -> DataFrame:
        state = Imported(rows, start.watermark, start.gone)
        return StreamEngine(events).slid(events, job, options, imported=state)

    with reraise(spark, lambda: engine.df, plan):
        new.make(spark, query, fields, watermark, mode_of(options), old, said.batch)
    return start.watermark


def require_stored(plan: Plan) -> None:
    """QueryError where the state of a query is none that can be stored for another one."""
    if (reason := why_not_stored(plan)) is not None:
        raise QueryError(
            f"the state of this query cannot go on in another one: {reason}; expected a new query, with "
            ".stream(history=, until=) for the events so far"
        )
