"""Streams through Spark Connect: a client that knows its server by the protocol only."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..support.programs import run_program

pytest.importorskip("grpc")
pytest.importorskip("google.protobuf")

PROGRAM = """
import sys, warnings
from pathlib import Path

import framefold as ff
import pytest
from tests.support.sessions import ensure_java

ensure_java()
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from tests.support.listening import listening

here = Path(sys.argv[1])
batches = str(here / "written")
spark = SparkSession.builder.remote(sys.argv[2]).getOrCreate()
assert not hasattr(spark, "_jsparkSession")


def stream():
    files = spark.readStream.schema("time timestamp, key string, x double").option("maxFilesPerTrigger", 1)
    return files.parquet(str(here / "in"))


def run(result, name, sink=None):
    writer = result.writeStream.option("checkpointLocation", str(here / f"{name}-checkpoint"))
    if sink is None:
        writer = writer.format("parquet").option("path", str(here / name))
    else:
        writer = writer.foreachBatch(sink)
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    return query


def rows(df):
    return sorted(map(tuple, df.select("key", "window.start", "window.end", "n", "s").collect()))


events = ff.events(stream().withWatermark("time", "10 minutes"), time="time", by="key")
windowed = events.window(ff.sliding("20 minutes", every="5 minutes"))
outputs = {"n": ff.Count(), "s": ff.Sum("x")}
lacking = "the state store is Spark's own, and not RocksDB; .*changelogCheckpointing.enabled is not true.*"
lacking += r"spark.conf.set\\(name, value\\) for each of ff.spark_conf\\(streams=True"
with pytest.raises(ff.EngineError, match=lacking):
    windowed.aggregate(**outputs)
with warnings.catch_warnings():
    warnings.simplefilter("error", UserWarning)
    conf = ff.spark_conf(streams=True, partitions=2, running=True)
    again = SparkSession.builder.remote(sys.argv[2]).config(map=conf).getOrCreate()
assert again.session_id == spark.session_id
with pytest.raises(ff.QueryError, match="no watermark on its time 'time'"):
    ff.events(stream(), time="time").window(ff.tumbling("1 hour")).aggregate(n=ff.Count())

theirs = stream().withWatermark("time", "10 minutes").groupBy("key", f.window("time", "20 minutes", "5 minutes"))
run(theirs.agg(f.count("*").alias("n"), f.sum("x").alias("s")), "theirs")
expected = rows(spark.read.parquet(str(here / "theirs")))
assert len(expected) > 50

with listening(spark) as listener:
    query = run(windowed.aggregate(**outputs), "ours")
assert rows(spark.read.parquet(str(here / "ours"))) == expected
said = [ff.stream_metrics(progress) for progress in query.recentProgress]
assert sum(each["late_events"] for each in said) == 1, said
assert sum(each["windows"] for each in said) == len(expected), said
assert listener.metrics == said, (listener.metrics, said)
run(windowed.late(**outputs), "late")
assert spark.read.parquet(str(here / "late")).count() == 1

if sys.argv[2].startswith("local"):  # a server calls foreachBatch in a Python of its own, which needs all of PySpark
    run(windowed.aggregate(**outputs), "batches", lambda batch, number: batch.write.mode("append").parquet(batches))
    assert rows(spark.read.parquet(batches)) == expected

given = spark.read.parquet(str(here / "ours")).agg(f.sum("n")).collect()[0][0]
rest = windowed.still_open(str(here / "ours-checkpoint"), **outputs).agg(f.sum("n")).collect()[0][0]
assert given + rest == 4 * (spark.read.parquet(str(here / "in")).count() - 1), "four windows an event, but the late one"

run(events.window(ff.last_rows(2)).aggregate(n=ff.Count(), last=ff.CollectList("x")), "held")
assert spark.read.parquet(str(here / "held")).where("n = 2").count() > 500
spark.stop()
print("connected")
"""


def python_of_workers(folder: Path) -> Path:
    """A Python with what is installed here, but for framefold and what comes with it only."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (theirs,) = folder.glob("lib/python*/site-packages")
    for each in Path(sysconfig.get_path("platlib")).iterdir():
        absent = ("framefold", "pyspark", "cloudpickle", "typer")
        if not any(name in each.name for name in absent) and each.suffix != ".pth":
            (theirs / each.name).symlink_to(each)
    return folder / "bin" / "python"


@pytest.mark.slow
def test_streams_through_connect(tmp_path: Path) -> None:
    """The workers have no framefold but what the session sends."""
    from ..clusters.processes import lacks_framefold

    workers = python_of_workers(tmp_path / "workers")
    assert lacks_framefold(workers)
    run_streams(tmp_path, "local[2]", {"PYSPARK_PYTHON": str(workers)})


def run_streams(folder: Path, remote: str, variables: dict[str, str]) -> None:
    """Beside Spark's own ``window()``: into files, into foreachBatch, what is late, and what stays open."""
    (folder / "in").mkdir()
    rng = np.random.default_rng(4)
    minute = 60_000_000
    times = [rng.integers(30 * number * minute, (30 * number + 38) * minute, 200) for number in range(4)]
    for number, some in enumerate([*times[:3], np.array([5 * minute]), times[3]]):
        columns = {"time": pa.array(np.sort(some)).cast(pa.timestamp("us", tz="UTC"))}
        columns |= {"key": pa.array(rng.choice(["a", "b", "c"], len(some))), "x": pa.array(np.arange(len(some)) / 4)}
        path = folder / "in" / f"{number}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    done = run_program(folder, PROGRAM, str(folder), remote, **variables)
    assert done.stdout.strip().endswith("connected"), done.stdout + done.stderr
