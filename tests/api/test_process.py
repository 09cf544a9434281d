"""The command line as a process of its own: what it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pandas")


def imported(folder: Path, *arguments: str) -> set[str]:
    """The modules that are there at its end."""
    code = "import sys; from framefold.cli import process; print(process()); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    *_, code, modules = done.stdout.splitlines()
    assert code == "0", done.stderr
    return {each.split(".")[0] for each in modules.split()} | set(modules.split())


@pytest.mark.parametrize("out", ["", "out.csv"])
def test_a_local_run_imports_neither_pandas_nor_what_it_does_not_write(tmp_path: Path, out: str) -> None:
    pq.write_table(pa.table({"t": [1, 2], "x": [1.5, None]}), tmp_path / "e.parquet")
    query = ["run", "e.parquet", "--time", "t", "--window", "10", "--agg", "m=average:x", "--engine", "local"]
    there = imported(tmp_path, *query, *(["--out", out] if out else []))
    assert "pyarrow" in there
    assert not there & {"pandas", "pyspark", "py4j", "polars", "duckdb", "hypothesis", "plotext", "pyarrow.feather"}
    if out:
        assert (tmp_path / out).read_text().splitlines()[-1] == "0,10,1.5"


def test_help_imports_no_engine(tmp_path: Path) -> None:
    assert not imported(tmp_path, "--help") & {
        "pandas",
        "pyspark",
        "polars",
        "plotext",
        "numpy",
        "pyarrow",
    }
