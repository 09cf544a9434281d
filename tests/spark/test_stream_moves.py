"""The state of a stream in another query: other shards, steps, outputs, without a window lost, doubled or wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")  # which streams need
pytest.importorskip("google.protobuf")

import framefold as ff

from ..support.stream_source import OUTPUTS, PARTITIONS, Source, every_row, expected, late_events, rows, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rocksdb")

FEWER: dict[str, Any] = {name: OUTPUTS[name] for name in ("s", "n")}


def test_other_shards_and_steps_go_on_where_the_query_has_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """Into the same sink, with another number of partitions; late events come before and after, and are the same."""
    tables = [table(0, 38), table(30, 68, seed=1), table(20, 98, seed=2), table(60, 140, seed=3)]
    source = Source(spark, tmp_path).add(*tables[:2])
    old = source.query(shards=3)
    first = source.start(old.aggregate(**OUTPUTS))
    assert first.awaitTermination(300)
    old.export_state(tmp_path / "out-checkpoint", tmp_path / "state", **OUTPUTS)
    before = spark.conf.get(PARTITIONS)
    try:
        spark.conf.set(PARTITIONS, "3")
        new = source.query(ff.sliding("20 minutes", every="10 minutes"), shards=5)
        closed = new.import_state(tmp_path / "state", tmp_path / "new-checkpoint", **OUTPUTS)
    finally:
        spark.conf.set(PARTITIONS, str(before))
    assert closed.timestamp() > 0
