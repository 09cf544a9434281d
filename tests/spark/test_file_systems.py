"""Files on file systems that pyarrow cannot open on every machine: Spark reads them, or one sentence says why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSystem
from pyspark.sql import SparkSession

import framefold as ff

from ..support.spark_results import conf

WINDOWS = ff.sliding(10, every=5)
EVENTS = pa.table({"t": list(range(40)), "x": [each * each for each in range(40)]})


@pytest.fixture
def mounted(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """Files below an address that Hadoop's client library knows, and pyarrow only with Hadoop installed."""
    try:
        FileSystem.from_uri("viewfs://table/")
    except OSError:
        pass
    else:
        pytest.skip("pyarrow finds Hadoop's libhdfs here, and opens the address by itself")
    pq.write_table(EVENTS.slice(0, 15), tmp_path / "a.parquet")
    pq.write_table(EVENTS.slice(15), tmp_path / "b.parquet")
    with conf(spark, {"fs.viewfs.mounttable.table.link./events": tmp_path.as_uri()}):
        yield "viewfs://table/events"


@pytest.mark.slow
def test_spark_reads_what_pyarrow_cannot_open(spark: SparkSession, mounted: str) -> None:
    files = ff.events(ff.parquet(mounted, spark=spark), time="t")
    windowed = files.window(WINDOWS)
    outputs = {"total": ff.Sum("x"), "middle": ff.Median("x")}
    here = ff.events(EVENTS, time="t").window(WINDOWS).aggregate(**outputs)
    assert windowed.aggregate(**outputs).toArrow().to_pylist() == here.to_pylist()
    said = dict(windowed.explain(**outputs).rows)["read"]
    assert said == "by spark.read.parquet as a DataFrame: pyarrow cannot open their file system here"
    some = files.where(pc.field("x") >= 100).window(ff.tumbling(40)).aggregate(n=ff.Count())
    assert [row["n"] for row in some.collect()] == [30]


def test_neither_of_them(spark: SparkSession, mounted: str) -> None:
    with pytest.raises(ff.QueryError) as error:
        ff.events(ff.parquet(f"{mounted}/nothing", spark=spark), time="t")
    assert str(error.value).startswith(f"the Parquet path '{mounted}/nothing' cannot be opened: ")
    assert f"; Spark cannot read it either: Path does not exist: {mounted}/nothing" in str(error.value)
    assert "\n" not in str(error.value)


def test_no_one_is_there(spark: SparkSession) -> None:
    """Both would have asked the NameNode."""
    sentence = r"Spark cannot read it either: .*Connection refused"
    with conf(spark, {"ipc.client.connect.max.retries": "0"}), pytest.raises(ff.QueryError, match=sentence):
        ff.events(ff.parquet("hdfs://127.0.0.1:1/events", spark=spark), time="t")


@pytest.mark.parametrize("format", ["csv", "arrow"])
def test_only_tasks_read_the_other_formats(format: str, spark: SparkSession, mounted: str) -> None:
    with pytest.raises(ff.QueryError, match="path 'viewfs://table/events' cannot be opened: "):
        ff.events(ff.files(mounted, format=format, spark=spark), time="t")


def test_the_local_engine_says_what_pyarrow_needs() -> None:
    with pytest.raises(ff.QueryError) as error:
        ff.events(ff.parquet("hdfs://127.0.0.1:1/events"), time="t")
    needs = "(pyarrow takes HDFS from Hadoop's libhdfs, and needs JAVA_HOME, ARROW_LIBHDFS_DIR and CLASSPATH)"
    assert str(error.value).endswith(needs)
