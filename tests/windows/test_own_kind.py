"""A kind of windows in one file runs on every engine: locally, on Spark, and on a stream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.duck import asked
from ..support.stream_source import Source
from ..support.windows import PartialsView, Ranges, Spec, Windows

SECOND = 1_000_000


@dataclass(frozen=True)
class Octaves(Spec):
    """Windows that double: [0, 1), [1, 2), [2, 4), [4, 8) seconds and so on since the epoch."""

    def __str__(self) -> str:
        return "octaves of seconds"

    def bind(self, time: Any, type_of: Any) -> Windows:
        return OctaveWindows(time=time)


@dataclass(frozen=True, kw_only=True)
class OctaveWindows(Windows):
    """The same in ticks: a frame a window."""

    def frames(self, ticks: Any, ranks: Any = None) -> tuple[Any, Any]:
        return np.frexp(ticks // SECOND)[1].astype(np.int64), ticks >= 0

    def ranges(self, partials: PartialsView) -> Ranges:
        row = np.arange(len(partials.frames))
        ends = SECOND << partials.frames
        return Ranges(row, row + 1, row, np.where(partials.frames > 0, ends // 2, 0), ends)

    def describe(self) -> str:
        return "octaves of seconds"


OUTPUTS: dict[str, Any] = {"n": ff.Count(), "x": ff.Sum("x")}


def events() -> pa.Table:
    """Events of two keys over a thousand seconds, in no order."""
    rng = np.random.default_rng(5)
    ticks = rng.permutation(rng.integers(0, 1000 * SECOND, 400))
    keys, x = rng.choice(["a", "b"], 400), rng.integers(-9, 9, 400).astype(float)
    return pa.table({"time": pa.array(ticks).cast(pa.timestamp("us", "UTC")), "key": keys, "x": x})


def brute(table: pa.Table, last: int) -> list[tuple[str, int, int, int, float]]:
    """By DuckDB: key, bounds in seconds, number and sum of each window that ends by a second."""
    query = f"""
        select key, stop // 2, stop, count(*), sum(x)
        from events, (select 1::bigint << unnest(range(40)) as stop) where stop <= {last}
            and epoch_us(time) // {SECOND} < stop and epoch_us(time) // {SECOND} >= stop // 2
        group by all order by all"""
    return asked(query, events=table).fetchall()


def rows(result: pa.Table) -> list[tuple[str, int, int, int, float]]:
    """The same of a result."""
    bounds = [result["window"].combine_chunks().field(end).cast("int64").to_numpy() // SECOND for end in (0, 1)]
    columns = [result["key"].to_pylist(), *(each.tolist() for each in bounds), *(result[c].to_pylist() for c in "nx")]
    return sorted(zip(*columns, strict=True))


def test_in_one_process_alone_and_beside_other_windows() -> None:
    for others in ((), (ff.tumbling("1 hour"),)):
        found = ff.events(events(), time="time", by="key").window(Octaves(), *others).aggregate(**OUTPUTS)
        octaves = [row for row in rows(found) if row[2] != 3600]
        assert octaves == brute(events(), 1024)
        assert len(octaves) > 15


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_on_spark(spark: Any, combine: str) -> None:
    frame = spark.createDataFrame(events())
    query = ff.events(frame, time="time", by="key").window(Octaves()).options(combine=combine)
    assert rows(query.aggregate(**OUTPUTS).toArrow()) == brute(events(), 1024)


def test_on_a_stream(spark: Any, rocksdb: None, tmp_path: Path) -> None:
    """By what every kind has from the start: events are held back until the watermark has passed them."""
    table = events().sort_by("time")
    source = Source(spark, tmp_path).add(*(table.slice(at, 100) for at in range(0, 400, 100)))
    late = source.plain.withWatermark("time", "1 second")
    source.run(out=ff.events(late, time="time", by="key").window(Octaves()).aggregate(**OUTPUTS))
    assert rows(source.found()) == brute(table, 512)
