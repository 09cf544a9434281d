"""``framefold stream``: the query that is named is the user's, and what is wrong with it is one sentence."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")  # which streams need
pytest.importorskip("google.protobuf")

from ..support.command_line import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE = """
import framefold as ff
from windows_of_mine import MINE

NUMBER, OUTPUTS = 5, {"n": ff.Count()}

def of(spark, read):
    trips = read.schema("time timestamp, key string").parquet(IN)
    return ff.events(trips, time="time", by="key")

def trips(spark):
    return of(spark, spark.readStream).stream(watermark="1 minute").window(MINE), OUTPUTS

def wide(spark):
    return trips(spark)[0].stream(shards=3), {"n": ff.Count(), "m": ff.Max("time")}

def batch(spark): return of(spark, spark.read).window(MINE), OUTPUTS
def result(spark): return spark.range(1)
def alone(spark): return trips(spark)[0], "n"
def numbered(spark): return trips(spark)[0], {1: ff.Count()}
def swapped(spark): return OUTPUTS, trips(spark)[0]
def two(spark, windows): return trips(spark)
def failing(spark): return OUTPUTS["m"]
def refused(spark): return of(spark, spark.readStream).window(ff.tumbling("no time")), OUTPUTS
def unkeyed(spark): return ff.events(of(spark, spark.readStream).engine.df, time="time", by="kay").window(MINE), OUTPUTS
def unknown(spark): return of(spark, spark.readStream.format("kafkaesque").load()), OUTPUTS
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a file of queries, and with files that have none."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "pipeline": f"IN = {str(tmp_path / 'in')!r}{PIPELINE}",
        "windows_of_mine": "import framefold as ff\nMINE = ff.tumbling('1 minute')",
        "torn": "def trips(spark:\n",
        "lacking": "\nimport no_module_of_this_name",
        "starting": "import sys\nsys.exit('--checkpoint is missing')",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "in").mkdir()
    times = pa.array([minute * 60_000_000 for minute in (0, 1, 5)]).cast(pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"time": times, "key": ["a", "b", "a"]}), tmp_path / "in" / "0.parquet")
    yield tmp_path
    for name in ("windows_of_mine", "lacking", "__query__"):
        sys.modules.pop(name, None)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["stream", *words])
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return code, error.removeprefix("framefold: ").strip()


NO_MODULE = "cannot be imported: ModuleNotFoundError: No module named 'no_module_of_this_name'"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("pipeline.py", "the query is 'pipeline.py'; expected FILE.py:FUNCTION or MODULE:FUNCTION, such as"),
        (":trips", "the query is ':trips'; expected FILE.py:FUNCTION"),
        ("pipelin.py:trips", "'pipelin.py' does not exist; expected a Python file with the query"),
        ("no_module:trips", "there is no module 'no_module'; expected FILE.py:FUNCTION or MODULE:FUNCTION"),
        ("framefold.nothing:trips", "there is no module 'framefold.nothing'; expected"),
        ("pipeline.py:trip", "'pipeline.py' has no function 'trip'; did you mean 'trips'?"),
        ("pipeline.py:NUMBER", "'pipeline.py:NUMBER' is of type int; expected a function of a SparkSession"),
        ("pipeline.py:two", "'pipeline.py:two' cannot be called with a SparkSession alone: missing a required arg"),
        ("torn.py:trips", "'torn.py' cannot be imported: SyntaxError: '(' was never closed (torn.py, line 1)"),
        ("lacking.py:trips", f"'lacking.py' {NO_MODULE}, in line 2 of lacking.py"),
        ("lacking:trips", f"'lacking' {NO_MODULE}"),
        ("starting.py:trips", "'starting.py' cannot be imported: it has ended the process (--checkpoint is missing); "),
    ],
)
def test_what_is_no_name_of_a_query(
    folder: Path, capsys: pytest.CaptureFixture[str], query: str, sentence: str
) -> None:
    """Before Spark starts."""
    code, found = said(capsys, "export", query, "checkpoint", "state")
    assert (code, found[: len(sentence)]) == (2, sentence)


def test_what_is_no_query_of_a_stream(
    spark: SparkSession, rocksdb: None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = "; expected the stream in windows and its outputs: ff.events(...).window(...), {'n': ff.Count()}"
    for query, sentence in {
        "result": f"'pipeline.py:result' has returned DataFrame{pair}",
        "alone": f"'pipeline.py:alone' has returned str for the outputs{pair}",
        "numbered": f"'pipeline.py:numbered' has returned dict for the outputs{pair}",
        "swapped": f"'pipeline.py:swapped' has returned dict for the stream{pair}",
        "failing": "'pipeline.py:failing' cannot make the query: KeyError: 'm', in line 23 of pipeline.py",
        "refused": "size is 'no time', which is not a duration",
        "unkeyed": "by= names the unknown column 'kay'; did you mean 'key'?",
        "batch": "framefold stream export is asked for events that are no stream; expected a stream",
        "trips": "the checkpoint 'none' has no micro-batch that is over; expected the checkpointLocation of a query",
    }.items():
        code, found = said(capsys, "export", f"pipeline.py:{query}", "none", "state")
        assert (code, found.replace(f"{folder}/", "")[: len(sentence)]) == (1 if query == "trips" else 2, sentence)
    code, found = said(capsys, "export", "pipeline:unknown", "none", "state")
    assert code == 1
    assert found.startswith("Spark failed: Failed to find the data source: kafkaesque")
    code, found = said(capsys, "import", "pipeline:trips", "none", "checkpoint")
    assert code == 1
    assert found.endswith("none'; expected what framefold stream export has written")


@pytest.mark.slow
def test_partitions_and_new_outputs(
    spark: SparkSession, rocksdb: None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The move itself is that of the page of streams, in tests/spark/test_stream_page.py."""
    windowed, outputs = runpy.run_path("pipeline.py")["trips"](spark)
    writer = windowed.aggregate(**outputs).writeStream.format("noop").option("checkpointLocation", str(folder / "old"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert main(["stream", "export", "pipeline.py:trips", "old", "state"]) == 0
    words = "import", "pipeline.py:wide", "state", "new"
    code, found = said(capsys, *words)
    assert code == 2
    assert found.endswith("or --skip-incomplete, which leaves out windows that begin earlier")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert main(["stream", *words, "--skip-incomplete", "--partitions", "3"]) == 0
    assert capsys.readouterr().out == "1970-01-01T00:06:00+00:00\n"
    assert spark.conf.get("spark.sql.shuffle.partitions") == before
    (offsets,) = (each for each in (folder / "new" / "offsets").iterdir() if '"3"' in each.read_text())
    assert '"spark.sql.shuffle.partitions":"3"' in offsets.read_text().replace(" ", "")
