"""What a streaming query says of itself: metrics in its progress, as a listener gets them; its jobs; the logger."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..stored_state.shards import WINDOWS as STORED
from ..stored_state.shards import Processor, plan_of
from ..support.inner import place_of
from ..support.listening import listening
from ..support.spark_results import conf
from ..support.stream_source import MINUTE, PARTITIONS, Source, table

pytestmark = pytest.mark.usefixtures("rocksdb")

NOW = int(time.time() * 1e6) // (60 * MINUTE) * 60


def seen(spark: SparkSession, source: Source, query: Any) -> list[dict[str, Any]]:
    """The metrics of each micro-batch of a query, as a listener gets them."""
    with listening(spark) as listener:
        source.run(out=query.aggregate(n=ff.Count()))
    return listener.metrics


def kept(events: pa.Table) -> tuple[int, int]:
    """The pairs of key and frame of five minutes, and the frames."""
    frames = [tick // (5 * MINUTE) for tick in events["time"].cast("int64").to_pylist()]
    return len(set(zip(events["key"].to_pylist(), frames, strict=True))), len(set(frames))


@pytest.mark.slow
def test_a_listener_reads_what_a_query_keeps_and_gives(spark: SparkSession, tmp_path: Path) -> None:
    tables = [table(NOW, NOW + 20), table(NOW + 15, NOW + 40, seed=1), table(NOW - 60, NOW - 50, rows=7)]
    source = Source(spark, tmp_path).add(*tables)
    first, second, third, *rest = seen(spark, source, source.query(shards=2))
    assert (first["partials"], first["open_frames"]) == kept(tables[0])
    assert first["windows"] == first["late_events"] == first["held_events"] == 0
    assert first["lag_ms"] is None, "there is no watermark before the first micro-batch"
    assert first["state_bytes"] > 0
    assert third["late_events"] == 7
    assert sum(each["windows"] for each in (second, third, *rest)) == len(source.found())
    both = pa.concat_tables(tables[:2])
    watermark = pc.max(both["time"]).value - 10 * MINUTE
    # Of windows of 20 minutes every 5, those that end after the watermark need what is 20 minutes before it.
    open_from = (watermark // (5 * MINUTE) - 3) * 5 * MINUTE
    left = both.filter(pc.greater_equal(both["time"].cast("int64"), open_from))
    assert (third["partials"], third["open_frames"], third["shards"]) == (*kept(left), 2)
    assert first["event_lag_ms"] is None
    # Spark's progress has both in whole milliseconds.
    assert third["event_lag_ms"] == pc.max(tables[2]["time"]).value // 1000 - watermark // 1000
    behind = time.time() * 1e3 - watermark / 1e3
    assert behind - 120_000 < third["lag_ms"] < behind + 1000


@pytest.mark.slow
def test_events_that_are_held_back_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    """And where a query is started again, what it has kept is known."""
    source = Source(spark, tmp_path).add(table(NOW, NOW + 5, rows=50))
    first, *_ = seen(spark, source, source.query(ff.last_rows(3), shards=1))
    assert (first["held_events"], first["partials"], first["windows"]) == (50, 0, 0)
    source.add(table(NOW + 100, NOW + 101, rows=5), table(NOW + 100, NOW + 101, rows=4))
    said = seen(spark, source, source.query(ff.last_rows(3), shards=1))
    called = [each for each in said if each["shards"]]
    assert called[0]["held_events"] == 55
    assert called[-1]["held_events"] == 9, "the watermark has passed the first 50"
    assert sum(source.found()["n"].to_pylist()) == 3 * 50 - 3 * 4


def test_the_logger_says_how_a_stream_is_computed(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "framefold"):
        Source(spark, tmp_path).query(shards=3).aggregate(n=ff.Count())
    assert caplog.messages[0].startswith("on Spark, a stream: n = Count(): int64; slides by ")
    assert "merge: in 3 shards, whose partials Spark's state store keeps" in caplog.messages[0]


@pytest.mark.parametrize("partitions", [8, 200])
def test_a_warning_where_a_small_machine_has_many_partitions_of_state(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, partitions: int
) -> None:
    """As many as Spark has by default; four for each of two cores are none too many."""
    query, words = Source(spark, tmp_path).query(), f"state has {partitions} partitions ({PARTITIONS}), for 2 cores"
    with conf(spark, {"spark.sql.shuffle.partitions": str(partitions)}):
        with caplog.at_level(logging.WARNING, "framefold"):
            query.aggregate(n=ff.Count())
        assert any(words in message for message in caplog.messages) == (partitions == 200)
        assert (words in str(query.explain(n=ff.Count()))) == (partitions == 200)


def test_a_worker_searches_no_modules_for_garbage_while_state_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's daemon collects garbage after each task: what is there after the first call of a shard is frozen."""
    books: list[str | None] = []
    processor = Processor(plan_of(STORED["sliding"]), {})
    monkeypatch.setattr(*place_of("settling of memory"), lambda: books.append(processor.text))
    processor.batch(7)
    assert books == [processor.text] != [None], "after the book is written"
