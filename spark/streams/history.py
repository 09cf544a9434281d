"""What was before a stream: the first state of its shards, of a DataFrame's events or partials up to a time."""

from __future__ import annotations

import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...aggregators.errors import QueryError
from ...runtime.columns.key_types import wider
from ...runtime.plan.plan import Plan
from ...runtime.streams.history import History, PartialsInParts
from ...runtime.streams.scope import holds
from ..convert.names import column, spelt, type_in, under_plain_names
from ..convert.types import input_schema
from ..engine.tasks import Job
from ..options import Options
from ..session.staging import stage, tasks_of
from .packets import PACKETS, pack_events, pack_partials, pack_stored
from .shards import Shards

EPOCH = datetime.datetime(1970, 1, 1)  # of times without a zone


def begin_tick(plan: Plan, options: Options) -> int | None:
    """The tick from which on events are the stream's; None where there are none before it."""
    if options.until is None:
        return None
    tick = plan.times.instant(options.until, "until")
    if tick < 0:
        raise QueryError(
            f"until is {options.until!r}, before 1970, where Spark's watermark begins: all events of the stream up to "
            "then are late; expected a time from 1970 on"
        )
    return tick


def without_history(df: DataFrame, plan: Plan, options: Options) -> DataFrame:
    """The events of a stream that are not in its history."""
    begin = begin_tick(plan, options)
    if begin is None:
        return df
    time = column(spelt(plan.time, df.columns))
    return df.where(time.isNull() | (time >= instant(begin, type_in(df, plan.time))))


def first_state(
    stream: DataFrame, shards: Shards, labels: tuple[int, ...], options: Options, *, begun: bool = False
) -> GroupedData | None:
    """The packets of what was before a stream, in one row for each shard; None where there is nothing.

    Where the stream has ``begun``, and so has its state, nothing is asked of partials at rest, which go on without it.
    """
    job, begin, history = shards.job.trusting(), shards.begin, options.history
    if begin is None:
        return None
    plan = job.plan
    if isinstance(history, History):
        stored = history.parts(plan, begin, shards.lateness, begun=begun)
        return stored_state(stream.sparkSession, stored, job, labels)
    if (df := checked(plan, history)) is None:
        return None
    time = column(spelt(plan.time, df.columns))
    before = df.where(time.isNull() | (time < instant(begin, type_in(df, plan.time))))
    pack = pack_events if holds(plan) else pack_partials
    return one_row_each(stage(under_plain_names(before, plan.columns), pack, job, labels, schema=PACKETS))


def stored_state(spark: SparkSession, stored: PartialsInParts, job: Job, labels: tuple[int, ...]) -> GroupedData:
    """The packets of stored partials, in one row for each shard."""
    numbers = tasks_of(spark, len(stored))
    return one_row_each(stage(numbers, pack_stored, stored, job.trusting(), labels, schema=PACKETS))


def one_row_each(packets: DataFrame) -> GroupedData:
    """Packets in one row for each shard, in their order."""
    in_order = f.sort_array(f.collect_list(f.struct("place", "ipc")))
    return packets.groupBy("shard").agg(in_order.getField("ipc").alias("packets")).groupBy("shard")


def checked(plan: Plan, history: Any) -> DataFrame | None:
    """The DataFrame of a history, which has the columns that a query reads, of the same types."""
    df: DataFrame | None = history
    if not hasattr(history, "isStreaming"):  # to a DataFrame of Connect any name is a column's
        df = getattr(getattr(history, "engine", None), "df", history)  # of ff.events
    if df is None:
        return None
    if not hasattr(df, "isStreaming") or df.isStreaming:
        found = "a stream" if hasattr(df, "isStreaming") else f"{history!r:.80}"
        raise QueryError(
            f"history is {found}; expected a DataFrame of the events before until, ff.events of one, or ff.partials"
        )
    there = df.columns
    known = [spelt(name, there) for name in plan.columns]
    if missing := [name for name, found in zip(plan.columns, known, strict=True) if found not in there]:
        raise QueryError(f"history has no column {missing[0]!r}; found {there}, expected those of the stream")
    kinds = input_schema(df, plan.columns)
    for name in plan.columns:
        kind, expected = kinds.field(name).type, plan.input_schema.field(name).type
        if wider(expected, kind) != expected:
            raise QueryError(f"the column {name!r} of history is {kind}; expected {expected}, as in the stream")
    return df


def instant(tick: int, kind: t.DataType) -> Column:
    """A time as Spark has it in a column of a type, whatever the session's zone."""
    if isinstance(kind, t.TimestampNTZType):
        return f.lit(str(EPOCH + datetime.timedelta(microseconds=tick))).cast("timestamp_ntz")
    return f.timestamp_micros(f.lit(tick))
