"""The window that ends now, on a stream in update mode: across a restart, and by the clock alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

import framefold as ff

from ..support.stream_source import Source, late_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rocksdb")

SECOND = 1_000_000
DAY = 86_400 * SECOND
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "v": ff.Variance("x")}
EPOCHS = ff.sliding("40000 days", every="20000 days")
"""Of which the one that ends next is that of 1970 to 2079."""


def table(*events: tuple[int, str, float]) -> pa.Table:
    times, keys, values = map(list, zip(*events, strict=True))
    return pa.table({"time": pa.array(times).cast(pa.timestamp("us", tz="UTC")), "key": keys, "x": values})


@pytest.fixture
def only_with_events(spark: SparkSession) -> Iterator[None]:
    """Micro-batches without events, which timers of the clock make at every trigger, would never end availableNow."""
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(name, False)
    yield
    spark.conf.unset(name)


class Given:
    """The rows that micro-batches have given, in their order; those of one are in a list."""

    def __init__(self, source: Source, result: DataFrame) -> None:
        self.rows: list[list[Any]] = []
        self.writer = result.writeStream.outputMode("update").foreachBatch(self._take)
        self.writer = self.writer.option("checkpointLocation", str(source.folder / "checkpoint"))

    def _take(self, batch: DataFrame, _: int) -> None:
        if found := sorted((row.key, row.n, row.s) for row in batch.collect()):
            self.rows.append(found)


def latest(source: Source, windows: Any, **options: Any) -> DataFrame:
    found: DataFrame = (
        ff.events(source.plain, time="time", by="key").window(windows).stream(**options).latest(**OUTPUTS)
    )
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("only_with_events")
def test_keys_that_have_changed_are_given_across_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """An event of a window that has ended is late, and one of a window that has not begun waits."""
    source = Source(spark, tmp_path).add(table((DAY, "a", 1.0), (2 * DAY, "b", 2.0), (3 * DAY, "a", 5.0)))
    given = Given(source, latest(source, EPOCHS))
    assert given.writer.trigger(availableNow=True).start().awaitTermination(100)
    assert given.rows == [[("a", 2, 6.0), ("b", 1, 2.0)]]
    source.add(table((DAY, "b", 4.0), (-DAY, "c", 1.0), (50_000 * DAY, "d", 1.0)), table((DAY, "c", 7.0)))
    again = Given(source, latest(source, EPOCHS, checkpoint=tmp_path / "checkpoint"))
    query = again.writer.trigger(availableNow=True).start()
    assert query.awaitTermination(100)
    assert again.rows == [[("b", 2, 6.0)], [("c", 1, 7.0)]]
    assert late_events(query) == 1


@pytest.mark.slow
def test_the_clock_alone_takes_events_in_and_out(spark: SparkSession, tmp_path: Path) -> None:
    """Of an event of a later time: its key is given when the window has it, once more without it, and never again."""
    at = int(time.time() * SECOND) + 12 * SECOND
    source = Source(spark, tmp_path).add(table((at, "later", 3.0), (0, "long ago", 1.0)))
    given = Given(source, latest(source, ff.sliding("6 seconds", every="2 seconds")))
    query = given.writer.trigger(processingTime="1 second").start()
    try:
        until = time.monotonic() + 120
        while len(given.rows) < 2 and time.monotonic() < until:
            time.sleep(0.5)
            assert query.exception() is None
        time.sleep(5)
        assert given.rows == [[("later", 1, 3.0)], [("later", 0, None)]]
        assert late_events(query) == 1
    finally:
        query.stop()


def test_what_needs_a_watermark_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    with pytest.raises(ff.QueryError, match="early is '1 minute', which is of windows that a watermark closes"):
        latest(source, EPOCHS, early="1 minute")
    with pytest.raises(ff.QueryError, match="no window ends now: there are "):
        latest(source, ff.session("1 minute"))


def test_a_checkpoint_of_closed_windows_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path).add(table((DAY, "a", 1.0)))
    assert source.start(source.query(EPOCHS).aggregate(**OUTPUTS), "out").awaitTermination(100)
    with pytest.raises(ff.EngineError, match=r"is of another query|is of a query in output mode append"):
        latest(source, EPOCHS, checkpoint=tmp_path / "out-checkpoint")
