"""Paths with spaces, %, #, +, letters of other scripts and what patterns are made of: every call that takes a path."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..support.command_line import main
from ..support.spark_parts import QUOTED
from ..support.spark_parts import read_command as read
from ..support.spark_results import rows
from ..support.stream_source import Source, table
from .submitting import submit

pytestmark = pytest.mark.usefixtures("rocksdb")

AWKWARD = "a b+50% %20 x#y é→日"
PATTERN = "[1] {z,w} q?x=1&2;'\" ^`|~ ${a}$1 '\\$ \\n\n"
"""What Spark's readers, and shells, would see patterns in."""

COUNT: dict[str, Any] = {"n": ff.Count()}
EVENTS = pa.table({"t": [1, 2, 7], "k": ["a", "a", "b"]})
WRITERS: dict[str, Any] = {
    "parquet": pq.write_table,
    "orc": lambda events, path: pa.orc.write_table(events, str(path)),
    "arrow": lambda events, path: pa.feather.write_feather(events, path, chunksize=300),
    "csv": pa.csv.write_csv,
    "json": lambda events, path: path.write_text("".join(json.dumps(row) + "\n" for row in events.to_pylist())),
}  # fmt: skip


def counted(source: Any, **options: Any) -> list[int]:
    result = ff.events(source, time="t", by="k").window(ff.tumbling(5)).options(**options).aggregate(**COUNT)
    return [row["n"] for row in rows(result)]


@pytest.mark.parametrize("name", [AWKWARD, AWKWARD + PATTERN])
def test_files(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Files and their folders, of each format, on each engine, and as DataFrames."""
    for format, write in WRITERS.items():
        folder = tmp_path / f"{format} {name}"
        folder.mkdir()
        write(EVENTS, path := folder / f"{name}.{format}")
        for place in (path, folder):
            assert counted(ff.files(place, format=format)) == [2, 1], place
            assert counted(ff.files(place, format=format, spark=spark)) == [2, 1], place
    (tmp_path / f"parquet {name}" / "_SUCCESS").touch()
    (tmp_path / f"parquet {name}" / ".hidden.parquet").write_text("no file of Parquet")
    for place in ((tmp_path / f"parquet {name}").as_uri(), f"{tmp_path}/parquet*/*.parquet"):
        assert counted(ff.parquet(place, spark=spark)) == [2, 1], place
    for options in ({"read": "spark"}, {"accumulate": "python"}):
        assert counted(ff.parquet(tmp_path / f"parquet {name}", spark=spark), **options) == [2, 1]
    if name == AWKWARD:
        df = spark.read.parquet(str(tmp_path / f"parquet {name}"))
        assert counted(df) == [2, 1]
        assert counted(ff.parquet.from_dataframe(df)) == [2, 1]


def test_a_colon_that_spark_takes_for_an_address(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop does; tasks read such files of Parquet."""
    for format, folder in (("orc", "plain"), ("orc", "${env:HOME}"), ("parquet", "${env:HOME}")):
        (tmp_path / format / folder).mkdir(parents=True)
        WRITERS[format](EVENTS, path := tmp_path / format / folder / "${env:HOME}")
        assert counted(ff.files(path, format=format)) == [2, 1]
        if format == "parquet":
            assert counted(ff.files(path, format=format, spark=spark)) == [2, 1]
        with pytest.raises(
            ff.QueryError, match=r"Spark does not read .*with a colon in its name; expected another name"
        ):
            counted(ff.files(path, format=format, spark=spark), read="spark")


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.classic("the command line"))])
def test_the_command_line(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    del spark  # which the command line finds
    folder = tmp_path / (AWKWARD + PATTERN)
    folder.mkdir()
    pq.write_table(EVENTS, folder / f"in {AWKWARD}.parquet")
    for extension in ("parquet", "csv", "json", "arrow"):
        out = folder / f"out {AWKWARD + PATTERN}.{extension}"
        arguments = ["--time", "t", "--by", "k", "--window", "5", "--agg", "n=count", "--engine", engine]
        for _ in range(2):  # the second time in place of the first
            assert main(["run", str(folder / f"in {AWKWARD}.parquet"), *arguments, "--out", str(out)]) == 0
        assert out.exists()
        if extension == "parquet":
            assert pq.read_table(out)["n"].to_pylist() == [2, 1]


@pytest.mark.slow
def test_a_job_for_spark_submit(tmp_path: Path) -> None:
    folder = tmp_path / (AWKWARD + "&=;'()!$@\"^`|~<>")
    folder.mkdir()
    pq.write_table(EVENTS, folder / f"{AWKWARD}.parquet")
    (folder / "helping.py").write_text("WORD = 'helped'\n")
    job = folder / f"job {AWKWARD}.py"
    job.write_text(
        "import sys\n\nimport helping\nfrom pyspark.sql import SparkSession\n\nimport framefold as ff\n\n"
        "events = ff.parquet(sys.argv[1], spark=SparkSession.builder.getOrCreate())\n"
        "result = ff.events(events, time='t', by='k').window(ff.tumbling(5)).aggregate(n=ff.Count())\n"
        "print('found', helping.WORD, [row.n for row in result.collect()])\n"
    )
    options = ["--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    done = submit(
        *options, job, folder / f"{AWKWARD}.parquet", env={"XDG_CACHE_HOME": str(tmp_path / f"cache {AWKWARD}")}
    )
    assert "found helped [2, 1]" in done.stdout


@pytest.mark.parametrize("character", [*"[]{}*?,\\"])
def test_a_job_that_spark_submit_would_not_find(tmp_path: Path, character: str) -> None:
    job = tmp_path / f"a{character}b.py"
    job.touch()
    with pytest.raises(ff.QueryError, match=f"spark-submit takes {re.escape(repr(character))} in it for a pattern"):
        read(["--master", "local", str(job)])


@pytest.mark.slow
def test_streams_and_their_checkpoints(spark: SparkSession, tmp_path: Path) -> None:
    """A source, a sink, a checkpoint and a history, all at awkward places."""
    folder = tmp_path / AWKWARD
    tables = [table(0, 30), table(25, 60, seed=1)]
    source = Source(spark, folder).add(*tables)
    query, checkpoint = source.query(ff.tumbling("10 minutes")), str(folder / "out-checkpoint")
    assert source.start(query.aggregate(**COUNT)).awaitTermination(300)
    assert len(source.found())
    with pytest.raises(ff.EngineError, match="which Spark's reader of state encodes once too often"):
        query.still_open(checkpoint, **COUNT)
    with pytest.raises(ff.EngineError, match="which Spark's reader of state encodes once too often"):
        query.stream(checkpoint=checkpoint).aggregate(**COUNT)
    pq.write_table(tables[0], folder / "history.parquet")
    history = spark.read.parquet(str(folder / "history.parquet"))
    gone_on = source.query(ff.tumbling("10 minutes"), history=history, until="1970-01-01T00:20:00+00:00")
    assert source.start(gone_on.aggregate(**COUNT), "gone on").awaitTermination(300)
    starts = Counter(row["window"]["start"].minute for row in source.found("gone on").to_pylist())
    assert starts.keys() == {20, 30}


@pytest.mark.parametrize("character", [*"abc+&=,;'()!$@~é日", *' %#?[]{}|^`"<>\\'])
def test_what_spark_takes_for_another_path_has_another_name(character: str) -> None:
    """As Spark does: a path to an address, and that for a path again."""
    assert (QUOTED.search(f"/data/x{character}y") is not None) == (character in ' %#?[]{}|^`"<>\\')


def test_addresses_of_files(tmp_path: Path) -> None:
    """As people write them, and as programs spell them out."""
    folder = tmp_path / "a b é→日{z}"
    folder.mkdir()
    pq.write_table(EVENTS, folder / "in.parquet")
    for address in (f"file://{folder}/in.parquet", (folder / "in.parquet").as_uri()):
        assert counted(ff.parquet(address)) == [2, 1]
