"""The state of a stream in another query: other shards, steps, outputs, without a window lost, doubled or wrong."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..support.spark_results import conf
from ..support.stream_source import MINUTE, OUTPUTS, Source, batch_of, between, nowhere, rows, table

pytestmark = pytest.mark.usefixtures("rocksdb")

COARSER = ff.sliding("20 minutes", every="10 minutes")


def refuses(call: Callable[[], Any], sentence: str, error: Any = ff.EngineError) -> None:
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.slow
def test_several_sources(spark: SparkSession, tmp_path: Path) -> None:
    """Each goes on where it was, on other partitions; the watermark is the least of theirs."""
    tables = [table(0, 68), table(0, 60, seed=1), table(62, 140, seed=2), table(55, 130, seed=3)]
    sources = [Source(spark, tmp_path / name).add(each) for name, each in zip("ab", tables[:2], strict=True)]

    def query(shards: int) -> Any:
        one, other = (each.plain.withWatermark("time", "10 minutes") for each in sources)
        return ff.events(one.union(other), time="time", by="key").window(COARSER).stream(shards=shards)

    sources[0].go_on(query(2).aggregate(**OUTPUTS), "old")
    old = tmp_path / "a" / "old"
    query(2).export_state(old, tmp_path / "state", **OUTPUTS)
    for source, each in zip(sources, tables[2:], strict=True):
        source.add(each)
    with conf(spark, {"spark.sql.shuffle.partitions": "3"}):
        query(5).import_state(tmp_path / "state", tmp_path / "a" / "new", **OUTPUTS)
        sources[0].go_on(query(5).aggregate(**OUTPUTS), "new")
    assert not [*(tmp_path / "a").glob(".new*")]
    whole, end = batch_of(COARSER, tables), pc.max(tables[-1]["time"]).value - 10 * MINUTE
    right = between(whole, 0, end)
    assert rows(sources[0].found()) == rows(right)
    assert len(right) > 20


@pytest.mark.slow
def test_early_and_corrected_results_from_then_on(spark: SparkSession, tmp_path: Path) -> None:
    """Another output mode; windows that were given before are corrected by events that are late from now on."""
    tables = [table(0, 38), table(30, 68, seed=1), table(50, 98, seed=2), table(90, 120, seed=3), table(75, 160)]
    source, windows = Source(spark, tmp_path).add(*tables[:2]), ff.tumbling("10 minutes")
    lateness: dict[str, Any] = {"late": "update", "allowed_lateness": "12 minutes"}
    old, new = source.query(windows), source.query(windows, early="1 minute", shards=3, **lateness)
    source.go_on(old.aggregate(**OUTPUTS), "old")
    old.export_state(tmp_path / "old", tmp_path / "state", **OUTPUTS)
    closed = new.import_state(tmp_path / "state", tmp_path / "new", **OUTPUTS)
    source.add(*tables[2:])
    given: list[dict[str, Any]] = []

    def sink(batch: DataFrame, number: int) -> None:
        given.extend(batch.toArrow().to_pylist())

    source.run_into(sink, new.aggregate(**OUTPUTS), "new", "update")
    final = {(row["key"], row["window"]["start"]): row for row in given if not row["provisional"]}
    right = {(row["key"], row["window"]["start"]): row for row in batch_of(windows, tables).to_pylist()}
    end = pc.max(tables[-1]["time"]).as_py() - datetime.timedelta(minutes=10)
    assert final.keys() == {at for at, row in right.items() if closed < row["window"]["end"] <= end}
    assert any(row["provisional"] for row in given)
    assert any(row["revision"] for row in given)
    for at, row in right.items():
        assert at not in final or {name: final[at][name] for name in row} == row


@pytest.mark.slow
def test_what_stays_where_it_is(spark: SparkSession, tmp_path: Path) -> None:
    """Checkpoints that are none, run, are not whole or have gone on; places that are taken; other queries."""
    source = Source(spark, tmp_path).add(table(0, 38))
    query, count = source.query(shards=2), {"n": ff.Count()}
    old, state, new = tmp_path / "old", tmp_path / "state", tmp_path / "new"

    def export(checkpoint: Path = old, **outputs: Any) -> None:
        query.export_state(checkpoint, state, **(outputs or count))

    def take(query: Any = query) -> None:
        query.import_state(state, new, **count)

    running = query.aggregate(**count).writeStream.format("noop").option("checkpointLocation", str(old)).start()
    try:
        running.processAllAvailable()
        refuses(export, r"^the query of the checkpoint '.*old' runs; expected it to be stopped")
    finally:
        running.stop()
    refuses(lambda: export(n=ff.Count("x")), r"^the checkpoint is of another query: outputs")
    last = max(int(each.name) for each in (old / "commits").iterdir() if each.name.isdigit())
    begun, other_format, another = (tmp_path / name for name in ("begun", "format", "another"))
    for copy in (begun, other_format, another):
        shutil.copytree(old, copy)
    shutil.copy(begun / "offsets" / str(last), begun / "offsets" / str(last + 1))
    refuses(lambda: export(begun), r"micro-batch \d+ of .* has begun and is not over, .* started once more")
    (other_format / "commits" / f".{last}.crc").unlink()
    (other_format / "commits" / str(last)).write_text('v2\n{"nextBatchWatermarkMs":0}')
    refuses(lambda: export(other_format), r"is of another format of Spark's \('v2' in commits\); expected 'v1', ")
    (another / ".metadata.crc").unlink()
    (another / "metadata").write_text(json.dumps({"id": "00000000-0000-0000-0000-000000000000"}))
    for _ in range(2):
        export()  # once more is nothing
    refuses(lambda: export(another), r"there are stored partials in '.*state' already; expected a path where")
    refuses(
        lambda: ff.partials(state, time="time", by="key", frame="5 minutes", **count),
        r"the stored partials are of another query: .*",
    )
    new.mkdir()
    refuses(take, r"^there is a checkpoint '.*new' already; expected a path where nothing")
    new.rmdir()
    whole = ff.events(source.plain.withWatermark("time", "10 minutes"), time="time").window(COARSER)
    sentence = r"^the exported state is of another query: by .* became .*; expected the"
    refuses(lambda: take(whole), sentence, ff.QueryError)
    began = source.query(history=spark.createDataFrame(table(0, 5)), until="1970-01-01T00:05:00+00:00")
    sentence = r"^until= is .*, and was another one in the query whose state was exported"
    refuses(lambda: take(began), sentence, ff.QueryError)
    assert not new.exists()
    source.add(table(30, 68, seed=1)).go_on(query.aggregate(**count), "old")
    refuses(take, r"has gone on to the micro-batch \d+, and its state was exported as of \d")


@pytest.mark.slow
def test_states_of_other_kinds_of_queries(spark: SparkSession, tmp_path: Path) -> None:
    """Of the window that ends now; of two results in one query."""
    source, count = Source(spark, tmp_path).add(table(0, 38)), {"n": ff.Count()}
    query, whole = source.query(shards=2), source.query(COARSER, shards=2)
    both = query.aggregate(**count).union(whole.aggregate(**count))
    source.go_on(both, "both")
    sentence = r"^the query of the checkpoint '.*both' has 2 states, .* one .aggregate"
    refuses(lambda: query.export_state(tmp_path / "both", tmp_path / "state", **count), sentence)
    with conf(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}):  # or the clock would not end it
        source.run_into(nowhere, query.latest(**count), "now", "update")
    sentence = r"^the checkpoint '.*now' is of .latest\(...\), whose state goes by the clock"
    refuses(lambda: query.export_state(tmp_path / "now", tmp_path / "state", **count), sentence)
