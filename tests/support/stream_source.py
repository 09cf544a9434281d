"""A stream of files on Spark, its windows, and what came of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    Sink = Callable[[DataFrame, int], None]

MINUTE = 60_000_000
DELAY = 10 * MINUTE
BUSY, PATIENCE = "Python worker failed to connect back", 20
"""What a machine says that is so busy that a worker does not start in time, and how often a query is started then."""

PARTITIONS = "spark.sql.shuffle.partitions"
SCHEMA = "time timestamp, key string, x double"
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Median("x"), "v": ff.Variance("x")}
WINDOWS = {
    "sliding": ff.sliding("20 minutes", every="5 minutes"),
    "sliding in two frames a step": ff.sliding("20 minutes", every="7 minutes", offset="3 minutes", closed="right"),
    "cumulating": ff.cumulating("30 minutes", every="10 minutes"),
    "days of a zone": ff.tumbling("1 day", timezone="Asia/Kathmandu"),
    "sessions": ff.session("90 seconds"),
}


def table(first: int, last: int, rows: int = 300, seed: int = 0) -> pa.Table:
    """Events between two minutes, in any order."""
    rng = np.random.default_rng(seed)
    times = pa.array(rng.integers(first * MINUTE, last * MINUTE, rows)).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"time": times, "key": rng.choice(["a", "b", "c", "d"], rows), "x": rng.normal(0, 1, rows)})


def batches() -> list[pa.Table]:
    """Three batches, each within ten minutes of what came before, and a last one that closes a day."""
    return [*(table(30 * number, 30 * number + 38, seed=number) for number in range(3)), table(4000, 4001, 9)]


class Source:
    """A folder that a stream reads, a file a micro-batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.count = 0
        (folder / "in").mkdir(parents=True)

    def add(self, *tables: pa.Table) -> Source:
        for each in tables:
            path = self.folder / "in" / f"{self.count}.parquet"
            pq.write_table(each, path)
            self.count += 1
            os.utime(path, (1_000_000_000 + self.count, 1_000_000_000 + self.count))
        return self

    @property
    def plain(self) -> DataFrame:
        return self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(self.folder / "in"))

    def query(self, windows: Any = WINDOWS["sliding"], **options: Any) -> Any:
        stream = self.plain.withWatermark("time", "10 minutes")
        several = windows if isinstance(windows, tuple) else (windows,)
        return ff.events(stream, time="time", by="key").window(*several).stream(**options)

    def start(self, result: DataFrame, name: str = "out", checkpoint: str | None = None) -> StreamingQuery:
        return into_files(result, self.folder / name, self.folder / (checkpoint or f"{name}-checkpoint"))

    def run(self, **results: DataFrame) -> dict[str, StreamingQuery]:
        """Run queries side by side to the end of their input, each with the sink and the checkpoint of its name."""
        running = {name: self.start(result, name) for name, result in results.items()}
        return {
            name: ended(query, lambda name=name: self.start(results[name], name)) for name, query in running.items()
        }

    def go_on(self, result: DataFrame, checkpoint: str, name: str = "out") -> StreamingQuery:
        """Run a query to the end of its input, with a checkpoint and a sink of two names."""
        return ended(self.start(result, name, checkpoint), lambda: self.start(result, name, checkpoint))

    def run_into(self, sink: Sink, result: DataFrame, checkpoint: str, mode: str = "append") -> StreamingQuery:
        """Run a query to the end of its input, and call a function with each micro-batch and its number."""
        writer = result.writeStream.foreachBatch(sink).outputMode(mode)
        writer = writer.option("checkpointLocation", str(self.folder / checkpoint)).trigger(availableNow=True)
        return ended(writer.start(), writer.start)

    def found(self, name: str = "out") -> pa.Table:
        return self.spark.read.parquet(str(self.folder / name)).toArrow()


def into_files(result: DataFrame, path: Path, checkpoint: Path) -> StreamingQuery:
    """Start a query that ends with its input."""
    writer = result.writeStream.format("parquet").option("path", str(path))
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()


def ended(query: StreamingQuery, start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Wait for a query, and start it again if a worker has not started in the ten seconds that Spark gives it."""
    from pyspark.errors import StreamingQueryException

    for _ in range(PATIENCE):
        try:
            assert query.awaitTermination(900)
            return query
        except StreamingQueryException as error:
            if BUSY not in str(error):
                raise
            query = start()
    raise TimeoutError(BUSY)


def nowhere(batch: DataFrame, number: int) -> None:
    """A sink that computes a micro-batch, and keeps nothing of it."""
    batch.write.format("noop").mode("overwrite").save()


def rows(found: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in found.select(["key", "window", *OUTPUTS]).to_pylist())


def every_row(found: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in found.to_pylist())


def batch_of(windows: Any, tables: Sequence[pa.Table], outputs: dict[str, Any] = OUTPUTS) -> pa.Table:
    """The windows of all events by the local engine."""
    return ff.events(pa.concat_tables(tables), time="time", by="key").window(windows).aggregate(**outputs)


def closing(table: pa.Table) -> list[int]:
    """When each window ends, in ticks."""
    ends = table["at"] if "at" in table.column_names else pc.struct_field(table["window"], "end")
    return ends.cast("int64").to_pylist()


def between(table: pa.Table, after: int, until: int) -> pa.Table:
    """The windows that end after one time and by another one."""
    return table.filter(pa.array([after < end <= until for end in closing(table)], pa.bool_()))


def expected(windows: Any, tables: Sequence[pa.Table], outputs: dict[str, Any] = OUTPUTS) -> pa.Table:
    """The batch's windows that end by the watermark."""
    watermark = (max(pc.max(each["time"]).value for each in tables) - DELAY) // 1000 * 1000
    until = watermark - (getattr(windows, "closed", "left") == "right")
    return between(batch_of(windows, tables, outputs), -(1 << 60), until)


def late_events(query: StreamingQuery) -> int:
    return sum(ff.stream_metrics(progress)["late_events"] for progress in query.recentProgress)
