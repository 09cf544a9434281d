"""``framefold sql``: the same as ``ff.sql`` of the files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import main

TRIPS = pa.table({"t": [0, 1, 5, 6], "zone": ["a", "b", "a", "b"], "speed": [20.0, 40.0, 31.0, 50.0]})
QUERY = (
    "SELECT zone, window_start, window_end, AVG(speed) AS mean FROM HOP(trips, t, 2, 4) WHERE speed > 20 "
    "GROUP BY zone, window_start, window_end ORDER BY mean DESC"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(TRIPS, tmp_path / "trips.parquet")
    return tmp_path


def run(folder: Path, query: str = QUERY, *options: str) -> int:
    table = f"trips={folder / 'trips.parquet'}"
    return main(["sql", query, "--table", table, *options])


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_the_same_as_in_python(folder: Path, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, QUERY, "--engine", engine, "--out", "-", "--out-format", "json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found == ff.sql(QUERY, trips=TRIPS).to_pylist()


def test_files_of_every_kind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("out.csv", "out.parquet"):
        assert run(folder, QUERY, "--engine", "local", "--out", str(folder / name)) == 0
    expected = ff.sql(QUERY, trips=TRIPS)
    assert pq.read_table(folder / "out.parquet").equals(expected)
    assert pyarrow.csv.read_csv(folder / "out.csv").to_pylist() == expected.to_pylist()
    captured = capsys.readouterr()
    assert "50" in captured.out
    assert "6 rows in" in captured.err
