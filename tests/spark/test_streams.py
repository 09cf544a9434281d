"""Streams: the windows that a watermark closes are those of the batch, each once, whatever the shards and restarts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..support.spark_parts import labels, murmur3
from ..support.spark_results import conf
from ..support.stream_source import (
    MINUTE,
    OUTPUTS,
    PARTITIONS,
    WINDOWS,
    Source,
    batches,
    between,
    every_row,
    expected,
    late_events,
    rows,
    table,
)

pytestmark = pytest.mark.usefixtures("rocksdb")

IN_ORDER: dict[str, Any] = {"n": ff.Count(), "xs": ff.CollectList("x")}
BACK: dict[str, Any] = {
    "n": ff.Count(),
    "share": ff.Sum("x").over("1 hour") / ff.Sum("x").over("7 days"),
    "both": ff.AllOf(now=ff.Count().over("1 hour"), before=ff.Count().over("1 day")),
}
STREAM_TIME = pa.timestamp("us", tz="UTC")
BOUNDS = pa.array([at * MINUTE for at in (0, 20, 40, 60)]).cast(STREAM_TIME)
OWN_WINDOWS = pa.table({"from": BOUNDS[:3], "to": BOUNDS[1:], "key": list("abc")})

GO_ON = {"landmark": 120, "lookback": 3990, "lookback-of-months": 3990}
"""Windows that go on after the last event before the one that closes all others, and the minute up to which not."""

Program = Callable[[Any], Any]
"""Results of events, of a stream or of a table."""


def events(data: Any, **more: Any) -> Any:
    return ff.events(data, time="time", by="key", **more)


def windowed(windows: Any, outputs: dict[str, Any] = OUTPUTS) -> Program:
    several = windows if isinstance(windows, tuple) else (windows,)
    return lambda data: events(data).window(*several).aggregate(**outputs)


def own_windows(spark: SparkSession | None, **more: Any) -> Program:
    """Windows of a table, or of a static DataFrame."""
    return lambda data: windowed(
        ff.windows_from(
            OWN_WINDOWS if spark is None or isinstance(data, pa.Table) else spark.createDataFrame(OWN_WINDOWS),
            start="from",
            end="to",
            **more,
        )
    )(data)


def lasting(data: Any) -> Any:
    """Events of three minutes each."""
    if isinstance(data, pa.Table):
        data = data.append_column("until", pc.add(data["time"], pa.scalar(3 * MINUTE, pa.duration("us"))))
    else:
        data = data.selectExpr("*", "time + interval 3 minutes as until")
    return events(data, until="until").window(ff.snapshot()).aggregate(n=ff.Count())


def of_structs(data: Any) -> Any:
    """Keys that are structs, with nulls in them."""
    if isinstance(data, pa.Table):
        keys = [{"key": row["key"], "low": None if row["x"] > 1 else row["x"] < 0} for row in data.to_pylist()]
        data = data.append_column("pair", pa.array(keys))
    else:
        data = data.selectExpr("*", "struct(key, if(x > 1, null, x < 0) as low) as pair")
    return ff.events(data, time="time", by="pair").window(WINDOWS["sliding"]).aggregate(**OUTPUTS)


def low_and_high(data: Any) -> Any:
    """Two inputs in the same windows: Spark's watermark is the least of theirs."""
    if isinstance(data, pa.Table):
        low, high = data.filter(pc.field("x") < 0), data.filter(pc.field("x") >= 0).rename_columns(["time", "key", "y"])
    else:
        low, high = data.where("x < 0"), data.where("x >= 0").withColumnRenamed("x", "y")
    both = ff.together(low=events(low), high=events(high)).window(WINDOWS["sliding"])
    return both.aggregate(n=ff.Count(), s=ff.Sum("low.x"), t=ff.Sum("high.y"))


def programs(spark: SparkSession) -> dict[str, Program]:
    held = {
        "last-rows": ff.last_rows(3),
        "time-around": ff.around(time=("-5 minutes", "0 minutes")),
        "policies": ff.policy(ff.by_count(4), ff.by_delta("x", 1.0)),
        "landmark": ff.landmark(every="10 minutes"),
        "several": (ff.sliding("20 minutes", every="10 minutes"), ff.session("90 seconds")),
    }
    return {
        **{name.replace(" ", "-"): windowed(windows) for name, windows in WINDOWS.items()},
        **{name: windowed(windows, IN_ORDER) for name, windows in held.items()},
        "lookback": windowed(ff.lookback("10 minutes", "1 hour", every="10 minutes", closed="right"), BACK),
        "lookback-of-months": windowed(ff.lookback("1 day", "1 month", every="1 day", closed="both"), BACK),
        "lives": lasting,
        "structs": of_structs,
        "together": low_and_high,
        "own": own_windows(None),
        "own-of-a-DataFrame": own_windows(spark),
        "own-of-keys": own_windows(spark, by="key", empty="skip"),
    }


@pytest.mark.slow
def test_windows_of_every_kind_are_those_of_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Started once for the first micro-batches and once more for the rest; the watermark passes all but the last."""
    source, tables = Source(spark, tmp_path), batches()
    stream = source.plain.withWatermark("time", "10 minutes")
    for part in (tables[:2], tables[2:]):
        source.add(*part)
        running = source.run(**{name: program(stream) for name, program in programs(spark).items()})
        assert {name: late_events(query) for name, query in running.items()} == dict.fromkeys(running, 0)
    for name, program in programs(spark).items():
        found, batch = source.found(name), program(pa.concat_tables(tables[:-1]))
        if name in GO_ON:
            found, batch = (between(each, -1, GO_ON[name] * MINUTE) for each in (found, batch))
        assert every_row(found) == every_row(batch), name
        assert len(found) >= 3, name


@pytest.mark.slow
def test_one_task_can_have_all_of_a_micro_batch(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a stream comes in one partition, after its watermark, and state is in one, nothing is shuffled."""
    source, tables = Source(spark, tmp_path), batches()
    one = source.add(*tables).plain.withWatermark("time", "10 minutes").coalesce(1)
    with conf(spark, {PARTITIONS: "1"}):
        query = source.run(out=windowed(WINDOWS["sliding"])(one))["out"]
    query.explain()
    plan = capsys.readouterr().out
    assert "TransformWithState" in plan
    assert "Exchange" not in plan
    assert rows(source.found()) == rows(expected(WINDOWS["sliding"], tables))


@pytest.mark.slow
def test_a_broken_clock_closes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """An event of the year 2200 in the second batch is dropped, and those of the third are in time."""
    broken = pa.table({"time": pa.array([7_258_118_400_000_000]).cast(STREAM_TIME), "key": ["a"], "x": [0.0]})
    source = Source(spark, tmp_path).add(table(0, 30), broken, table(30, 60, seed=1), table(400, 401))
    ahead = events(source.plain).stream(watermark="10 minutes", ahead="1 hour")
    query = source.run(out=ahead.window(ff.tumbling("10 minutes")).aggregate(n=ff.Count()))["out"]
    assert sum(source.found()["n"].to_pylist()) == 600
    assert late_events(query) == 0
    assert sum(ff.stream_metrics(each)["events_ahead"] for each in query.recentProgress) == 1


def test_labels_are_dealt_as_spark_does(spark: SparkSession) -> None:
    numbers = [0, 1, -1, 7, 2**31 - 1, -(2**31)]
    theirs = spark.createDataFrame([(each,) for each in numbers], "label int").selectExpr("hash(label) as h").collect()
    assert [murmur3(each) for each in numbers] == [row.h for row in theirs]
    assert sorted(murmur3(each) % 5 for each in labels(13, 5)) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4]
