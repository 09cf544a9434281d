"""Lookbacks on a running stream: as a definition has them at each watermark, and together with open ones as a batch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from dateutil.relativedelta import relativedelta

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
HOUR, DAY, WEEK = dt.timedelta(hours=1), dt.timedelta(days=1), dt.timedelta(days=7)

OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "s": ff.Sum("x"), "top": ff.Max("x"),
    "share": ff.Sum("x").over("1 hour") / ff.Sum("x").over("7 days"),
    "both": ff.AllOf(now=ff.Count().over("1 hour"), before=ff.Count().over("1 day")),
}  # fmt: skip

BACK: dict[str, Any] = {
    "1h": HOUR, "1d": DAY, "7d": WEEK, "1mo": relativedelta(months=1),
}  # fmt: skip
"""How far each size looks back."""

CASES: dict[str, tuple[tuple[str, ...], dt.timedelta, str]] = {
    "left": (("1 hour", "1 day"), 6 * HOUR, "left"),
    "right": (("1 hour",), 6 * HOUR, "right"),
    "months": (("1 day", "1 month"), DAY, "both"),
}
"""Sizes, the step, and which ends belong to windows."""

INSIDE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "left": lambda times, begin, end: (begin <= times) & (times < end),
    "right": lambda times, begin, end: (begin < times) & (times <= end),
    "both": lambda times, begin, end: (begin <= times) & (times <= end),
}


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


def outputs_of(rows: dict[str, list[Any]], own: Sequence[str]) -> dict[str, Any]:
    """What outputs have, of the values in the window of each size."""

    def total(suffix: str) -> float | None:
        return sum(each for each in rows[suffix] if each is not None) if any(rows[suffix]) else None

    found: dict[str, Any] = {f"n_{suffix}": len(rows[suffix]) for suffix in own}
    found |= {f"s_{suffix}": total(suffix) for suffix in own}
    found |= {f"top_{suffix}": max((each for each in rows[suffix] if each), default=None) for suffix in own}
    now, before = total("1h"), total("7d")
    found["share"] = None if now is None or before is None else now / before
    return found | {"both": {"now": len(rows["1h"]), "before": len(rows["1d"])}}


class Definition:
    """The rows that micro-batches give, and the number of the events that they drop, by what each word means.

    Of a key and step there is a row where any window has an event. It is given by the micro-batch whose watermark is
    not before the end of the windows, with the events that have come by then.
    """

    def __init__(self, case: str, batches: Sequence[pa.Table]) -> None:
        sizes, self.every, closed = CASES[case]
        self.own = [{"hour": "1h", "day": "1d", "month": "1mo"}[each.split()[1]] for each in sizes]
        self.after = TICK * (closed != "left")
        self.inside, self.known = INSIDE[closed], {*self.own, "1h", "1d", "7d"}
        self.rows: list[dict[str, Any]] = []
        self.late = 0
        seen: list[tuple[Any, ...]] = []
        before = watermark = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        for each in batches:
            before = watermark
            watermark = max([watermark, *(event[0] - DELAY for event in seen)])
            new = list(zip(*(each[name].to_pylist() for name in ("time", "key", "x")), strict=True))
            self.late += sum(self.closes_at_last(event[0]) <= before for event in new)
            seen += new
            self.give(seen, before, watermark)

    def steps(self, first: dt.datetime, last: dt.datetime) -> Iterator[dt.datetime]:
        """The steps between two times, and one before them."""
        at = START + (first - START) // self.every * self.every
        while at <= last:
            yield at
            at += self.every

    def closes_at_last(self, time: dt.datetime) -> dt.datetime:
        """When the last window closes that takes in a time."""
        found = time
        for at in self.steps(time, time + 40 * DAY):
            if any(self.inside(time, at - BACK[suffix], at) for suffix in self.known):
                found = at + self.after
        return found

    def give(self, seen: list[tuple[Any, ...]], before: dt.datetime, watermark: dt.datetime) -> None:
        """Note the rows of windows that close after one time, by another one."""
        if not seen:
            return
        times = np.array([event[0].timestamp() for event in seen])
        first = min(event[0] for event in seen)
        for at in self.steps(max(before, first), min(watermark, dt.datetime(2025, 1, 1, tzinfo=dt.UTC))):
            if not before < at + self.after <= watermark:
                continue
            bounds = {suffix: (at - BACK[suffix]).timestamp() for suffix in self.known}
            some = np.flatnonzero(self.inside(times, min(bounds.values()), at.timestamp()))
            for key in {seen[number][1] for number in some}:
                mine = [number for number in some if seen[number][1] == key]
                values = {
                    suffix: [seen[number][2] for number in mine if self.inside(times[number], begin, at.timestamp())]
                    for suffix, begin in bounds.items()
                }
                self.rows.append({"key": key, "at": at} | outputs_of(values, self.own))


def same_rows(found: pa.Table, wanted: list[dict[str, Any]]) -> None:
    """Assert that rows of any order are equal."""

    def said(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(str(row | {"at": row["at"].timestamp()}) for row in rows)

    assert said(found.to_pylist()) == said(wanted)


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
        same_rows(found, Definition(case, [*tables, NONE]).rows)
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
        wanted = Definition(case, [*tables[:2], NONE, *tables[2:], FAR, NONE])
        same_rows(source.found(case), wanted.rows)
        dropped = late_events(running[case])
        if case == "months":  # as if each were the longest one: such events are in no window, and not counted
            assert 0 <= dropped <= wanted.late
        else:
            assert dropped == wanted.late > 5
        assert len(wanted.rows) > 200


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
    wanted = [row for row in batch.to_pylist() if row["at"] > begin]
    same_rows(source.found("out"), wanted)
    totals: dict[Any, list[int]] = {}
    for row in wanted:
        totals.setdefault((row["key"], row["at"].date()), []).append(row["n_1d"])
    given = {
        (row["key"], row["window"]["start"].date()): (row["rows"], row["n"]) for row in source.found("days").to_pylist()
    }
    assert given == {of: (len(counts), sum(counts)) for of, counts in totals.items()}
    for case, marked in (("left", True), ("right", False)):
        schema = query(source, case).aggregate(**OUTPUTS).schema
        assert ("spark.watermarkDelayMs" in schema["at"].metadata) == marked
