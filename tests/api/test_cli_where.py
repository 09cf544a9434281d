"""Conditions and filled outputs on the command line: the same as in Python."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..support.command_line import main

TRIPS = pa.table({"t": [0, 1, 5, 6], "zone": ["a", "b", "a", "b"], "speed": [20.0, 40.0, 31.0, 50.0]})


def run(folder: Path, *options: str) -> int:
    pq.write_table(TRIPS, folder / "trips.parquet")
    out = ["--out", str(folder / "out.parquet"), "--preview", "0"]
    return main(
        ["run", str(folder / "trips.parquet"), "--engine", "local", "--time", "t", "--window", "1", *out, *options]
    )


def test_where_and_filled(tmp_path: Path) -> None:
    asked = ["--where", "speed > 30 and zone <> 'x'", "--empty", "emit", "--agg", "v=last:speed:filled=linear"]
    assert run(tmp_path, *asked, "--agg", "n=count") == 0
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["v"].to_pylist() == pytest.approx([40, 37.75, 35.5, 33.25, 31, 50])
    assert found["n"].to_pylist() == [1, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--where", "sped > 30"], "names the unknown column 'sped'; did you mean 'speed'?"),
        (["--where", "sum(speed) > 30"], "has SUM(speed), which not all engines know alike"),
        (["--where", "speed"], "is of type double; expected a boolean"),
        (["--agg", "v=last:speed:filled=ffill"], "filled() is given 'ffill'; expected 'last'"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert run(tmp_path, "--agg", "n=count", *options) == 2
    assert said in capsys.readouterr().err
