"""The engine of streams: a streaming DataFrame in, a streaming DataFrame of the results of closed windows out."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...aggregators.errors import QueryError
from ...runtime.columns.ticks import Duration
from ...runtime.explain import Explanation, explain
from ...runtime.plan.plan import Plan, fingerprint, pickled_outputs
from ...runtime.reporting import LOGGER, report_way
from ...runtime.streams.history import History, PartialsInParts
from ...runtime.streams.key_life import emits_empty
from ...runtime.streams.latest import why_not_latest
from ...runtime.streams.scope import counted, holds, why_no_revisions, why_not
from ..convert.names import check_result, column, spelt, type_in, under_plain_names
from ..convert.types import output_schema
from ..engine.engine import DataFrameEngine
from ..engine.tasks import Job
from ..options import Options
from ..session.staging import stage
from .checkpoint import check_fits, still_open
from .history import begin_tick, first_state, stored_state, without_history
from .labels import labels
from .needs import advice, check_able, partitions
from .packets import PACKETS, pack_events, pack_partials, pack_whole, unpack, unpack_events
from .progress import NAME, RESULTS, name_of_its_own, observed
from .shards import PROVISIONAL, REVISION, Shards
from .slider import slider

WATERMARK = "spark.watermarkDelayMs"

OF_WATERMARKS = ("watermark", "ahead", "early", "late", "allowed_lateness", "forget", "until")
"""The choices for windows that a watermark closes."""


class Imported(NamedTuple):
    """The state of another query, from which a new one goes on.

    Parameters
    ----------
    partials
        Its partials, as they are stored.
    watermark, gone
        Up to which ticks its windows are closed, and take no more events.
    """

    partials: PartialsInParts
    watermark: int
    gone: int


class StreamEngine(DataFrameEngine):
    """Queries over a streaming DataFrame, classic or Connect."""

    def beside(self, plan: Plan, options: Options, rows: Sequence[str] | pa.Table) -> DataFrame:
        raise QueryError(
            "with_columns() is asked for a stream, whose windows are given as they close; expected .aggregate(...), "
            "which gives the key and the time of each event"
        )

    def run(self, plan: Plan, options: Options, labels: pa.Table | None = None) -> DataFrame:
        """The results of windows as a watermark closes them, each once; before and after that where options say so.

        Raises
        ------
        QueryError
            If the stream has no watermark on its time, or the plan cannot be answered on a stream.
        EngineError
            If the session's state store is not RocksDB, protobuf is not installed, or PySpark is older than 4.1.
        """
        df = self.checked(plan, options)
        return self.slid(df, self.job(df, plan, options), options)

    def latest(self, plan: Plan, options: Options) -> DataFrame:
        """The window that ends now, in one row for each key for which it has changed, by the clock of the cluster.

        Raises
        ------
        QueryError, EngineError
            As for `run`, but that no watermark is needed; if the windows have no end that the clock knows.
        """
        self._check_able(plan, options)
        if (reason := why_not_latest(plan)) is not None:
            raise QueryError(f"no window ends now: {reason}")
        for name in OF_WATERMARKS:
            if getattr(options, name) != getattr(Options, name):
                raise QueryError(
                    f"{name} is {getattr(options, name)!r}, which is of windows that a watermark closes, and latest() "
                    "goes by the clock; expected .stream(...) without it"
                )
        return self.slid(self.df, Job(counted(plan), self._schema(plan)), options, latest=True)

    def late(self, plan: Plan, options: Options) -> DataFrame:
        """The events that `run` drops, with all their columns, as a stream of its own."""
        df, job = self.checked(plan, options), Job(counted(plan), self.df.schema)
        rows = under_plain_names(df, [*plan.columns, *df.columns])
        dealt = self._labels(options)
        packets = stage(rows, pack_whole, job, dealt, schema=PACKETS)
        shards = replace(self._shards(df, job, options), late=True)
        first = None if holds(plan) else first_state(df, shards, dealt, options)
        processor = slider(df.sparkSession, shards)
        found = packets.groupBy("shard").transformWithState(processor, RESULTS, "Append", "EventTime", first)
        return stage(found, unpack_events, df.schema, schema=df.schema)

    def still_open(self, plan: Plan, options: Options, checkpoint: str | os.PathLike[str]) -> DataFrame:
        """The results that open windows have by now in the checkpoint of a query that `run` has made, as a batch."""
        return still_open(self.df.sparkSession, checkpoint, self.all_shards(plan, options))

    def explain(self, plan: Plan, options: Options) -> Explanation:
        if plan.axis.beside in ("event", "label"):
            self.beside(plan, options, ())
        self.checked(plan, options)
        return explain(plan, "Spark, a stream", self._stages(plan, options))

    def _stages(self, plan: Plan, options: Options) -> list[tuple[str, str]]:
        shards = f"in {len(self._labels(options))} shards"
        kept = "whose partials Spark's state store keeps until no window needs them"
        stages = [
            ("accumulate", "in mapInArrow, each micro-batch: partials per task, dealt to shards by a hash of the key"),
            ("merge", f"{shards}, {kept}"),
        ]
        if holds(plan):
            stages = [
                ("hold", f"{shards}, dealt by a hash of the key: events are held back until the watermark has passed"),
                ("accumulate, merge", f"in each shard, in the order of the events, {kept}"),
            ]
        slid = ("slide, finish", "in each shard, all its keys at once, when the watermark closes windows")
        slower = advice(self.df.sparkSession)
        return [*stages, slid, *([] if slower is None else [("session", slower)])]

    def of(self, df: DataFrame) -> StreamEngine:
        return StreamEngine(df)

    def all_shards(self, plan: Plan, options: Options) -> Shards:
        """What is needed of shards to read all that a checkpoint has, however many they are."""
        df, plain = self.checked(plan, options), replace(options, early=None, late="drop", allowed_lateness=None)
        shards = self._shards(df, Job(counted(plan), self._schema(plan)), plain)
        query = {name: each for name, each in shards.fingerprint.items() if name != "shards"}
        return replace(shards, fingerprint=query)

    def job(self, df: DataFrame, plan: Plan, options: Options) -> Job:
        """What tasks need of a query whose windows a watermark closes."""
        found = with_time(self._schema(plan), df, plan, options)
        schema = t.StructType([*found, *(t.StructField(name, t.BooleanType()) for name in marks(options))])
        return Job(counted(plan), schema)

    def slid(
        self, df: DataFrame, job: Job, options: Options, *, latest: bool = False, imported: Imported | None = None
    ) -> DataFrame:
        """The results that the shards of a stream give."""
        plan, mode = job.plan, "Update" if latest else mode_of(options)
        if LOGGER.isEnabledFor(logging.INFO):
            report_way(plan, "Spark, a stream", self._stages(plan, options))
        if (slower := advice(df.sparkSession)) is not None:
            LOGGER.warning("a stream that takes longer than it need: %s", slower)
        shards = self._shards(df, job, options, latest=latest)
        pack, dealt = (pack_events if holds(plan) else pack_partials), self._labels(options)
        packets = stage(under_plain_names(df, plan.columns), pack, job.trusting(), dealt, schema=PACKETS)
        if imported is None:
            begun = options.checkpoint is not None and check_fits(df.sparkSession, options.checkpoint, shards, mode)
            first = first_state(df, shards, dealt, options, begun=begun)
        else:
            shards = replace(shards, imported=(imported.watermark, imported.gone))
            first = stored_state(df.sparkSession, imported.partials, job, dealt)
        processor, clock = slider(df.sparkSession, shards), "ProcessingTime" if latest else "EventTime"
        slid = packets.groupBy("shard").transformWithState(processor, RESULTS, mode, clock, first)
        seen = slid.observe(name_of_its_own(NAME), *observed())
        return stage(seen, unpack, job, schema=job.schema)

    def _schema(self, plan: Plan) -> t.StructType:
        """The schema of the result, whose keys are as the stream has them."""
        return output_schema(plan.result_schema, [type_in(self.df, name) for name in plan.by])

    def _shards(self, df: DataFrame, job: Job, options: Options, *, latest: bool = False) -> Shards:
        plan = job.plan
        early, dealt = ticks_of(plan, options.early, "early"), partitions(self.df.sparkSession)
        # The numbers that assign keys to shards: a checkpoint can only be used while they are the same.
        sharding = f"{options.shards or dealt} for {dealt} shuffle partitions"
        return Shards(
            job.trusting() if options.trust_checkpoint else job,
            fingerprint(plan)
            | {"until": begin_tick(plan, options), "shards": sharding}
            | ({"latest": True} if latest else {}),
            max((delay_of(df, plan) or 0) * 1000 // 8, 1_000_000),  # an eighth of the watermark's delay, or more
            ticks_of(plan, options.forget, "forget"),
            early=None if early is None else max(early // 1000, 1),
            lateness=ticks_of(plan, options.allowed_lateness, "allowed_lateness") or 0,
            drop_partial=options.late == "drop_partial",
            begin=begin_tick(plan, options),
            at_rest=isinstance(options.history, History),
            latest=latest,
        )

    def _labels(self, options: Options) -> tuple[int, ...]:
        dealt = partitions(self.df.sparkSession)
        return labels(options.shards or dealt, dealt)

    def checked(self, plan: Plan, options: Options) -> DataFrame:
        """The stream with its watermark; QueryError if the query cannot be answered on a stream."""
        df = self._with_watermark(plan, options)
        self._check_able(plan, options)
        if emits_empty(plan) and options.forget is None:
            raise QueryError(
                "empty='emit' on a stream gives a key windows until it is forgotten; expected "
                ".stream(forget='1 day'), or how long it may be without an event"
            )
        for name in ("forget", "early", "allowed_lateness"):
            ticks_of(plan, getattr(options, name), name)
        for name in marks(options):
            if name in (known := plan.result_schema.names):
                raise QueryError(
                    f"the result has a column {name!r} of its own, which says what windows are; found {known}, "
                    "expected another name"
                )
        if options.late == "update" and (reason := why_no_revisions(plan)) is not None:
            raise QueryError(f"closed windows cannot be given again: {reason}; expected late='drop'")
        if delay_of(df, plan) is None:
            raise QueryError(
                f"the stream has no watermark on its time {plan.time!r}; expected one before ff.events, such as "
                f"stream.withWatermark({plan.time!r}, '10 minutes'), or .stream(watermark='10 minutes')"
            )
        return without_history(df, plan, options)

    def _check_able(self, plan: Plan, options: Options) -> None:
        """QueryError or EngineError where no stream, or not this session, answers the query."""
        spark = self.df.sparkSession
        check_result(spark, plan)
        if (reason := why_not(plan)) is not None:
            raise QueryError(f"a stream cannot answer this query: {reason}")
        if not options.trust_checkpoint:
            for name in pickled_outputs(plan):
                raise QueryError(
                    f"the states of {name!r} are Python objects, which a checkpoint has as pickles: who can "
                    "write there can run code here; expected .stream(trust_checkpoint=True), or an AggregateOperation"
                )
        check_able(spark)

    def _with_watermark(self, plan: Plan, options: Options) -> DataFrame:
        """The stream with the watermark of the options, if any; times that the watermark must not see are left out."""
        df = self.df
        if options.watermark is None:
            return df
        if delay_of(df, plan) is not None:
            raise QueryError(
                f"watermark is {options.watermark!r}, but the stream has one on its time {plan.time!r}; expected one"
            )
        time = spelt(plan.time, df.columns)
        if options.ahead is not None:
            latest = f.unix_micros(f.current_timestamp()) + plan.times.length(options.ahead, "ahead")
            ahead = f.unix_micros(column(time).cast("timestamp")) > latest
            df = df.observe(name_of_its_own(f"{NAME}_ahead"), f.count_if(ahead).alias("events_ahead"))
            df = df.where(~f.coalesce(ahead, f.lit(False)))
        return df.withWatermark("`" + time.replace("`", "``") + "`", options.watermark)


def marks(options: Options) -> tuple[str, ...]:
    """Extra columns (provisional, revision) when a window may be emitted more than once."""
    return PROVISIONAL[: options.early is not None] + REVISION[: options.late == "update"]


def mode_of(options: Options) -> str:
    """The output mode."""
    return "Update" if marks(options) else "Append"


def delay_of(df: DataFrame, plan: Plan) -> int | None:
    """The delay of the watermark on a stream's time, in milliseconds; None where there is none."""
    fields = {field.name: field for field in df.schema.fields}
    delay = fields[spelt(plan.time, fields)].metadata.get(WATERMARK)
    return None if delay is None else int(delay)


def with_time(schema: t.StructType, df: DataFrame, plan: Plan, options: Options) -> t.StructType:
    """A result's schema with the watermark on its windows, by which further operators of Spark's know what is late.

    It is as the windows of Spark's own ``window()`` have it. Without it where a result can be of a window that ended
    before an earlier watermark, which these operators would take for late.
    """
    if marks(options) or not all(each.closes_at_end for each in plan.axis.windows):
        return schema
    # The window, its end, or the time at which windows end.
    place = len(plan.by) + (options.window == "flat" and plan.axis.beside is None)
    window, delay = schema.fields[place], {WATERMARK: delay_of(df, plan)}
    marked = t.StructField(window.name, window.dataType, window.nullable, {**window.metadata, **delay})
    return t.StructType([*schema.fields[:place], marked, *schema.fields[place + 1 :]])


def ticks_of(plan: Plan, duration: Duration | None, named: str) -> int | None:
    """A duration that an option has, in ticks."""
    return None if duration is None else plan.times.length(duration, named)
