"""A stream whose driver and workers are killed at random: each window once, none wrong, none missing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES, KILLS = 40, 6
MINUTE = 60_000_000
WINDOWS = ff.sliding("20 minutes", every="5 minutes")

PROGRAM = """
import sys
import framefold as ff
from framefold.spark.session.session import local_session

folder = sys.argv[1]
provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark = local_session("killed", "local[2]", **{"spark.sql.streaming.stateStore.providerClass": provider})
stream = spark.readStream.schema("time timestamp, key string, x double").option("maxFilesPerTrigger", 1)
stream = stream.parquet(f"{folder}/in").withWatermark("time", "10 minutes")
windows = ff.sliding("20 minutes", every="5 minutes")
result = ff.events(stream, time="time", by="key").window(windows).aggregate(n=ff.Count(), s=ff.Sum("x"))
sink = result.writeStream.format("parquet").option("path", f"{folder}/out")
query = sink.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
print("started", flush=True)
query.awaitTermination()
print("done", flush=True)
"""


def events() -> list[pa.Table]:
    """Micro-batches, each of an hour, beginning ten minutes before the end of the one before."""
    rng = np.random.default_rng(5)
    tables = []
    for number in range(FILES):
        times = rng.integers(50 * number * MINUTE, (50 * number + 60) * MINUTE, 300)
        columns = {"time": pa.array(times).cast(pa.timestamp("us", tz="UTC")), "key": rng.choice(list("abcdefg"), 300)}
        tables.append(pa.table(columns | {"x": rng.normal(0, 1, 300)}))
    return tables


def run(folder: Path, seconds: float | None) -> bool:
    """Run the program, killed with all of its processes some seconds after the query has started; whether it ended."""
    program = [sys.executable, "-c", PROGRAM, str(folder)]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    assert process.stdout is not None
    while (line := process.stdout.readline()).strip() not in (b"started", b""):
        pass
    assert line, (folder / "log").read_text()[-3000:]
    if seconds is not None:
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
    ended = b"done" in process.stdout.read()
    process.wait()
    return ended


@pytest.mark.slow
def test_kills_at_random(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, table in enumerate(events()):
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    moments = random.Random(7)
    killed = sum(not run(tmp_path, moments.uniform(0.5, 9)) for _ in range(KILLS))
    assert killed >= KILLS // 2
    assert run(tmp_path, None)
    together = pa.concat_tables(events())
    watermark = (pc.max(together["time"]).value - 10 * MINUTE) // 1000 * 1000
    batch = ff.events(together, time="time", by="key").window(WINDOWS).aggregate(n=ff.Count(), s=ff.Sum("x"))
    expected = batch.filter(pc.less_equal(pc.struct_field(batch["window"], "end").cast("int64"), watermark))
    found = spark.read.parquet(str(tmp_path / "out")).toArrow()
    names = ["key", "window", "n", "s"]
    assert Counter(map(repr, found.select(names).to_pylist())) == Counter(map(repr, expected.select(names).to_pylist()))
    assert len(expected) > 2000
