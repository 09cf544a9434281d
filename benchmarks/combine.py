"""Where partials of many tasks are best merged: on the driver, by tasks before it, or by key on executors.

``python -m benchmarks.combine`` prints the table that the report has, of the whole way from partials, which are there
already, to results that are thrown away. Each task has partials of all groups, which are (key, frame).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import framefold as ff
from framefold.runtime.columns.malloc import raise_mmap_threshold
from framefold.runtime.plan.bind import bind
from framefold.runtime.plan.plan import Plan
from framefold.spark.convert.types import output_schema
from framefold.spark.engine import driver, tasks
from framefold.spark.engine.combining import Combining, choose
from framefold.spark.engine.decision import decide
from framefold.spark.engine.events_source import BLOBS, first_by_tasks, merged
from framefold.spark.engine.source import PartialRows
from framefold.spark.options import Options
from framefold.spark.session.session import local_session
from framefold.spark.session.staging import stage

KEYS, START, MINUTE = 100, 1_767_225_600_000_000, 60_000_000
SCHEMA = pa.schema({"t": pa.timestamp("us", "UTC"), "k": pa.int64(), "x": pa.float64()})
SIZES = ((20, 14_400), (200, 14_400), (200, 144_000))
"""Tasks, and partials of each of them."""
LIMIT = Options.max_driver_partials
ROUNDS = 3
"""One, where partials are more than come to the driver: executors take more than a minute then."""


def query() -> Plan:
    """Sum and count over an hour every minute."""
    window = ff.sliding("1 hour", every="1 minute")
    return bind(SCHEMA, time="t", by=["k"], window=window, outputs={"total": ff.Sum("x"), "events": ff.Count()})


def events(spark: SparkSession, count: int, each: int) -> DataFrame:
    """Events in random order, one of each group in each of some tasks."""
    group = f"(id % {each} * 7919) % {each}"  # a prime, so that all groups come
    numbered = spark.range(0, count * each, 1, count).selectExpr(f"{group} as g", "id")
    time = f"timestamp_micros({START} + g div {KEYS} * {MINUTE} + id % {MINUTE}) as t"
    return numbered.selectExpr(f"{time}", f"g % {KEYS} as k", "cast(id % 1000 as double) / 7 as x").toDF(
        "c0", "c1", "c2"
    )


def ways(spark: SparkSession, job: tasks.Job, blobs: DataFrame, count: int) -> dict[str, Callable[[], DataFrame]]:
    """The ways, each from persisted partials to results."""
    decision = decide(job.plan, Options(combine="driver", accumulate="python"))
    most = LIMIT // max(count, 1)

    def here(found: DataFrame) -> DataFrame:
        done = driver.on_driver(spark, job, decision, merged(job.plan, found.toArrow()))
        assert done is not None
        return done

    def by_key() -> DataFrame:
        rows = stage(blobs, tasks.from_blobs, job, schema=job.codec.spark_schema)
        return driver.on_executors(spark, job, PartialRows(rows, tasks.slide, ("frame", "batch_rank")))

    found = {"driver": lambda: here(blobs), "executors": by_key}
    return found | ({"tasks": lambda: here(first_by_tasks(blobs, job, count, most))} if count else {})


def measured(spark: SparkSession, count: int, each: int, rounds: int) -> tuple[dict[str, float], Combining]:
    """The median of the seconds of each way, and which one would be chosen."""
    plan = query()
    job = tasks.Job(plan, output_schema(plan.result_schema, [spark.range(1).schema["id"].dataType]))
    blobs = stage(events(spark, count, each), tasks.accumulate_to_ipc, job, None, schema=BLOBS).persist()
    try:
        assert blobs.groupBy().sum("rows").collect()[0][0] == count * each
        chosen = choose([each] * count, LIMIT, os.cpu_count() or 1, rounds=True)
        taken: dict[str, list[float]] = {}
        possible = ways(spark, job, blobs, min(count // 2, os.cpu_count() or 1))
        for turn in range(rounds):
            for name in sorted(possible, reverse=turn % 2 == 1):
                begin = time.perf_counter()
                possible[name]().write.format("noop").mode("overwrite").save()
                taken.setdefault(name, []).append(time.perf_counter() - begin)
        return {name: statistics.median(each) for name, each in taken.items()}, chosen
    finally:
        blobs.unpersist()


def cells(sizes: Sequence[tuple[int, int]] = SIZES, rounds: int = ROUNDS) -> dict[str, list[str]]:
    """For each size: the seconds of each way, and the one that ``combine="auto"`` takes."""
    raise_mmap_threshold()
    settings = {"spark.driver.memory": "4g", "spark.driver.maxResultSize": "3g"}
    spark = local_session("framefold combine", **settings)
    found = {}
    for count, each in sizes:
        seconds, chosen = measured(spark, count, each, rounds if count * each <= LIMIT else 1)
        row = [f"{seconds[way]:.2f}" if way in seconds else "" for way in ("driver", "tasks", "executors")]
        found[f"{count:,} x {each:,} = {count * each:,}"] = [*row, chosen.way]
    return found


def table(found: dict[str, list[str]]) -> list[str]:
    """The measurement as lines of Markdown."""
    return [
        "| tasks x partials | driver, s | tasks first, s | executors, s | chosen |",
        "| --- | ---: | ---: | ---: | --- |",
        *(f"| {name} | {' | '.join(each)} |" for name, each in found.items()),
    ]


if __name__ == "__main__":
    print("\n".join(table(cells())))
