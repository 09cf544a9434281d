"""Conditions and filled outputs on the command line: the same as in Python."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..support.command_line import main

TRIPS = pa.table({"t": [0, 1, 5, 6], "zone": ["a", "b", "a", "b"], "speed": [20.0, 40.0, 31.0, 50.0]})


def test_where_and_filled(tmp_path: Path) -> None:
    pq.write_table(TRIPS, tmp_path / "trips.parquet")
    query = ["--time", "t", "--window", "1", "--where", "speed > 30 and zone <> 'x'", "--empty", "emit"]
    outputs = ["--agg", "v=last:speed:filled=linear", "--agg", "n=count", "--out", str(tmp_path / "out.parquet")]
    assert main(["run", str(tmp_path / "trips.parquet"), "--engine", "local", *query, *outputs]) == 0
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["v"].to_pylist() == pytest.approx([40, 37.75, 35.5, 33.25, 31, 50])
    assert found["n"].to_pylist() == [1, 0, 0, 0, 1, 1]
