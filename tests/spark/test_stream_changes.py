"""Streams beside the plain case: what may change on a checkpoint, idle sources, windows of a static DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

import framefold as ff

from ..support.stream_source import (
    MINUTE,
    OUTPUTS,
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
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rocksdb")

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sliding", "sessions"])
def test_the_delay_the_sink_and_late_options_may_change(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Two micro-batches into files; then on the same checkpoint with another delay, into foreachBatch."""
    source, tables = Source(spark, tmp_path).add(*batches()[:2]), batches()
    first = source.start(source.query(WINDOWS[kind]).aggregate(**OUTPUTS))
    assert first.awaitTermination(300)
    source.add(*tables[2:])
    found: list[pa.Table] = [source.found()]

    def sink(batch: DataFrame, number: int) -> None:
        found.append(batch.toArrow())

    stream = source.plain.withWatermark("time", "25 minutes")
    events = ff.events(stream, time="time", by="key").stream(late="drop_partial")
    writer = events.window(WINDOWS[kind]).aggregate(**OUTPUTS).writeStream.foreachBatch(sink)
    writer = writer.option("checkpointLocation", str(tmp_path / "out-checkpoint"))
    then = writer.trigger(availableNow=True).start()
    assert then.awaitTermination(300)
    assert rows(pa.concat_tables(found)) == rows(expected(WINDOWS[kind], tables))
    assert len(found[0]) > 4
    assert late_events(first) + late_events(then) == 0


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["min", "max"])
@pytest.mark.parametrize("how", ["together", "union"])
def test_idle_sources_follow_the_policy(spark: SparkSession, tmp_path: Path, policy: str, how: str) -> None:
    """Of two sources one has events of eight minutes and then none: by its watermark nothing has closed yet."""
    busy = Source(spark, tmp_path / "busy").add(table(0, 38), table(30, 68, seed=1), table(300, 301))
    idle = Source(spark, tmp_path / "idle").add(table(0, 8, seed=2))
    streams = [each.plain.withWatermark("time", "10 minutes") for each in (busy, idle)]
    window = ff.tumbling("10 minutes")
    if how == "union":
        query: Any = ff.events(streams[0].union(streams[1]), time="time", by="key").window(window)
        result = query.aggregate(n=ff.Count())
    else:
        both = {name: ff.events(each, time="time", by="key") for name, each in zip("ab", streams, strict=True)}
        result = ff.together(**both).window(window).aggregate(n=ff.Count())
    before = spark.conf.get(POLICY)
    try:
        spark.conf.set(POLICY, policy)
        assert busy.start(result).awaitTermination(300)
    finally:
        spark.conf.set(POLICY, before)
    given = sum(busy.found()["n"].to_pylist())
    assert given == (0 if policy == "min" else 900)


@pytest.mark.slow
def test_windows_of_a_static_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    """Those of a table are the same as of a DataFrame; with windows of single keys, too."""
    source = Source(spark, tmp_path).add(*batches())
    bounds = [at * MINUTE for at in (0, 20, 40, 60)]
    time = pa.timestamp("us", tz="UTC")
    given = pa.table(
        {"from": pa.array(bounds[:3]).cast(time), "to": pa.array(bounds[1:]).cast(time), "key": list("abc")}
    )
    static = spark.createDataFrame(given)
    events = ff.events(pa.concat_tables(batches()[:-1]), time="time", by="key")
    queries = {}
    for name, more in (("of all", {}), ("of keys", {"by": "key", "empty": "skip"})):
        mine, theirs = (ff.windows_from(each, start="from", end="to", **more) for each in (static, given))
        queries[name] = source.start(source.query(mine).aggregate(**OUTPUTS), name), theirs
    for name, (query, theirs) in queries.items():
        assert query.awaitTermination(300)
        assert every_row(source.found(name)) == every_row(events.window(theirs).aggregate(**OUTPUTS)), name
        assert len(source.found(name)) >= 3, name
