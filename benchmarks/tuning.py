"""What the numbers of the ``tuning.py`` of each room bring: a case with a fourth of it, and with four times as much.

``python -m benchmarks.tuning`` prints the times of processors, in times those with the number as it is; of numbers that
say when memory is given back to the system, the most memory that the case holds at a time, too. What a task of Spark
does is measured in this process; ``--spark`` measures what the driver decides, with a Spark of its own: the time of its
processes together.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff
from framefold.aggregators import tuning as of_aggregators
from framefold.runtime import tuning as of_runtime
from framefold.runtime.accumulate.accumulate import accumulate
from framefold.runtime.plan.bind import bind
from framefold.runtime.streams.scope import counted
from framefold.runtime.streams.shard import Shard
from framefold.spark import tuning as of_spark

from .sliding import Own, OwnWithDeduct

Measure = Callable[[Callable[[], Any]], float]
"""What a call takes: the seconds of processors, or memory."""

ROUNDS, ROUNDS_ON_SPARK = 7, 5
"""Timed rounds of each case, in turn with and without a change; the least of each are compared."""

CASE_OF = {
    "PORTION_ROWS": "Sum by the hour, in order",
    "MAX_PORTION_ROWS": "Sum by the hour, many keys",
    "PORTION_BYTES": "Sum by the hour, in order",
    "EVENTS_PER_PARTIAL": "Sum by the hour, many keys",
    "KEYS_ROWS": "Sum beside each event, many keys",
    "MANY_ROWS": "Sum beside each event, many keys",
    "KEY_TILE_ROWS": "Sum by the hour, many keys",
    "MAX_SPARSE": "Sum by the hour, many keys",
    "ROWS_PER_GROUP": "Sum by the hour, many keys",
    "MAX_PLACES": "Sum by the hour, many keys",
    "FEW_PLACES": "Sum by the hour, many keys",
    "MAX_COUNTED": "Sum by the hour, many keys",
    "RUNS_SAMPLE": "Max by ten minutes, keys of text",
    "LONG_RUN_OF_TEXT": "Max by ten minutes, keys of text",
    "MIN_SORTED_RUN": "Sum by the hour, many keys",
    "PENDING_PARTIALS": "Max around each event",
    "NEAR_PARTIALS": "Sum by the hour, in no order",
    "FEW_BYTES": "Medians around each event, large partials",
    "HELD_BYTES": "Medians around each event, large partials",
    "MIN_CHUNK": "Median around each event",
    "MIN_CHUNK_BYTES": "Median around each event",
    "CHUNK_WINDOWS": "Sum around each event",
    "CHUNK_BYTES": "Max around each event",
    "CHUNK_BYTES_OF_LISTS": "Histogram by the hour",
    "BYTES_OF_VALUE": "Median around each event",
    "BLOCK_VALUES": "Median around each event",
    "BLOCK_WINDOWS": "Median around each event",
    "BLOCK_WIDTHS": "CountDistinct by the hour",
    "TILE_WINDOWS": "Sum around each event",
    "TILE_ROWS": "Sum around each event",
    "ROWS_PER_WIDTH": "Sum around each event",
    "REGULAR_RUN": "Max by ten minutes, keys of text",
    "LONG_RUN_OF_WINDOWS": "Max of the last 1,000 rows",
    "SCANNED_RANGES": "Max around each event",
    "SHORT_SEGMENT": "a user's operation around each event",
    "MANY_SEGMENTS": "a user's operation around each event",
    "MAX_GROUPS": "a user's operation around each event",
    "MAX_SEGMENTS": "Variance of the last 1,000 rows",
    "MIN_SEGMENTS_ALONE": "Variance of the last 1,000 rows",
    "MAX_STATES": "Variance of the last 1,000 rows",
    "MIN_WINDOWS": "Variance of the last 1,000 rows",
    "MIN_SEGMENTS_OF_RUN": "Variance of the last 1,000 rows",
    "RESTART_ROWS": "Histogram by the hour",
    "MANY_RANGES": "Histogram by the hour",
    "RESTART_STEPS": "Sum of intervals",
    "READ_ROWS": "Sum by the hour, of a file",
    "THREADS_FROM_BYTES": "blobs of a task, many keys",
    "MIN_RADIX_ROWS": "Sum by the hour, many keys",
    "MAX_RADIX_CODES": "Sum by the hour, many keys",
    "ORDER_SAMPLE": "Sum by the hour, in order",
    "MOSTLY_FULL": "blobs of a task, in order",
    "MAX_COPIES": "First of intervals",
    "CALL_COST": "a user's sums around each event",
    "LEVELS_A_PART": "a user's operation in given windows",
    "MAX_PLANES": "Sum of all sizes around each event",
    "PAGE_PARTIALS": "a shard of a stream",
    "CACHED_ROWS": "Variance by the hour, in order",
    "DEVIATION_ROWS": "Variance of all sizes by the hour",
    "SQUARE_STATES": "Variance by Spark SQL",
    "DENSE_VALUES": "Mode by the hour, many keys",
    "MIN_SORTED_ROWS": "Median by the hour, many keys",
    "SUMMED_ITEMS": "Sum of distinct values by the hour",
    "OBJECT_SAMPLE": "a user's Python by the hour",
    "TASK_HELD_BYTES": "blobs of a task, many keys",
    "BLOB_ROWS": "blobs of a task, many keys",
    "WEIGHT_BYTES": "blobs of a task, values",
    "MERGED_ROWS": "a task after a shuffle, many keys",
    "SLID_ROWS": "a task after a shuffle, many keys",
    "ROW_BYTES": "a task after a shuffle, values",
    "WIRE_ROWS": "a task after a shuffle, many keys",
    "WIRE_BYTES": "a task after a shuffle, values",
    "FEW_EVENTS": "Sum of a DataFrame of a file",
    "MANY_A_GROUP": "Sum of a DataFrame of a file, by Spark SQL",
    "FEW_GROUPS": "Sum of a DataFrame of a file, by Spark SQL",
    "PARTIALS_AT_ONCE": "Sum of a DataFrame, many keys",
    "MIN_SHARE": "Sum of files, many keys",
    "READ_TASK_BYTES": "Sum of files, many keys",
    "MIN_READ_TASK_BYTES": "Sum of files, many keys",
    "READ_TASKS_A_CORE": "Sum of files, many keys",
    "LOCAL_RELATION_BYTES": "few results, used by Spark",
    "RESULT_TASK_ROWS": "many results, used by Spark",
    "RESULT_TASK_BYTES": "many results, used by Spark",
    "ASOF_BUCKETS": "an as-of join on Spark",
    "BUCKET_STEP": "a join of validities on Spark",
}
"""The case that a number is for."""

OF_MEMORY = ("FEW_BYTES", "HELD_BYTES")
"""The numbers that say when memory is given back."""


def events(rows: int, keys: int, ordered: bool, text: bool = False) -> pa.Table:
    """Events of a day."""
    rng = np.random.default_rng(3)
    ticks = rng.integers(0, 86_400_000_000, rows)
    key = rng.integers(0, keys, rows)
    return pa.table({
        "t": pa.array(np.sort(ticks) if ordered else ticks, pa.timestamp("us")),
        "k": pa.array([f"key {each}" for each in range(keys)]).take(pa.array(key)) if text else key,
        "x": rng.normal(size=rows),
        "i": rng.integers(0, 1000, rows),
    })  # fmt: skip


class Words(ff.PythonOperation):
    """A list of the digits that were seen, as a user writes it."""

    result = "int64"

    def create(self) -> Any:
        return frozenset()

    def accumulate(self, state: Any, value: Any) -> Any:
        return state | {value % 10}

    def combine(self, a: Any, b: Any) -> Any:
        return a | b

    def finish(self, state: Any) -> Any:
        return len(state)


def cases(rows: int) -> dict[str, Callable[[], Any]]:
    """Queries that between them ask for each number."""
    ordered, mixed = events(rows, 1, True), events(rows, 1, False)
    many, text = events(rows, rows // 1000, False), events(rows, 100, True, text=True)
    minutes, hour = ff.sliding("10 minutes", every="10 seconds"), ff.sliding("1 hour", every="1 minute")
    around, last = ff.around(time=("-10 minutes", "0 minutes")), ff.last_rows(1000)
    lived = ordered.append_column(
        "end", pa.array(ordered["t"].cast("int64").to_numpy() + 60_000_000, ordered["t"].type)
    )

    sizes = np.ldexp(1.0, np.random.default_rng(4).integers(-150, 150, rows))
    of_all_sizes = ordered.set_column(2, "x", pa.array(ordered["x"].to_numpy() * sizes))
    starts = np.sort(ordered["t"].cast("int64").to_numpy()[::4])
    widths = np.random.default_rng(5).integers(1, 600_000_000, len(starts))
    given = pa.table(
        {"start": pa.array(starts, ordered["t"].type), "end": pa.array(starts + widths, ordered["t"].type)}
    )
    large = ff.events(events(4 * rows, 1, False), time="t", by="k").window(around)
    file = Path(tempfile.mkdtemp()) / "events.parquet"
    pq.write_table(mixed, file)

    def query(data: Any, windows: Any, operation: Any, **more: Any) -> Callable[[], Any]:
        asked = ff.events(data, time="t", by="k", **more).window(windows)
        return lambda: asked.aggregate(a=operation)

    beside = ff.events(many, time="t", by="k").window(around)
    return {
        "Sum beside each event, many keys": lambda: beside.with_columns(a=ff.Sum("x")),
        "Medians around each event, large partials": lambda: large.aggregate(a=ff.Median("x"), b=ff.Median("i")),
        "Sum by the hour, in order": query(ordered, hour, ff.Sum("x")),
        "Sum by the hour, in no order": query(mixed, hour, ff.Sum("x")),
        "Sum by the hour, many keys": query(many, hour, ff.Sum("x")),
        "Max by ten minutes, keys of text": query(text, minutes, ff.Max("x")),
        "Sum around each event": query(ordered, around, ff.Sum("x")),
        "Max around each event": query(ordered, around, ff.Max("x")),
        "Max of the last 1,000 rows": query(ordered, last, ff.Max("x")),
        "Variance of the last 1,000 rows": query(ordered, last, ff.Variance("x")),
        "Histogram by the hour": query(ordered, hour, ff.Histogram("i", list(range(0, 1001, 100)))),
        "Median around each event": query(ordered, around, ff.Median("x")),
        "CountDistinct by the hour": query(ordered, hour, ff.CountDistinct("i")),
        "Mode by the hour, many keys": query(many, hour, ff.Mode("i")),
        "Sum of intervals": query(lived, hour, ff.Sum("x"), until="end"),
        "a user's operation around each event": query(ordered, around, Own("i")),
        "Sum by the hour, of a file": query(ff.parquet(str(file)), hour, ff.Sum("x")),
        "First of intervals": query(lived, minutes, ff.First("x"), until="end"),
        "a user's sums around each event": query(ordered, around, OwnWithDeduct("i")),
        "a user's operation in given windows": query(
            ordered, ff.windows_from(given, start="start", end="end"), Own("i")
        ),
        "Sum of all sizes around each event": query(of_all_sizes, around, ff.Sum("x")),
        "Variance by the hour, in order": query(ordered, hour, ff.Variance("x")),
        "Variance of all sizes by the hour": query(of_all_sizes, hour, ff.Variance("x")),
        "Median by the hour, many keys": query(many, hour, ff.Median("x")),
        "Sum of distinct values by the hour": query(ordered, hour, ff.DistinctSum("i")),
        "a user's Python by the hour": query(ordered.slice(0, rows // 8), hour, Words("i")),
        "a shard of a stream": shard_case(many.slice(0, rows // 8)),
        **task_cases(ordered, many),
    }


def shard_case(events: pa.Table) -> Callable[[], Any]:
    """Fifty micro-batches, in the order of time, through one shard, whose state is bytes."""
    from framefold.spark.convert.partials_codec import opened, to_ipc

    events = events.sort_by("t")
    windows = ff.sliding("10 minutes", every="1 minute")
    plan = counted(bind(events.schema, time="t", by=["k"], window=windows, outputs={"a": ff.Sum("x")}))
    size = max(1, len(events) // 50)
    ticks = events["t"].cast("int64").to_numpy()
    batches = [(events.slice(start, size), int(ticks[start])) for start in range(0, len(events), size)]

    class State:
        def __init__(self) -> None:
            self.tables: dict[int, Any] = {}

        def pages(self) -> list[int]:
            return list(self.tables)

        def get(self, page: int) -> pa.Table | None:
            return opened(self.tables[page]) if page in self.tables else None

        def put(self, page: int, table: pa.Table) -> None:
            self.tables[page] = to_ipc(table)

        def remove(self, page: int) -> None:
            self.tables.pop(page, None)

    def run() -> None:
        shard = Shard(plan, State())
        for number, (batch, watermark) in enumerate(batches):
            list(shard.advance(watermark))
            shard.add(accumulate(plan, batch.select(plan.columns), number))

    return run


def task_cases(ordered: pa.Table, many: pa.Table) -> dict[str, Callable[[], Any]]:
    """What tasks of Spark do, in this process."""
    from pyspark.sql import types as t

    from framefold.spark.convert.types import output_schema
    from framefold.spark.engine import tasks

    windows = ff.sliding("10 minutes", every="1 minute")

    def task(events: pa.Table, operation: Any) -> tuple[tasks.Job, list[pa.RecordBatch]]:
        plan = bind(events.schema, time="t", by=["k"], window=windows, outputs={"a": operation})
        job = tasks.Job(plan, output_schema(plan.result_schema, [t.LongType()]))
        return job, events.select(plan.columns).to_batches(max_chunksize=10_000)

    def blobs(job: tasks.Job, batches: list[pa.RecordBatch]) -> Callable[[], Any]:
        return lambda: list(tasks.merge_blobs(job, 1 << 40, tasks.accumulate_to_ipc(job, None, iter(batches))))

    def shuffled(job: tasks.Job, batches: list[pa.RecordBatch]) -> Callable[[], Any]:
        partials = pa.Table.from_batches(tasks.accumulate(job, iter(batches)))
        partials = partials.sort_by([(name, "ascending") for name in partials.column_names[:3]])
        rows = partials.combine_chunks().to_batches(max_chunksize=10_000)
        return lambda: [*tasks.merge(job, iter(rows)), *tasks.slide(job, iter(rows))]

    return {
        "blobs of a task, many keys": blobs(*task(many, ff.Sum("x"))),
        "blobs of a task, in order": blobs(*task(ordered, ff.Sum("x"))),
        "blobs of a task, values": blobs(*task(ordered, ff.Median("x"))),
        "a task after a shuffle, many keys": shuffled(*task(many, ff.Sum("x"))),
        "a task after a shuffle, values": shuffled(*task(ordered, ff.Median("x"))),
    }


def spark_cases(rows: int) -> dict[str, Callable[[], Any]]:
    """Queries on Spark that between them ask for what its driver decides by."""
    from framefold.spark.session.session import local_session

    from .relations import LENGTH, validities

    spark = local_session("framefold tuning", "local[2]")
    folder = Path(tempfile.mkdtemp())
    ordered, many = events(2 * rows, 1, True), events(rows, rows // 1000, False)
    pq.write_table(ordered, folder / "ordered.parquet")
    (folder / "many").mkdir()
    for number in range(16):
        pq.write_table(many.slice(number * rows // 16, rows // 16), folder / "many" / f"{number}.parquet")
    hour, minutes = ff.sliding("1 hour", every="10 minutes"), ff.tumbling("1 minute")
    validity = [spark.createDataFrame(validities(rows, seed, span=rows * LENGTH // 100)).cache() for seed in (1, 2)]
    left, right = (ff.relation(each, valid_from="valid_from", valid_to="valid_to") for each in validity)

    def query(data: Any, windows: Any, used: Callable[[Any], Any], operation: Any, **options: Any) -> Callable[[], Any]:
        def run() -> Any:
            asked = ff.events(data(), time="t", by="k").options(**options).window(windows)
            return used(asked.aggregate(a=operation))

        return run

    def of_file() -> Any:
        return spark.read.parquet(str(folder / "ordered.parquet"))

    def of_files() -> Any:
        return ff.parquet(str(folder / "many"), spark=spark)

    def of_frame() -> Any:
        return spark.read.parquet(str(folder / "many")).repartition(2)

    def collected(results: Any) -> Any:
        return results.toArrow()

    def summed(results: Any) -> Any:
        return results.selectExpr("sum(a)").collect()

    return {
        "Variance by Spark SQL": query(of_frame, hour, collected, ff.Variance("x"), accumulate="spark"),
        "Sum of a DataFrame of a file": query(of_file, hour, collected, ff.Sum("x"), read="spark", accumulate="python"),
        "Sum of a DataFrame of a file, by Spark SQL": query(
            of_file, hour, collected, ff.Sum("x"), read="spark", accumulate="spark"
        ),
        "Sum of a DataFrame, many keys": query(of_frame, minutes, collected, ff.Sum("x"), accumulate="python"),
        "Sum of files, many keys": query(of_files, minutes, collected, ff.Sum("x")),
        "few results, used by Spark": query(of_files, ff.tumbling("1 hour"), summed, ff.Count()),
        "many results, used by Spark": query(of_files, minutes, summed, ff.Sum("x")),
        "an as-of join on Spark": lambda: left.join(right, on="k", how="asof", prefix="r_").rows().count(),
        "a join of validities on Spark": lambda: left.join(right, on="k", prefix="r_").rows().count(),
    }


@contextmanager
def with_number(name: str, value: int) -> Iterator[None]:
    """Another value of a number, wherever it is imported."""
    with ExitStack() as stack:
        for module in [each for each in sys.modules.values() if each.__name__.startswith("framefold.")]:
            if name in vars(module):
                stack.enter_context(patch.object(module, name, value))
        yield


def seconds(run: Callable[[], Any]) -> float:
    """The time of processors that a call takes, in all threads together, and in the processes that were started.

    Again where one of these ends meanwhile, such as an idle worker of Python: its time is not known any more.
    """
    while True:
        own, before = time.process_time(), others()
        run()
        after = others()
        if before.keys() <= after.keys():
            return time.process_time() - own + sum(after.values()) - sum(before.values())


def others() -> dict[int, float]:
    """The seconds of processors that the processes below this one have taken, with those that they waited for."""
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(stat.parent.name)] = int(words[1])
        used[int(stat.parent.name)] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    own = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in own} - own:
        own |= more
    return {each: used[each] for each in own - {os.getpid()}}


def peak(run: Callable[[], Any]) -> int:
    """The most memory that this process holds during a call, in KiB: Linux forgets what it held before."""
    Path("/proc/self/clear_refs").write_text("5")
    run()
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


MEASURES: dict[str, Measure] = {"time": seconds, "memory": peak}


def ratio(measure: Measure, run: Callable[[], Any], name: str, value: int, rounds: int) -> float:
    """The time of a case, or its memory, with another number, in times that with the number as it is."""
    run()
    plain, changed = [], []
    for _ in range(rounds):
        plain.append(measure(run))
        with with_number(name, value):
            changed.append(measure(run))
    return min(changed) / min(plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", help="one number, by its name")
    parser.add_argument("--rows", type=int, default=1_000_000, help="events of a case (default: a million)")
    parser.add_argument("--spark", action="store_true", help="those that need a Spark, and not the others")
    options = parser.parse_args()
    found = (spark_cases if options.spark else cases)(options.rows)
    numbers = {**vars(of_aggregators), **vars(of_runtime), **vars(of_spark)}
    for name, value in numbers.items():
        if name.isupper() and options.only in (None, name) and CASE_OF[name] in found:
            rounds = ROUNDS_ON_SPARK if options.spark else ROUNDS
            case = CASE_OF[name]
            for what, measure in MEASURES.items() if name in OF_MEMORY else [("time", seconds)]:
                changed = (max(1, int(value * times)) for times in (0.25, 4))
                few, many = (ratio(measure, found[case], name, other, rounds) for other in changed)
                print(f"{name}: {what} with a fourth {few:.2f}, four times {many:.2f} ({case})", flush=True)


if __name__ == "__main__":
    main()
