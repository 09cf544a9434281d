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


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_the_same_as_in_python(tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(TRIPS, tmp_path / "trips.parquet")
    expected = ff.sql(QUERY, trips=TRIPS).to_pylist()
    command = ["sql", QUERY, "--table", f"trips={tmp_path / 'trips.parquet'}", "--engine", engine, "--out"]
    assert main([*command, "-", "--out-format", "json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == expected
    if engine == "local":
        for name, read in {"out.csv": pyarrow.csv.read_csv, "out.parquet": pq.read_table}.items():
            assert main([*command, str(tmp_path / name)]) == 0
            assert read(tmp_path / name).to_pylist() == expected
        captured = capsys.readouterr()
        assert "50" in captured.out
        assert "6 rows in" in captured.err
