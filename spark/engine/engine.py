"""The pipeline on Spark, one straight line: events, partials on the executors, then results on either side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...aggregators.errors import EngineError
from ...runtime.accumulate.sql_request import FRAME, Request, TooManyRows
from ...runtime.columns.malloc import keep_at_hand
from ...runtime.plan.plan import Plan
from ...runtime.results.row_blocks import in_blocks
from ..convert import ipc
from ..convert.names import check_result, type_in
from ..convert.partials_codec import PartialsCodec, cast_to
from ..convert.types import arrow_schema, output_schema
from ..input import row_numbers
from ..input.ordering import column, in_row_order, in_time_order
from ..options import Options
from ..session import errors
from ..session.conf_overrides import FASTER_GROUPING, conf_overrides, to_dataframe
from ..session.packaging import pack, ship, task
from ..session.unpersist import keep
from . import result_limits, slide_tasks, tasks
from .explain import by_spark
from .sql_accumulate import aggregated

# Partials on their way to the driver: how many, and themselves as an Arrow stream.
BLOBS = t.StructType([t.StructField("rows", t.LongType()), t.StructField("ipc", t.BinaryType())])


def run(df: DataFrame, plan: Plan, options: Options) -> DataFrame:
    """Run a query over a Spark DataFrame, classic or Connect.

    Parameters
    ----------
    df
        The events.
    query
        Bound to the Arrow schema of `df` (`types.input_schema`).
    options
        Where to combine.

    Returns
    -------
        The key columns, ``window``, ``at`` where the windows have it, and the outputs; sorted by key and window, or by
        key and ``at``.

    Raises
    ------
    EngineError, QueryError
        If the DataFrame is a stream; if two columns of the result are one to the session.
    FramefoldError
        What the query runs into (null times, overflow, a faulty operation), under ``"driver"`` and ``"auto"``; under
        ``"executors"`` the same sentence stands in the exception Spark raises when the result is used.
    """
    if df.isStreaming:
        raise EngineError("the DataFrame is a stream, and streams are not supported yet; expected a batch DataFrame")
    check_result(df.sparkSession, plan)
    pipeline = (BuiltPipeline if by_spark(plan, options)[0] else Pipeline)(df, plan)
    with errors.reraise(df, plan):
        if options.combine == "executors":
            pipeline.number_rows_for_good()
            return pipeline.on_executors(pipeline.partials())
        with pipeline.rows_numbered():
            if options.combine == "driver":
                return pipeline.on_driver(pipeline.packed())
            return pipeline.where_they_fit(options.max_driver_partials)


class Pipeline:
    """One query over the events in one DataFrame: the stages, and where they run."""

    def __init__(self, df: DataFrame, plan: Plan) -> None:
        self.plan = plan
        self.spark: SparkSession = df.sparkSession
        self.df = df
        self.schema = output_schema(plan.result_schema, [type_in(df, name) for name in plan.by])
        gathered = (blocks := in_blocks(plan)) or plan
        wire = PartialsCodec(gathered.partials_schema, len(gathered.by))
        self.job = tasks.Job(plan, wire, arrow_schema(self.schema), blocks)

    @cached_property
    def events(self) -> DataFrame:
        """The query's columns, under plain names: mapInArrow looks them up by name, and stumbles over a dot in one."""
        return self.df.select([column(name).alias(f"c{at}") for at, name in enumerate(self.plan.columns)])

    @cached_property
    def payload(self) -> bytes:
        """The job, packed: not every pipeline has a stage that needs it."""
        return pack(self.job)

    @contextmanager
    def rows_numbered(self) -> Iterator[None]:
        """While this is open, events have row numbers, if the windows are counted in rows."""
        if not self.plan.in_rows:
            yield
            return
        ordered = self._in_row_order().persist()
        try:
            self._number_rows(ordered)
            yield
        finally:
            ordered.unpersist()

    def number_rows_for_good(self) -> None:
        """Give events row numbers that stay right for as long as any DataFrame is used that comes from them."""
        if self.plan.in_rows:
            # Numbers are right for the very pieces that were counted. A DataFrame derived from the result may be used
            # when the result itself, and all that is persisted with it, is gone; a checkpoint lives as long as it.
            self._number_rows(self._in_row_order().localCheckpoint())

    def partials(self) -> DataFrame:
        """The partials of every task, not yet merged across tasks, as rows that Spark can shuffle."""
        return self._stage(self._in_order(), "accumulate", self.job.wire.spark_schema)

    def packed(self) -> DataFrame:
        """The same in packets: few rows, which Spark carries without looking into them."""
        return self._stage(self._in_order(), "accumulate_to_ipc", BLOBS)

    def _in_order(self) -> DataFrame:
        if self.plan.in_rows or not self.plan.ordered:
            return self.events
        plan = self.plan
        (time,), keys, ties = map(self._names, ([plan.time], plan.by, plan.ties))
        return in_time_order(self.events, time, keys, ties, plan.axis.block)

    def _in_row_order(self) -> DataFrame:
        plan = self.plan
        (time,), keys, ties = map(self._names, ([plan.time], plan.by, plan.ties))
        events = self.events.where(f.col(time).isNotNull()) if plan.null_time == "drop" else self.events
        return in_row_order(events, time, keys, ties)

    def _number_rows(self, ordered: DataFrame) -> None:
        keys = self._names(self.plan.by)
        counted = ordered.select(keys or f.lit(0))
        schema = row_numbers.ends_schema([ordered.schema[name] for name in keys])
        offsets = row_numbers.offsets(self._stage(counted, "count", schema).toArrow())
        self.events, self.job = ordered, replace(self.job, offsets=offsets)
        self.payload = pack(self.job)

    def _names(self, columns: Sequence[str]) -> list[str]:
        return [f"c{self.plan.columns.index(name)}" for name in columns]

    def on_driver(self, packed: DataFrame) -> DataFrame:
        """Collect the partials, slide them, and hand the results back to the session."""
        most = result_limits.DRIVER_RESULT_BYTES
        results = result_limits.results(self.plan, *self._merged(self._collected(packed)), most)
        if results is None:
            raise EngineError(
                f"the results take more than the {most >> 20:,} MiB that combine='driver' makes on the driver; "
                "expected combine='executors' or 'auto' for as many"
            )
        return self._hand_back(results)

    def on_executors(self, partials: DataFrame) -> DataFrame:
        """Shuffle the partials by key and slide them where they land; nothing runs yet."""
        return self._stage(*self._by_key(partials), self.schema)

    def _by_key(self, partials: DataFrame) -> tuple[DataFrame, str]:
        """Partials of whole keys in order, in one task each, and the stage that slides them."""
        wire = self.job.wire
        keys = [f.col(name) for name in wire.key_names]
        frame, batch_rank = f.col("frame"), f.col("batch_rank")
        seeds = self.plan.empty_key_partials()
        if len(seeds):
            encoded = pa.Table.from_batches(list(wire.encode(seeds)))
            partials = partials.union(self.spark.createDataFrame(encoded, schema=wire.spark_schema))
        if self.job.blocks is not None:
            gathered = partials.repartitionByRange(*keys)
        elif keys:
            # Range partitioning samples its input, which is to run it twice. With a shuffle in front only what
            # follows that shuffle runs twice, and the events are read once. Merging in between keeps Spark from
            # taking two shuffles in a row for one, and makes the second one smaller.
            spread = partials.repartition(*keys, frame).sortWithinPartitions(*keys, frame, batch_rank)
            merged = self._stage(spread, "merge", wire.spark_schema)
            gathered = merged.repartitionByRange(*keys)
        else:
            gathered = partials.repartition(1)
        return gathered.sortWithinPartitions(*keys, frame, batch_rank), "results"

    def where_they_fit(self, bound: int) -> DataFrame:
        """Compute the partials once, count them, and go on where there is room for them."""
        # Persisted and not checkpointed: a local checkpoint forgets where it came from, so that a lost executor is
        # a lost query, while a persisted partition is computed again. What is persisted must be let go of: here
        # once the driver has it, or with the DataFrame that reads it; one derived from that computes it again.
        packed = self.packed().persist()
        kept = False
        try:
            counts = packed.select("rows").toArrow().column("rows").to_pylist()
            if sum(counts) <= bound:
                result = self.of_driver(packed.toArrow())
                if result is not None:
                    return result
            if self.plan.in_rows:  # for good, as their numbers are: see number_rows_for_good
                return self.on_executors(self._unpacked(packed.localCheckpoint()))
            result = self.on_executors(self._unpacked(packed))
            keep(packed, result)
            kept = True
            return result
        finally:
            if not kept:
                packed.unpersist()

    def _unpacked(self, packed: DataFrame) -> DataFrame:
        return self._stage(packed, "unpacked", self.job.wire.spark_schema)

    def _collected(self, packed: DataFrame) -> pa.Table:
        return packed.toArrow()

    def _opened(self, packed: pa.Table) -> pa.Table:
        """The partials in what ``packed`` gives."""
        return ipc.from_ipc(packed, self.plan.partials_schema)

    def of_driver(self, packed: pa.Table) -> DataFrame | None:
        """Results that the driver makes, or tasks that it sends the partials to; None if there are too many of both."""
        partials, starts = self._merged(packed)
        if (results := result_limits.within_budget(self.plan, partials, starts)) is not None:
            return self._hand_back(results)
        if self.plan.in_rows or partials.nbytes > slide_tasks.SENT_PARTIALS_BYTES:
            return None
        return slide_tasks.sent(self.spark, self.job, partials, starts, self.schema)

    def _merged(self, packed: pa.Table) -> tuple[pa.Table, NDArray[np.intp]]:
        """The partials in what ``packed`` gives and those that no event makes, as ``Plan.by_key`` has them."""
        keep_at_hand()
        return self.plan.by_key(pa.concat_tables([self.plan.empty_key_partials(), self._opened(packed)]))

    def _hand_back(self, results: pa.Table) -> DataFrame:
        return to_dataframe(self.spark, cast_to(results, self.job.results), self.schema)

    def _stage(self, rows: DataFrame, name: str, schema: t.StructType) -> DataFrame:
        ship(self.spark)
        return rows.mapInArrow(task(name, self.payload), schema)


class BuiltPipeline(Pipeline):
    """One query whose partials Spark builds itself."""

    def __init__(self, df: DataFrame, plan: Plan) -> None:
        super().__init__(df, plan)
        self.request = Request(plan, small_counts=True)
        self.most: int | None = None  # partials to collect

    def partials(self) -> DataFrame:
        """The partials of all tasks, merged but for groups that Spark has to tell apart; as Spark gives them."""
        return aggregated(self.df, Request(self.plan))

    def _by_key(self, partials: DataFrame) -> tuple[DataFrame, str]:
        """The same of what Spark gives, so that it comes to Python once."""
        if len(self.plan.empty_key_partials()):
            return super()._by_key(self._stage(partials, "built", self.job.wire.spark_schema))
        keys = self.job.wire.key_names
        # Spark samples what it partitions by range, which runs twice what follows the shuffle of the groups.
        gathered = partials.repartitionByRange(*keys) if keys else partials.repartition(1)
        return gathered.sortWithinPartitions(*keys, FRAME), "built_results"

    def packed(self) -> DataFrame:
        """What Spark adds up, which the driver can read as it is."""
        answer = aggregated(self.df, self.request)
        return answer if self.most is None else answer.limit(self.most)

    def where_they_fit(self, bound: int) -> DataFrame:
        """Collect the partials, if there is room for them; else Spark adds them up anew where they are shuffled."""
        # To persist and count them first, as where Python makes them, would take a third longer.
        self.most = bound + 1
        answer = self._collected(self.packed())
        result = self.of_driver(answer) if len(answer) <= bound else None
        return self.on_executors(self.partials()) if result is None else result

    def _collected(self, packed: DataFrame) -> pa.Table:
        try:
            return self._quickly(packed)
        except ArithmeticException:  # of the user's own, or 64 bits had no room for the integers of so many rows
            return self._with_more_integers()

    def _opened(self, packed: pa.Table) -> pa.Table:
        try:
            return self.request.partials(packed)
        except TooManyRows:
            answer = self._with_more_integers()
            return self.request.partials(answer)

    def _with_more_integers(self) -> pa.Table:
        self.request = Request(self.plan)
        return self._quickly(self.packed())

    def _quickly(self, packed: DataFrame) -> pa.Table:
        with conf_overrides(self.spark, FASTER_GROUPING):
            return packed.toArrow()
