"""The command line as a process of its own: what it imports, and its place in a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

pytest.importorskip("pandas")

QUERY = ["--time", "t", "--window", "10", "--agg", "m=average:x", "--engine", "local"]
HEAVY = {"pandas", "pyspark", "py4j", "polars", "duckdb", "hypothesis", "plotext"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(pa.table({"t": [1, 2], "x": [1.5, None]}), tmp_path / "e.csv")
    return tmp_path


def imported(folder: Path, *arguments: str, code: int = 0) -> set[str]:
    """The modules at the end of a process, which ends with a code."""
    program = "import sys; from framefold.extras.cli import process; print(process()); print(*sys.modules)"
    line = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
    *_, ended, modules = done.stdout.splitlines()
    assert ended == str(code), done.stderr
    return {each.split(".")[0] for each in modules.split()} | set(modules.split())


@pytest.mark.parametrize("out", ["", "out.csv"])
def test_a_local_run_imports_only_what_it_needs(folder: Path, out: str) -> None:
    """Neither what typer validates values with, nor engines and writers of others, which take longer than the job."""
    there = imported(folder, "run", "e.csv", *QUERY, *(["--out", out] if out else []))
    assert "pyarrow" in there
    assert not there & (HEAVY | {"pyarrow.feather", "pydantic"})
    if out:
        assert (folder / out).read_text().splitlines()[-1] == "0,10,1.5"


def test_help_imports_no_engine(folder: Path) -> None:
    assert not imported(folder, "--help") & (HEAVY | {"numpy", "pyarrow"})


def test_mistakes_come_before_spark_starts(folder: Path) -> None:
    line = ["run", "e.csv", *QUERY[:4], "--agg", "n=count:xx", "--engine", "spark"]
    assert "pyspark" not in imported(folder, *line, code=2)


def test_a_process_is_part_of_a_pipe(folder: Path) -> None:
    line = [sys.executable, "-m", "framefold", "run", "-", "--format", "csv", *QUERY, "--out", "-"]
    done = subprocess.run(line, input=(folder / "e.csv").read_bytes(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == b"0,10,1.5"


def test_a_reader_that_stops_early_is_no_failure(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    line = [sys.executable, "-m", "framefold", "run", str(folder / "e.csv"), *QUERY]
    done = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert "Traceback" not in done.stderr
