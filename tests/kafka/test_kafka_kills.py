"""A stream from Kafka to Kafka whose driver and workers are killed: the last record of each window is the right one."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

from ..spark.killing import Killed, events, expected
from .broker import PYSPARK, connector, kafka, send

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

BATCHES = max(30, 2 * int(os.environ.get("FRAMEFOLD_KILLS") or 0))
"""Of input, all written before: about one micro-batch is committed a kill."""

SECONDS = 40.0


def test_kills_with_kafka(tmp_path: Path) -> None:
    """Records of one key are equal to the last byte, so that nobody can see which of them was sent again."""
    # Partitions that go on side by side in the order of time, in which no event is late: a micro-batch is a table.
    with kafka(tmp_path) as (session, options):
        table = pa.concat_tables(map(events, range(BATCHES)))
        place = pa.array([row % 2 for row in range(len(table))], pa.int32())
        rows = session.createDataFrame(table.append_column("partition", place)).coalesce(1)
        send(rows, "events", options, "time", "key", "x")
        environment = {"KAFKA": options["kafka.bootstrap.servers"], "KILL_JARS": connector(), "KILL_PATH": str(PYSPARK)}
        killed = Killed("kafka", tmp_path, environment, wanted=50, batches=BATCHES)
        killed.until_killed(SECONDS)
        found = defaultdict(list)
        for row in session.read.format("kafka").options(**options, subscribe="windows").load().collect():
            found[bytes(row.key)].append(bytes(row.value))
    again = sum(len(values) - 1 for values in found.values())
    print(f"{killed.kills.total()} kills, {again} windows sent again: {dict(sorted(killed.kills.items()))}")
    assert [values for values in found.values() if len(set(values)) > 1] == []
    results = {}
    for name, values in found.items():
        key, value = json.loads(name), json.loads(values[-1])
        results[key["key"], key["start"], key["end"]] = (value["n"], value["s"])
    batch = expected(BATCHES)
    bounds = [pa.compute.struct_field(batch["window"], name).cast("int64").to_pylist() for name in ("start", "end")]
    keys = zip(batch["key"].to_pylist(), *bounds, strict=True)
    assert results == dict(zip(keys, zip(batch["n"].to_pylist(), batch["s"].to_pylist(), strict=True), strict=True))
