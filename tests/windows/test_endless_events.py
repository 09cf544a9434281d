"""Interval events whose end is null never end: snapshot windows take them in, what would have no end says so."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.shards import Cut, as_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = [pa.int64(), pa.int32(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.timestamp("s")]
ROWS = [(0, 10, 1), (4, None, 2), (12, 20, 4)]


def table(kind: pa.DataType) -> pa.Table:
    whole = pa.int32() if kind.bit_width == 32 else pa.int64()
    since, until, x = zip(*ROWS, strict=True)
    return pa.table({"a": pa.array(since, whole).cast(kind), "b": pa.array(until, whole).cast(kind), "x": x})


def ticks(value: Any, kind: pa.DataType) -> Any:
    if value is None or isinstance(value, int):
        return value
    return pa.scalar(value, kind).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).as_py()


SNAPSHOTS = [(0, 4, 1), (4, 10, 3), (10, 12, 2), (12, 20, 6), (20, None, 2)]


def summed(column: pa.Array) -> pa.Array:
    return pa.array([sum(each) for each in column.to_pylist()], pa.int64())


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_snapshots_take_in_what_never_ends(kind: pa.DataType) -> None:
    for x in (ff.Sum("x"), ff.CollectList("x").then(summed, result=pa.int64())):
        found = ff.events(table(kind), time="a", until="b").window(ff.snapshot()).aggregate(x=x).to_pylist()
        bounds = [(ticks(row["window"]["start"], kind), ticks(row["window"]["end"], kind), row["x"]) for row in found]
        assert bounds == SNAPSHOTS


def test_snapshots_on_spark(spark: SparkSession) -> None:
    events = spark.createDataFrame(table(pa.int64()))
    for combine in ("driver", "executors"):
        asked = ff.events(events, time="a", until="b").window(ff.snapshot()).options(combine=combine)
        rows = asked.aggregate(x=ff.Sum("x")).orderBy("window").collect()
        assert [(*row.window, row.x) for row in rows] == SNAPSHOTS


@pytest.mark.parametrize(
    ("windows", "output", "why"),
    [
        (ff.tumbling(5), ff.Sum("x"), "are in windows of 5 every 5 for ever"),
        (ff.cumulating(6, every=2), ff.Sum("x"), "for ever"),
        (ff.snapshot(), ff.Covered(), r"Covered\(\) is of how long they last"),
        (ff.snapshot(), ff.TimeWeightedAverage("x"), "is of how long they last"),
    ],
)
def test_where_it_cannot_be_answered(windows: Any, output: Any, why: str) -> None:
    events = ff.events(table(pa.int64()), time="a", until="b")
    with pytest.raises(ff.ColumnError, match=f"the end 'b' is null in 1 of 3 events, which never end, and .*{why}"):
        events.window(windows).aggregate(x=output)


def test_the_longest_life_ends_them() -> None:
    asked = ff.events(table(pa.int64()), time="a", until="b", longest=3).window(ff.tumbling(5))
    lives = [(set(range(since, min(since + 3, until or since + 3))), x) for since, until, x in ROWS]
    for row, start in zip(asked.aggregate(x=ff.Sum("x"), c=ff.Covered()).to_pylist(), (0, 5, 10), strict=True):
        inside = [(life & set(range(start, start + 5)), x) for life, x in lives]
        wanted = sum(x for life, x in inside if life), len(set().union(*(life for life, _ in inside)))
        assert (row["x"], row["c"]) == wanted


def test_a_relation_of_interval_events() -> None:
    events = ff.events(table(pa.timestamp("us")), time="a", until="b")
    rows = events.relation().rows()
    assert rows.equals(events.window(ff.snapshot()).relation().rows())
    assert rows.column_names == ["ts", "x", "valid_from", "valid_to"]
    assert rows["valid_to"].null_count == 1
    assert rows["ts"].to_pylist()[1] == dt.datetime(1970, 1, 1, microsecond=4)


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_gives_the_windows_that_end(seed: int) -> None:
    draw = random.Random(seed)
    begins = sorted(draw.randrange(30) for _ in range(14))
    ends = [draw.choice([None, begin + 1, begin + 5, begin + 20]) for begin in begins]
    events = ff.events(pa.table({"a": begins, "b": pa.array(ends, pa.int64()), "x": range(14)}), time="a", until="b")
    streamed = as_stream(events, Cut()).window(ff.snapshot()).aggregate(x=ff.Sum("x")).to_pylist()
    batch = events.window(ff.snapshot()).aggregate(x=ff.Sum("x")).to_pylist()
    assert streamed == [row for row in batch if row["window"]["end"] is not None]
