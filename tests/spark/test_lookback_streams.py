"""Lookbacks on a running stream: at each watermark, and together with open ones, as a batch has them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

import framefold as ff

from ..support.stream_source import Source, every_row, late_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rocksdb")

START = dt.datetime(2024, 1, 30, tzinfo=dt.UTC)
DELAY = dt.timedelta(minutes=10)
TICK = dt.timedelta(microseconds=1)
HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)

OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "s": ff.Sum("x"), "top": ff.Max("x"),
    "share": ff.Sum("x").over("1 hour") / ff.Sum("x").over("7 days"),
    "both": ff.AllOf(now=ff.Count().over("1 hour"), before=ff.Count().over("1 day")),
}  # fmt: skip

CASES: dict[str, tuple[tuple[str, ...], dt.timedelta, str]] = {
    "left": (("1 hour", "1 day"), 6 * HOUR, "left"),
    "right": (("1 hour",), 6 * HOUR, "right"),
    "months": (("1 day", "1 month"), DAY, "both"),
}
"""Sizes, the step, and which ends belong to windows."""

LONGEST = 7 * DAY
"""What outputs look back, if no size of the windows is longer."""


def table(first: float, last: float, rows: int, seed: int) -> pa.Table:
    """Events between two days, at whole quarters of an hour, in any order."""
    rng = np.random.default_rng(seed)
    quarters = rng.integers(int(first * 96), int(last * 96), rows)
    times = pa.array([START + dt.timedelta(minutes=15) * int(each) for each in quarters], pa.timestamp("us", "UTC"))
    values = [None if each == 0 else float(each) for each in rng.integers(0, 9, rows)]
    keys = [["a", "b", None][each] for each in rng.integers(0, 3, rows)]
    return pa.table({"time": times, "key": pa.array(keys, pa.string()), "x": pa.array(values, pa.float64())})


def query(source: Source, case: str, **options: Any) -> Any:
    sizes, every, closed = CASES[case]
    return source.query(ff.lookback(*sizes, every=every, closed=closed), **options)  # type: ignore[arg-type]


def at_a_time(case: str, tables: Sequence[pa.Table]) -> tuple[Counter[str], int]:
    """The rows that micro-batches give, and the number of the events that they drop.

    A row is given by the micro-batch whose watermark is not before the end of its windows, with the events that have
    come by then: as a batch has it. An event is late if the watermark of the micro-batch before has passed its last
    window.
    """
    sizes, every, closed = CASES[case]
    after, rows, late = TICK * (closed != "left"), Counter[str](), 0
    before = watermark = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for number, table in enumerate(tables):
        before, times = watermark, [time for each in tables[:number] for time in each["time"].to_pylist()]
        watermark = max([watermark, *(time - DELAY for time in times)])
        for time in table["time"].to_pylist():
            last = START + (time + LONGEST - after - START) // every * every
            late += last + after <= before
        windows = ff.lookback(*sizes, every=every, closed=closed)  # type: ignore[arg-type]
        events = ff.events(pa.concat_tables(tables[: number + 1]), time="time", by="key")
        batch = events.window(windows).aggregate(**OUTPUTS)
        rows += every_row(batch.filter(pa.array([before < at + after <= watermark for at in batch["at"].to_pylist()])))
    return rows, late


FAR = pa.table({
    "time": pa.array([START + 150 * DAY], pa.timestamp("us", "UTC")), "key": ["z"], "x": pa.array([1.0]),
})  # fmt: skip
"""An event that closes the windows of all others."""
NONE = FAR.slice(0, 0)


@pytest.mark.slow
def test_as_defined_and_as_in_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    tables = [table(0, 2, 40, 1), table(2, 5, 40, 2), table(40, 41, 40, 3)]
    source = Source(spark, tmp_path).add(*tables)
    running = source.run(**{case: query(source, case).aggregate(**OUTPUTS) for case in CASES})
    for case, (sizes, every, closed) in CASES.items():
        found = source.found(case)
        assert every_row(found) == at_a_time(case, [*tables, NONE])[0], case
        events = ff.events(pa.concat_tables(tables), time="time", by="key")
        batch = events.window(ff.lookback(*sizes, every=every, closed=closed)).aggregate(**OUTPUTS)  # type: ignore[arg-type]
        rest = query(source, case).still_open(tmp_path / f"{case}-checkpoint", **OUTPUTS).toArrow()
        assert every_row(found) + every_row(rest) == every_row(batch), case
        assert min(len(found), len(rest)) > 40
        assert late_events(running[case]) == 0


@pytest.mark.slow
def test_late_events_enter_what_is_open_across_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """They are in the steps that the watermark has not passed; those that have none are dropped."""
    tables = [table(0, 2, 40, 1), table(50, 51, 20, 2), table(0, 51, 60, 3), table(60, 62, 20, 4), table(20, 61, 60, 5)]
    source = Source(spark, tmp_path)
    for some in (tables[:2], [*tables[2:], FAR]):
        source.add(*some)
        running = source.run(**{case: query(source, case, shards=3).aggregate(**OUTPUTS) for case in CASES})
    for case in CASES:
        wanted, late = at_a_time(case, [*tables[:2], NONE, *tables[2:], FAR, NONE])
        assert every_row(source.found(case)) == wanted
        assert case == "months" or late_events(running[case]) == late > 5
        assert wanted.total() > 200


@pytest.mark.slow
def test_a_history_before_it_and_windows_of_sparks_after_it(spark: SparkSession, tmp_path: Path) -> None:
    """The time at which windows end has the watermark, where they close then."""
    from pyspark.sql import functions as f

    tables = [table(0, 9, 60, 1), table(9, 20, 60, 2), FAR]
    source = Source(spark, tmp_path).add(*tables[1:])
    begin = START + 9 * DAY
    result = query(source, "left", history=spark.createDataFrame(tables[0]), until=begin).aggregate(**OUTPUTS)
    days = result.groupBy("key", f.window("at", "1 day")).agg(f.count("*").alias("rows"), f.sum("n_1d").alias("n"))
    source.run(out=result, days=days)
    events = ff.events(pa.concat_tables(tables[:2]), time="time", by="key")
    sizes, every, _ = CASES["left"]
    batch = events.window(ff.lookback(*sizes, every=every)).aggregate(**OUTPUTS)
    batch = batch.filter(pc.greater(batch["at"], pa.scalar(begin, batch["at"].type)))
    assert every_row(source.found("out")) == every_row(batch)
    totals: dict[Any, list[int]] = {}
    for row in batch.to_pylist():
        totals.setdefault((row["key"], row["at"].date()), []).append(row["n_1d"])
    given = {
        (row["key"], row["window"]["start"].date()): (row["rows"], row["n"]) for row in source.found("days").to_pylist()
    }
    assert given == {of: (len(counts), sum(counts)) for of, counts in totals.items()}
    for case, marked in (("left", True), ("right", False)):
        schema = query(source, case).aggregate(**OUTPUTS).schema
        assert ("spark.watermarkDelayMs" in schema["at"].metadata) == marked
