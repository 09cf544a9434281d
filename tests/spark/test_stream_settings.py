"""The settings of streams: one line that has them all, and one sentence that names all that are missing."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytest.importorskip("pyspark", minversion="4.1")  # which streams need
pytest.importorskip("google.protobuf")

from pyspark.errors import PySparkException

import framefold as ff

from ..support.inner import place_of
from ..support.sessions import BATCH_BYTES, CHANGELOG, PARTITIONS, PROVIDER, ROCKSDB
from ..support.stream_source import Source

pytestmark = pytest.mark.usefixtures("spark_of_docs")
SLOWER = "a stream that takes longer than it need: "
LINE = "ff.spark_conf(streams=True"


def test_what_one_line_sets(spark: SparkSession, tmp_path: Path) -> None:
    """On the session that runs: a stream needs nothing else, and nothing is said of it."""
    for name in (PROVIDER, CHANGELOG, BATCH_BYTES):
        spark.conf.unset(name)
    same = SparkSession.builder.config(map=ff.spark_conf(streams=True, partitions=2)).getOrCreate()
    for name, value in {PROVIDER: ROCKSDB, CHANGELOG: "true", BATCH_BYTES: str(2**31 - 1), PARTITIONS: "2"}.items():
        assert same.conf.get(name) == spark.conf.get(name) == value
    query = Source(spark, tmp_path).query()
    assert query.aggregate(n=ff.Count()).isStreaming
    assert LINE not in str(query.explain(n=ff.Count()))


def test_which_of_them_a_running_session_takes(spark: SparkSession) -> None:
    """Those of Spark SQL; with the other one, as our own sessions have it, a session starts."""
    running = ff.spark_conf(streams=True, partitions=2, running=True)
    for name, value in running.items():
        spark.conf.set(name, value)
    ((name, value),) = ff.spark_conf(streams=True, partitions=2).items() - running.items()
    with pytest.raises(PySparkException, match="CANNOT_MODIFY"):
        spark.conf.set(name, value)


def test_all_that_is_missing_is_named_at_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(spark, tmp_path)
    for name in (PROVIDER, CHANGELOG, BATCH_BYTES):
        spark.conf.unset(name)
    spark.conf.set(PARTITIONS, 200)
    only_rocksdb = "the state store is Spark's own, and not RocksDB; state has 200 partitions"
    with pytest.raises(ff.EngineError) as info:
        source.query().aggregate(n=ff.Count())
    said = str(info.value)
    assert said.startswith(f"this session lacks what streams need: {only_rocksdb} ({PARTITIONS}), for 2 cores, ")
    assert said.count(CHANGELOG) == said.count(BATCH_BYTES) == said.count(LINE) == 1
    spark.conf.set(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    monkeypatch.setattr(*place_of("what is installed"), lambda name: None)
    with pytest.raises(ff.EngineError, match=r"protobuf, .*, is not installed; .* is HDFSBackedStateStoreProvider"):
        source.query().aggregate(n=ff.Count())
    spark.conf.set(PROVIDER, ROCKSDB)
    with pytest.raises(
        ff.EngineError, match=r"not installed; expected pip install '\.\[spark\]' in a clone of framefold$"
    ):
        source.query().aggregate(n=ff.Count())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({CHANGELOG: "false"}, f"{CHANGELOG} is not true, and so each commit writes"),
        ({BATCH_BYTES: "1000"}, f"{BATCH_BYTES} is 1000, and so Spark adds up"),
        ({PARTITIONS: "9"}, "state has 9 partitions"),
    ],
    ids=["changelogs", "bytes", "partitions"],
)
def test_what_only_takes_time_is_one_warning(
    changed: dict[str, str], said: str, spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in (ff.spark_conf(streams=True, partitions=2, running=True) | changed).items():
        spark.conf.set(name, value)
    source = Source(spark, tmp_path)
    with caplog.at_level(logging.WARNING, "framefold"):
        source.query().aggregate(n=ff.Count())
    (warned,) = caplog.messages
    assert warned.startswith(SLOWER + said)
    assert warned.count(LINE) == 1
    assert f"session {said}" in " ".join(str(source.query().explain(n=ff.Count())).split())


def test_without_streams_only_what_makes_all_faster() -> None:
    assert ff.spark_conf().keys() == {"spark.python.unix.domain.socket.enabled", BATCH_BYTES}
    assert ff.spark_conf(running=True).keys() == {BATCH_BYTES}
    assert ff.spark_conf(streams=True)[PARTITIONS] == str(os.cpu_count())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"streams": True, "partitions": 0}, r"^partitions is 0; expected a whole number of at least 1$"),
        ({"streams": True, "partitions": True}, r"^partitions is True; expected a whole number of at least 1$"),
        ({"partitions": 4}, r"^partitions is 4, which is of the state of streams; expected it with streams=True$"),
    ],
)
def test_bad_partitions(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ff.QueryError, match=said):
        ff.spark_conf(**given)
