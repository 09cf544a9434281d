"""Streams: the windows that a watermark closes are those of the batch, each once, whatever the shards and restarts."""

from __future__ import annotations

import datetime
from collections import Counter
from datetime import UTC
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

from pyspark.errors import StreamingQueryException

import framefold as ff

from ..oracles.operations import Ledger
from ..support.spark_parts import labels, murmur3
from ..support.stream_source import (
    MINUTE,
    OUTPUTS,
    PARTITIONS,
    SCHEMA,
    WINDOWS,
    Source,
    batches,
    every_row,
    expected,
    late_events,
    rows,
    table,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rocksdb")


IN_ORDER = {
    "last rows": ff.last_rows(3),
    "time around": ff.around(time=("-5 minutes", "0 minutes")),
    "policies": ff.policy(ff.by_count(4), ff.by_delta("x", 1.0)),
    "landmark with a step": ff.landmark(every="10 minutes"),
    "several": (ff.sliding("20 minutes", every="10 minutes"), ff.session("90 seconds")),
}
"""Windows for which events are held back: with an operation that depends on their order."""


def test_windows_are_those_of_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path).add(*batches())
    running = {name: source.start(source.query(each).aggregate(**OUTPUTS), name) for name, each in WINDOWS.items()}
    for name, windows in WINDOWS.items():
        assert running[name].awaitTermination(300)
        same = rows(expected(windows, batches()))
        assert rows(source.found(name)) == same, name
        assert len(same) >= 4, name
        assert late_events(running[name]) == 0


@pytest.mark.slow
def test_windows_that_depend_on_the_order_of_events(spark: SparkSession, tmp_path: Path) -> None:
    """Started once for the first batches and once more for the rest, on other numbers of shards."""
    outputs: dict[str, Any] = {"n": ff.Count(), "xs": ff.CollectList("x")}
    source, tables = Source(spark, tmp_path), batches()
    for some in (tables[:2], tables[2:]):
        source.add(*some)
        running = {
            name: source.start(source.query(each, shards=3).aggregate(**outputs), name)
            for name, each in IN_ORDER.items()
        }
        for query in running.values():
            assert query.awaitTermination(300)
            assert late_events(query) == 0
    reach = 3990 * MINUTE  # the last batch, of a few events, has not been passed
    for name, windows in IN_ORDER.items():
        several = windows if isinstance(windows, tuple) else (windows,)
        events = pa.concat_tables(tables[:-1])
        found = source.found(name)
        batch = ff.events(events, time="time", by="key").window(*several).aggregate(**outputs)
        if name == "landmark with a step":  # goes on to each key's last event
            found = found.filter(pc.less(pc.struct_field(found["window"], "end").cast("int64"), 120 * MINUTE))
            batch = batch.filter(pc.less(pc.struct_field(batch["window"], "end").cast("int64"), 120 * MINUTE))
        assert pc.max(pc.struct_field(found["window"], "end")).cast("int64").as_py() < reach
        assert every_row(found) == every_row(batch), name
        assert len(found) > 5, name


@pytest.mark.slow
def test_interval_events_and_given_windows(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path).add(*batches())
    stream = source.plain.withWatermark("time", "10 minutes").selectExpr("*", "time + interval 3 minutes as until")
    lives = ff.events(stream, time="time", by="key", until="until").window(ff.snapshot()).aggregate(n=ff.Count())
    bounds = pa.array([at * MINUTE for at in (0, 20, 40, 60)]).cast(pa.timestamp("us", tz="UTC"))
    given = ff.windows_from(pa.table({"from": bounds[:3], "to": bounds[1:]}), start="from", end="to")
    queries = [source.start(lives, "lives"), source.start(source.query(given).aggregate(**OUTPUTS), "given")]
    assert all(query.awaitTermination(300) for query in queries)
    events = pa.concat_tables(batches()[:-1])
    until = pc.add(events["time"], pa.scalar(3 * MINUTE, pa.duration("us")))
    batch = ff.events(events.append_column("until", until), time="time", by="key", until="until")
    assert every_row(source.found("lives")) == every_row(batch.window(ff.snapshot()).aggregate(n=ff.Count()))
    expected_given = ff.events(events, time="time", by="key").window(given).aggregate(**OUTPUTS)
    assert every_row(source.found("given")) == every_row(expected_given)


@pytest.mark.slow
def test_several_streams_together(spark: SparkSession, tmp_path: Path) -> None:
    """Two streams in the same windows: Spark's watermark is the least of theirs."""
    source = Source(spark, tmp_path).add(*batches())
    stream = source.plain.withWatermark("time", "10 minutes")
    some, rest = (
        ff.events(data, time="time", by="key")
        for data in (stream.where("x < 0"), stream.where("x >= 0").withColumnRenamed("x", "y"))
    )
    outputs = {"n": ff.Count(), "s": ff.Sum("low.x"), "t": ff.Sum("high.y")}
    both = ff.together(low=some, high=rest).window(WINDOWS["sliding"]).aggregate(**outputs)
    assert source.start(both).awaitTermination(300)
    events = pa.concat_tables(batches()[:-1])
    low, high = events.filter(pc.field("x") < 0), events.filter(pc.field("x") >= 0).rename_columns(["time", "key", "y"])
    inputs = {"low": ff.events(low, time="time", by="key"), "high": ff.events(high, time="time", by="key")}
    assert every_row(source.found()) == every_row(ff.together(**inputs).window(WINDOWS["sliding"]).aggregate(**outputs))


@pytest.mark.slow
def test_windows_without_an_event(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path).add(table(0, 9), table(100, 101), table(300, 301))
    windows = ff.tumbling("10 minutes", empty="emit")
    with pytest.raises(ff.QueryError, match=r"until it is forgotten; expected \.stream\(forget='1 day'\)"):
        source.query(windows).aggregate(n=ff.Count())
    assert source.start(source.query(windows, forget="2 hours").aggregate(n=ff.Count())).awaitTermination(300)
    found = source.found().sort_by([("key", "ascending")])
    counts = Counter(found["key"].to_pylist())
    # From 0 to the one from 220 on, which begins within two hours of the last event before it.
    assert counts == dict.fromkeys("abcd", 23)
    assert sum(found["n"].to_pylist()) == 600


@pytest.mark.slow
def test_shards_and_restarts_do_not_show(spark: SparkSession, tmp_path: Path) -> None:
    """A query that stops after each batch goes on where it was; with one shard and with seven, on two partitions."""
    source, tables = Source(spark, tmp_path), batches()
    same = rows(expected(WINDOWS["sliding"], tables))
    for some in (tables[:2], tables[2:]):
        source.add(*some)
        for shards in (1, 7):
            assert source.start(source.query(shards=shards).aggregate(**OUTPUTS), f"of {shards}").awaitTermination(300)
    for shards in (1, 7):
        assert rows(source.found(f"of {shards}")) == same


@pytest.mark.slow
def test_one_task_can_have_all_of_a_micro_batch(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a stream comes in one partition, after its watermark, and state is in one, nothing is shuffled."""
    source, tables, partitions = Source(spark, tmp_path), batches(), spark.conf.get(PARTITIONS)
    one = source.add(*tables).plain.withWatermark("time", "10 minutes").coalesce(1)
    spark.conf.set(PARTITIONS, 1)
    try:
        query = source.start(ff.events(one, time="time", by="key").window(WINDOWS["sliding"]).aggregate(**OUTPUTS))
        assert query.awaitTermination(300)
    finally:
        spark.conf.set(PARTITIONS, partitions)
    query.explain()
    said = capsys.readouterr().out
    assert "TransformWithState" in said
    assert "Exchange" not in said
    assert rows(source.found()) == rows(expected(WINDOWS["sliding"], tables))


def test_late_events_are_counted_and_enter_what_is_open(spark: SparkSession, tmp_path: Path) -> None:
    """At 12:00 less ten minutes: an event of 11:45 is in two windows that are open, one of 11:25 in none.

    That of 11:40 comes in the micro-batch that closes two of its windows, and is in these, too.
    """
    tables = [
        pa.table({
            "time": pa.array([at * MINUTE for at in times]).cast(pa.timestamp("us", tz="UTC")),
            "key": ["a"] * len(times),
            "x": [float(at) for at in times],
        })
        for times in ([720], [700], [705, 685], [800])
    ]  # fmt: skip
    source = Source(spark, tmp_path).add(*tables)
    query, dropped = (
        source.start(source.query().aggregate(**OUTPUTS)),
        source.start(source.query().late(**OUTPUTS), "late"),
    )
    held = source.start(source.query(ff.last_rows(2)).late(n=ff.Count()), "held")
    whole = source.start(source.query(late="drop_partial").late(n=ff.Count()), "whole")
    assert all(each.awaitTermination(300) for each in (query, dropped, held, whole))
    assert late_events(query) == 1
    assert source.found("late").to_pylist() == tables[2].to_pylist()[1:]
    assert sorted(source.found("held")["x"].to_pylist()) == [685.0, 705.0], "those that the watermark has passed"
    assert sorted(source.found("whole")["x"].to_pylist()) == [685.0, 705.0], "that of 11:45 is in one that has closed"
    found = source.found()
    ends = [end // MINUTE for end in pc.struct_field(found["window"], "end").cast("int64").to_pylist()]
    assert sorted(zip(ends, found["s"].to_pylist(), strict=True)) == [
        (705, 700.0), (710, 700.0), (715, 1405.0), (720, 1405.0),
        (725, 1425.0), (730, 720.0), (735, 720.0), (740, 720.0),
    ]  # fmt: skip


def test_open_windows_are_given_early_and_closed_ones_again(spark: SparkSession, tmp_path: Path) -> None:
    """Where windows take late events for fifteen minutes after they have closed."""
    times = [720, 705, 685, 800]
    source = Source(spark, tmp_path).add(*(
        pa.table({"time": pa.array([at * MINUTE]).cast(pa.timestamp("us", tz="UTC")), "key": ["a"], "x": [float(at)]})
        for at in times
    ))  # fmt: skip
    options: dict[str, Any] = {"early": "1 millisecond", "late": "update", "allowed_lateness": "15 minutes"}
    result = source.query(**options).aggregate(s=ff.Sum("x"))
    writer = result.writeStream.format("memory").queryName("updates").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path / "updates")).trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    assert late_events(query) == 0

    wanted = Counter[Any]()
    watermarks = [
        -(10**6),
        -(10**6),
        710,
        710,
        710,
        790,
    ]  # before the first micro-batch, and of each; the last is empty
    for number, (before, watermark) in enumerate(pairwise(watermarks)):
        came = list(zip(times[: number + 1], watermarks, strict=False))
        for end in range(690, 830, 5):
            held = [at for at, of in came if end - 20 <= at < end and end + 15 > of]
            new = number < len(times) and times[number] in held
            if end <= before and new:
                wanted[end, float(sum(held)), False, True] += 1
            if before < end <= watermark and held:
                wanted[end, float(sum(held)), False, False] += 1
            if end > watermark and held and number < len(times):
                wanted[end, float(sum(held)), True, False] += 1
    found = spark.table("updates").toArrow()
    ends = [end // MINUTE for end in pc.struct_field(found["window"], "end").cast("int64").to_pylist()]
    columns = [found[name].to_pylist() for name in ("s", "provisional", "revision")]
    assert Counter(zip(ends, *columns, strict=True)) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sliding", "sessions", "last rows"])
def test_a_stream_goes_on_from_its_history(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    """Of what both have, the history gives what comes before a time, and the stream the rest: no event counts twice."""
    windows, tables = (IN_ORDER | WINDOWS)[kind], batches()
    until, events = 35 * MINUTE, pa.concat_tables(tables)
    source = Source(spark, tmp_path).add(*tables)
    pq.write_table(events, tmp_path / "history.parquet")
    history = spark.read.schema(SCHEMA).parquet(str(tmp_path / "history.parquet"))
    options = {"history": ff.events(history, time="time"), "until": datetime.datetime.fromtimestamp(35 * 60, UTC)}
    query = source.start(source.query(windows, **options).aggregate(**OUTPUTS))
    assert query.awaitTermination(300)
    assert late_events(query) == 0

    found = expected(windows, tables)
    closed = found["at"] if "at" in found.column_names else pc.struct_field(found["window"], "end")
    new = pc.greater_equal if "at" in found.column_names else pc.greater
    assert rows(source.found()) == rows(found.filter(new(closed.cast("int64"), until)))


def test_histories_that_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    source, until = Source(spark, tmp_path), "1970-01-01T00:35:00+00:00"
    with pytest.raises(ff.QueryError, match="history is not given and until is '1970-"):
        source.query(until=until)
    refused = {
        "history is a stream; expected a DataFrame of the events before until": source.plain,
        "history is 7; expected a DataFrame": 7,
        "history has no column 'x'; found \\['time', 'key'\\], expected those of the stream": spark.createDataFrame(
            [], "time timestamp, key string"
        ),
        "the column 'x' of history is string; expected double, as in the stream": spark.createDataFrame(
            [], "time timestamp, key string, x string"
        ),
    }
    for message, history in refused.items():
        with pytest.raises(ff.QueryError, match=message):
            source.query(history=history, until=until).aggregate(s=ff.Sum("x"))


def test_updates_that_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    update: dict[str, Any] = {"late": "update", "allowed_lateness": "1 hour"}
    with pytest.raises(ff.QueryError, match="cannot be given again: a late event can change which windows there are"):
        source.query(ff.session("1 minute"), **update).aggregate(n=ff.Count())
    with pytest.raises(ff.QueryError, match="column 'provisional' of its own"):
        source.query(early="1 minute").aggregate(provisional=ff.Count())
    with pytest.raises(ff.QueryError, match="late is 'update' and allowed_lateness None; expected late='update' with"):
        source.query(late="update")
    with pytest.raises(ff.QueryError, match="late is 'drop' and allowed_lateness '1 hour'"):
        source.query(allowed_lateness="1 hour")
    with pytest.raises(ff.QueryError, match="late is 'refire', expected one of 'drop', 'drop_partial', 'update'"):
        source.query(late="refire")
    with pytest.raises(ff.DurationError, match="early is '0 s'"):
        source.query(early="0 s").aggregate(n=ff.Count())


@pytest.mark.slow
def test_a_broken_clock_closes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """An event of the year 2200 in the second batch is dropped, and those of the third are in time."""
    broken = pa.table(
        {"time": pa.array([7_258_118_400_000_000]).cast(pa.timestamp("us", tz="UTC")), "key": ["a"], "x": [0.0]}
    )
    source = Source(spark, tmp_path).add(table(0, 30), broken, table(30, 60, seed=1), table(400, 401))
    events = ff.events(source.plain, time="time", by="key").stream(watermark="10 minutes", ahead="1 hour")
    query = source.start(events.window(ff.tumbling("10 minutes")).aggregate(n=ff.Count()))
    assert query.awaitTermination(300)
    assert sum(source.found()["n"].to_pylist()) == 600
    assert late_events(query) == 0
    assert sum(ff.stream_metrics(each)["events_ahead"] for each in query.recentProgress) == 1
    with pytest.raises(ff.QueryError, match="ahead is '1 hour', but the watermark is not framefold's"):
        ff.events(source.plain, time="time").stream(ahead="1 hour")
    with pytest.raises(ff.QueryError, match="watermark is '1 hour', but the stream has one on its time 'time'"):
        source.query(watermark="1 hour").aggregate(n=ff.Count())


@pytest.mark.slow
def test_a_changed_query_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path).add(table(0, 30))
    assert source.start(source.query().aggregate(**OUTPUTS)).awaitTermination(300)
    source.add(table(30, 60))
    query = source.start(source.query(ff.sliding("20 minutes", every="4 minutes")).aggregate(**OUTPUTS))
    with pytest.raises(StreamingQueryException, match=r"the checkpoint is of another query: windows .*every 5 minutes"):
        query.awaitTermination(300)
    query = source.start(source.query(shards=5).aggregate(**OUTPUTS))
    with pytest.raises(StreamingQueryException, match=r"of another query: shards '2 for 2 .* became '5 for 2 shuffle"):
        query.awaitTermination(300)


def test_what_is_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    with pytest.raises(ff.QueryError, match=r"no watermark on its time 'time'; expected .*withWatermark\('time'"):
        ff.events(source.plain, time="time").window(ff.tumbling("1 hour")).aggregate(n=ff.Count())
    with pytest.raises(ff.QueryError, match="a stream cannot answer this query: min_fill='full' depends on the first"):
        source.query(ff.policy(ff.by_delta("x", 1.0), min_fill="full")).aggregate(n=ff.Count())
    with pytest.raises(ff.QueryError, match=r"Python objects.*trust_checkpoint=True"):
        source.query().aggregate(n=Ledger("x"))
    assert source.query(trust_checkpoint=True).aggregate(n=Ledger("x")).isStreaming
    with pytest.raises(ff.QueryError, match="shards is 0, expected a whole number of at least 1"):
        source.query(shards=0)


def test_late_events_are_of_streams() -> None:
    with pytest.raises(ff.QueryError, match=r"late\(\) is asked for events that are no stream"):
        ff.events(table(0, 1), time="time").window(ff.tumbling("1 hour")).late(n=ff.Count())


def test_explain_says_where_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    text = str(Source(spark, tmp_path).query(shards=3).explain(n=ff.Count()))
    assert "framefold on Spark, a stream" in text
    assert "in 3 shards, whose partials Spark's state store keeps" in text
    text = str(Source(spark, tmp_path / "held").query(ff.last_rows(3)).explain(n=ff.Count()))
    assert "events are held back until the watermark has passed" in text


def test_labels_are_dealt_as_spark_does(spark: SparkSession) -> None:
    some = [0, 1, -1, 7, 2**31 - 1, -(2**31)]
    theirs = spark.createDataFrame([(each,) for each in some], "label int").selectExpr("hash(label) as h").collect()
    assert [murmur3(each) for each in some] == [row.h for row in theirs]
    assert sorted(murmur3(each) % 5 for each in labels(13, 5)) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4]
