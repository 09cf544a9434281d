"""What the benchmark of streams runs: framefold, a part of it, and what Spark has for the same windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql import types as t
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import framefold as ff
from framefold.runtime.streams.scope import counted
from framefold.spark.convert.names import under_plain_names
from framefold.spark.engine.tasks import Job
from framefold.spark.session.staging import stage
from framefold.spark.streams.labels import labels
from framefold.spark.streams.packets import PACKETS, pack_partials

Query = Callable[[DataFrame], DataFrame]

PARTITIONS = "spark.sql.shuffle.partitions"
"""Of the state."""


def framefold(size: str) -> Query:
    """Our own, in windows of a size every minute."""
    windows = ff.sliding(size, every="1 minute")
    outputs = {"total": ff.Sum("x"), "events": ff.Count()}
    return lambda events: ff.events(events, time="t", by="k").window(windows).aggregate(**outputs)


def accumulating(events: DataFrame) -> DataFrame:
    """The first stage of our own alone: partials of each micro-batch, without a state."""
    windows = ff.events(events, time="t", by="k").window(ff.sliding("1 hour", every="1 minute"))
    plan = counted(windows._bound({"total": ff.Sum("x"), "events": ff.Count()})[1])
    partitions = int(str(events.sparkSession.conf.get(PARTITIONS)))
    rows, dealt = under_plain_names(events, plan.columns), labels(partitions, partitions)
    return stage(rows, pack_partials, Job(plan, events.schema), dealt, schema=PACKETS)


def window(events: DataFrame) -> DataFrame:
    """Each event is copied into its sixty windows."""
    return events.groupBy("k", f.window("t", "1 hour", "1 minute")).agg(f.sum("x").alias("total"), f.count("*"))


def chained(events: DataFrame) -> DataFrame:
    """Minutes, then each minute copied into sixty windows."""
    minutes = events.groupBy("k", f.window("t", "1 minute")).agg(f.sum("x").alias("x"), f.count("*").alias("n"))
    timed = minutes.select("k", "x", "n", f.window_time("window").alias("t"))
    return timed.groupBy("k", f.window("t", "1 hour", "1 minute")).agg(f.sum("x").alias("total"), f.sum("n"))


def one_state(events: DataFrame) -> DataFrame:
    """A count for each of two groups: the same shuffle and hardly any state."""
    return events.groupBy((f.col("k") % 2).alias("k")).count()


def one_value(events: DataFrame) -> DataFrame:
    """Our own packets and shuffle, and of each shard a count of them: what Spark's state in Python takes by itself."""

    class Counter(StatefulProcessor):  # in here it is pickled whole
        def init(self, handle: Any) -> None:
            self.count = handle.getValueState("count", t.StructType().add("n", t.LongType()))

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            found = self.count.get()
            self.count.update(((0 if found is None else found[0]) + sum(1 for _ in rows),))
            yield Row(n=0)

    dealt = accumulating(events).groupBy("shard")
    return dealt.transformWithState(Counter(), t.StructType().add("n", t.LongType()), "Append", "EventTime")


def latest(events: DataFrame) -> DataFrame:
    """Our own value now: of a window that all events are in, and that ends next."""
    windows = ff.sliding("40000 days", every="20000 days")
    of = ff.events(events, time="t", by="k").window(windows)
    return of.latest(total=ff.Sum("x"), events=ff.Count())


def updated(events: DataFrame) -> DataFrame:
    """The same of Spark: the sum and the count of each key that has changed, of all events up to now."""
    return events.groupBy("k").agg(f.sum("x").alias("total"), f.count("*"))


OURS, LONGER, ALONE = "framefold, 1 h every 1 min", "framefold, 10 h every 1 min", "framefold, accumulating alone"
WINDOW, CHAINED = "Spark window(), 1 h every 1 min", "Spark, a tumbling minute chained with window()"
ONE_STATE, ONE_VALUE = "Spark, one small state", "Spark, one small state in Python after our shuffle"
OURS_TWO, ONE_STATE_TWO, ONE_VALUE_TWO = (f"{name}, 2 partitions" for name in (OURS, ONE_STATE, ONE_VALUE))
LATEST, UPDATED = "framefold, the value now", "Spark groupBy, update mode"
FLINK = "PyFlink HOP(), 1 h every 1 min"
CONTENDERS: Mapping[str, tuple[Query, str, int | None]] = {
    OURS: (framefold("1 hour"), "append", None),
    LONGER: (framefold("10 hours"), "append", None),
    ALONE: (accumulating, "append", None),
    WINDOW: (window, "append", 2),
    CHAINED: (chained, "append", 2),
    ONE_STATE: (one_state, "update", None),
    ONE_VALUE: (one_value, "append", None),
    LATEST: (latest, "update", None),
    UPDATED: (updated, "update", None),
    OURS_TWO: (framefold("1 hour"), "append", 2),
    ONE_STATE_TWO: (one_state, "update", 2),
    ONE_VALUE_TWO: (one_value, "append", 2),
}
"""Each with its output mode and the partitions of its state; None: those of the size."""
