"""A few streams with outputs of every kind of state: across a restart and into another query, they are the batch."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.spark_results import conf
from ..support.stream_source import MINUTE, Source, batch_of, between, closing, every_row, late_events

pytestmark = [pytest.mark.cell, pytest.mark.usefixtures("rocksdb")]

FLOATS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "top": ff.Max("x"), "m": ff.Median("x")}
LISTS: dict[str, Any] = {"n": ff.Count(), "xs": ff.CollectList("x")}
SHARE: dict[str, Any] = FLOATS | {"share": ff.Sum("x").over("10 minutes") / ff.Sum("x").over("1 hour")}
SLIDING, COARSER = ff.sliding("20 minutes", every="5 minutes"), ff.sliding("20 minutes", every="10 minutes")
STEP = 5 * MINUTE
BEGIN, UNTIL = 20 * MINUTE, "1970-01-01T00:20:00+00:00"
"""The time up to which events are those of the history."""

QUERIES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "rows": (ff.last_rows(3), LISTS, {"shards": 2, "forget": "5 hours", "until": UNTIL}),
    "sessions": (ff.session("90 seconds"), FLOATS, {"shards": 1, "until": UNTIL}),
    "lookback": (ff.lookback("10 minutes", "1 hour", every="15 minutes"), SHARE, {"shards": 1}),
}
"""Windows, outputs and options of the results that one query has."""


def events(first: int, last: int, seed: int, rows: int = 60) -> pa.Table:
    """Events at whole seconds between two minutes, in any order; two of a key are never at one time."""
    rng = np.random.default_rng(seed)
    seconds = rng.permutation(np.arange(60 * first, 60 * last))[:rows]
    keys = [["a", "b", None][number] for number in rng.integers(0, 3, rows)]
    values = [None if number % 9 == 0 else float(value) for number, value in enumerate(rng.normal(0, 1, rows))]
    times = pa.array(seconds * 1_000_000).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"time": times, "key": pa.array(keys, pa.string()), "x": pa.array(values, pa.float64())})


def ticks(table: pa.Table) -> list[int]:
    return table["time"].cast("int64").to_pylist()


def watermark(*tables: pa.Table) -> int:
    return max(max(ticks(each)) for each in tables) - 10 * MINUTE


FIRST = [events(0, 38, 1), events(30, 68, 2)]
SECOND = [pa.concat_tables([events(70, 150, 3), events(0, 50, 4, 30)]), events(290, 291, 5, 3)]
"""Before and after the restart: with events that are late for some of their windows, or for all."""


def right(name: str) -> tuple[pa.Table, pa.Table]:
    """The windows that a query gives before the restart, and those after it.

    An event after the restart is in those of its windows that had not closed by then. Events that are held back are
    dropped where the watermark has passed them.
    """
    windows, outputs, options = QUERIES[name]
    middle, end, new = watermark(*FIRST), watermark(*FIRST, *SECOND), SECOND
    if name != "lookback":
        new = [table.filter(pa.array([tick >= middle for tick in ticks(table)])) for table in SECOND]
    shift = int(name == "rows")  # a window of rows closes behind its last one
    begin = BEGIN if "until" in options else 0
    before = between(batch_of(windows, FIRST, outputs), begin - shift, middle - shift)
    return before, between(batch_of(windows, [*FIRST, *new], outputs), middle - shift, end - shift)


def in_one_query(source: Source) -> DataFrame:
    """The results of all queries, each with its name, in the columns of all of them."""
    history = source.spark.createDataFrame(pa.concat_tables(FIRST))
    frames = []
    for name, (windows, outputs, options) in QUERIES.items():
        own = options | ({"history": history} if "until" in options else {})
        frames.append(source.query(windows, **own).aggregate(**outputs).withColumn("query", f.lit(name)))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def test_several_results_across_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """Rows in order, sessions after a history, and lookbacks, in one query."""
    source, late, metrics = Source(spark, tmp_path), 0, list[Any]()
    for part in (FIRST, SECOND):
        query = source.add(*part).run(all=in_one_query(source))["all"]
        late += late_events(query)
        metrics += map(ff.stream_metrics, query.recentProgress)
    everything = source.found("all")
    assert sum(each["windows"] for each in metrics) == len(everything)
    assert metrics[0]["shards"] == 2 + 1 + 1, "those of all results"
    for name in QUERIES:
        expected = pa.concat_tables(right(name))
        found = everything.filter(pc.equal(everything["query"], name)).select(expected.column_names)
        assert every_row(found) == every_row(expected), name
        assert min(map(len, right(name))) > 5, name
    # For rows and sessions, if they are not of the time of the history; the longest lookback has not closed.
    dropped = [tick for each in SECOND for tick in ticks(each) if BEGIN <= tick < watermark(*FIRST)]
    assert late == 2 * len(dropped) > 10
    history = ff.events(spark.createDataFrame(FIRST[0]).limit(0), time="time")
    rows = source.query(ff.last_rows(3), shards=2, forget="5 hours", history=history, until=UNTIL)
    held = rows.still_open(tmp_path / "all-checkpoint", **LISTS).toArrow()
    assert sorted(closing(held)) == sorted(tick for tick in ticks(SECOND[1]) if tick >= watermark(*SECOND))


def test_a_state_goes_on_in_another_query(spark: SparkSession, tmp_path: Path) -> None:
    """What is open is read from a checkpoint; other steps and shards go on from there into the same sink."""
    source = Source(spark, tmp_path).add(*FIRST)
    old, new = source.query(SLIDING, shards=2), source.query(COARSER, shards=1)
    middle, end = watermark(*FIRST), watermark(*FIRST, *SECOND)
    first = source.run(out=old.aggregate(**FLOATS))["out"]
    given, whole = source.found(), batch_of(SLIDING, FIRST, FLOATS)
    assert every_row(given) == every_row(between(whole, 0, middle))
    assert sum(ff.stream_metrics(each)["windows"] for each in first.recentProgress) == len(given)
    rest = old.still_open(tmp_path / "out-checkpoint", **FLOATS).toArrow()
    assert every_row(rest) == every_row(between(whole, middle, 1 << 60))
    with pytest.raises(ff.EngineError, match=r"^the checkpoint is of another query: outputs"):
        old.still_open(tmp_path / "out-checkpoint", **(FLOATS | {"n": ff.Count("x")}))
    old.export_state(tmp_path / "out-checkpoint", tmp_path / "state", **FLOATS)
    assert new.import_state(tmp_path / "state", tmp_path / "new", **FLOATS).timestamp() * 1e6 == middle

    source.add(*SECOND)
    going_on = source.query(COARSER, shards=1, checkpoint=tmp_path / "new").aggregate(**FLOATS)
    dropped = source.query(SLIDING, late="drop_partial").late(**FLOATS)
    source.run(late=dropped.union(source.query(ff.last_rows(2)).late(n=ff.Count())))
    query = source.go_on(going_on, "new")
    coarser = between(batch_of(COARSER, [*FIRST, *SECOND], FLOATS), middle, end)
    assert every_row(source.found()) == every_row(given) + every_row(coarser)
    last_ends = [tick // (2 * STEP) * 2 * STEP + 4 * STEP for tick in ticks(SECOND[0])]
    assert late_events(query) == sum(end <= middle for end in last_ends) > 0
    # From the beginning there is no micro-batch between the second and the third.
    closed, third = watermark(FIRST[0]), ticks(SECOND[0])
    late = [tick for tick in third if tick // STEP * STEP + STEP <= closed] + [tick for tick in third if tick < closed]
    assert sorted(ticks(source.found("late"))) == sorted(late) != []


def single(*minutes: int) -> list[pa.Table]:
    """Events of one key, each in a micro-batch of its own, whose values are their minutes."""
    return [
        pa.table({"time": pa.array([at * MINUTE]).cast(pa.timestamp("us", tz="UTC")), "key": ["a"], "x": [float(at)]})
        for at in minutes
    ]


def test_open_windows_early_and_closed_ones_again(spark: SparkSession, tmp_path: Path) -> None:
    """Where windows take late events for fifteen minutes after they have closed."""
    times = [720, 705, 685, 800]
    source = Source(spark, tmp_path).add(*single(*times))
    options: dict[str, Any] = {"early": "1 millisecond", "late": "update", "allowed_lateness": "15 minutes"}
    result = source.query(**options).aggregate(s=ff.Sum("x"))
    writer = result.writeStream.format("memory").queryName("updates").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path / "updates")).trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    assert late_events(query) == 0

    wanted = Counter[Any]()
    never = -(10**6)
    for number, (before, until) in enumerate(pairwise([never, never, 710, 710, 710, 790])):  # the last has no event
        came = list(zip(times[: number + 1], [never, never, 710, 710], strict=False))
        for end in range(690, 830, 5):
            held = [at for at, of in came if end - 20 <= at < end and end + 15 > of]
            new = number < len(times) and times[number] in held
            if end <= before and new:
                wanted[end, float(sum(held)), False, True] += 1
            if before < end <= until and held:
                wanted[end, float(sum(held)), False, False] += 1
            if end > until and held and number < len(times):
                wanted[end, float(sum(held)), True, False] += 1
    found = spark.table("updates").toArrow()
    columns = [found[name].to_pylist() for name in ("s", "provisional", "revision")]
    assert Counter(zip((end // MINUTE for end in closing(found)), *columns, strict=True)) == wanted


@pytest.mark.classic("what foreachBatch calls appends to a list of this process")
def test_the_window_that_ends_now(spark: SparkSession, tmp_path: Path) -> None:
    """That of 1970 to 2079, of the keys that have changed, across a restart; one event is late, and one waits."""
    day, epochs = 24 * 60, ff.sliding("40000 days", every="20000 days")
    source, given = Source(spark, tmp_path).add(pa.concat_tables(single(day, 2 * day))), list[Any]()

    def sink(batch: DataFrame, number: int) -> None:
        given.extend(tuple(row) for row in batch.select("key", "n", "s").collect())

    with conf(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}):  # or the clock would not end it
        events = ff.events(source.plain, time="time", by="key").window(epochs)
        source.run_into(sink, events.latest(**FLOATS), "latest", "update")
        source.add(pa.concat_tables(single(3 * day, -day, 50_000 * day)))
        again = events.stream(checkpoint=tmp_path / "latest").latest(**FLOATS)
        query = source.run_into(sink, again, "latest", "update")
    assert given == [("a", 2, 3.0 * day), ("a", 3, 6.0 * day)]
    assert late_events(query) == 1


def test_partials_at_rest_before_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Micro-batches are added to a table, and a stream goes on from there."""
    source = Source(spark, tmp_path).add(*FIRST)
    table = ff.partials(tmp_path / "table", time="time", by="key", frame="5 minutes", spark=spark, **FLOATS)
    table.append_stream(source.plain, checkpoint=tmp_path / "rest", availableNow=True).awaitTermination(300)
    assert table.runs()["events"].to_pylist() == [len(each) for each in FIRST]
    late = table.window(SLIDING).aggregate().toArrow()
    assert every_row(late) == every_row(batch_of(SLIDING, FIRST, FLOATS))
    source.add(*SECOND)
    minute = 40
    begun = source.query(SLIDING, history=table, until=f"1970-01-01T00:{minute}:00+00:00").aggregate(**FLOATS)
    source.run(out=begun)
    begin = [each.filter(pa.array([tick < minute * MINUTE for tick in ticks(each)])) for each in FIRST]
    rest = [each.filter(pa.array([tick >= minute * MINUTE for tick in ticks(each)])) for each in (*FIRST, *SECOND)]
    whole = batch_of(SLIDING, [*begin, *rest], FLOATS)
    assert every_row(source.found()) == every_row(between(whole, minute * MINUTE, watermark(*SECOND)))
