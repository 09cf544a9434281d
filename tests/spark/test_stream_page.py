"""The first page and that of streams do what they say, with a PostgreSQL where there is one."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

pytest.importorskip("pyspark", minversion="4.1")  # which streams need
pytest.importorskip("google.protobuf")

from ..support.command_line import main
from ..support.pages import BLOCK, DOCS, run
from .postgres import server

BLOCKS = BLOCK.findall((DOCS / "streams.md").read_text())


@pytest.fixture(scope="module")
def namespace(spark_of_docs: SparkSession) -> dict[str, Any]:
    """What the blocks that need nothing else leave behind."""
    named: dict[str, Any] = {"__name__": "__main__"}
    blocks = [block for needed, block in BLOCKS if not needed]
    assert [run(block, named) for block in blocks] == [block.count("# ->") for block in blocks]
    return named


@pytest.mark.slow
def test_every_block_is_run_by_a_test(namespace: dict[str, Any]) -> None:
    """That with Kafka in `tests/kafka`."""
    assert {needed for needed, _ in BLOCKS} == {"", "psycopg", "kafka"}
    assert {"result", "query"} <= set(namespace)


def test_the_first_page_gives_the_same_in_each_tab(spark_of_docs: SparkSession) -> None:
    named: dict[str, Any] = {"__name__": "__main__"}
    blocks = BLOCK.findall((DOCS / "README.md").read_text())
    assert [(needed, run(block, named)) for needed, block in blocks] == [("", 1), ("pyspark", 1), ("pyspark", 1)]
    outcomes = re.findall(r"^# -> \[(.*)\]$", "".join(block for _, block in blocks), re.MULTILINE)
    batch, stream = (outcome.split("), ") for outcome in outcomes)
    assert [each.strip("()") for each in stream] == [each.strip("()") for each in batch[: len(stream)]]


@pytest.mark.slow
def test_the_commands_of_the_page(
    spark_of_docs: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, whose Spark has another folder: paths are whole here."""
    page = (DOCS / "streams.md").read_text()
    (pipeline,) = re.findall(r"^```py\n(# pipeline.py\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (commands,) = re.findall(r"^```sh\n(python pipeline.py.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for name in ("trips", "windows"):
        pipeline = pipeline.replace(f'"{name}"', repr(str(tmp_path / name)))
    file = tmp_path / "pipeline.py"
    file.write_text(pipeline)
    (tmp_path / "trips").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path])
    minutes = iter([(0, 20, 50, 75, 130), (140, 165, 200)])
    for command in commands.splitlines():
        program, *words = command.split()
        *said, first, second = [re.sub(r"^(pipeline|first|second|state)\b", rf"{tmp_path}/\1", word) for word in words]
        if program == "framefold":
            assert main([*said, first, second]) == 0
            continue
        times = pa.array([minute * 60_000_000 for minute in next(minutes)]).cast(pa.timestamp("us", tz="UTC"))
        columns = {"time": times, "driver": ["ann"] * len(times), "speed": [60.0] * len(times)}
        pq.write_table(pa.table(columns), tmp_path / "trips" / f"{times[0].value}.parquet")
        monkeypatch.setattr(sys, "argv", [str(file), first, second])
        runpy.run_path(said[0], run_name="__main__")
    assert capsys.readouterr().out == "1970-01-01T02:00:00+00:00\n"
    windows = spark_of_docs.read.parquet(str(tmp_path / "windows")).toArrow().to_pylist()
    found = sorted((row["window"]["start"].timestamp() / 60, row["n"]) for row in windows)
    assert found == [(-30, 2), (0, 3), (30, 2), (60, 1), (120, 3)]


@pytest.mark.slow
def test_upsert_into_postgresql(namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice from the beginning, as after a micro-batch that was cut off behind its transaction: the same rows."""
    pytest.importorskip("psycopg")
    (block,) = (block for needed, block in BLOCKS if needed == "psycopg")
    with server() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert run(block, namespace) == 1
        assert run(block.replace('"upserted"', '"upserted again"'), namespace) == 1
