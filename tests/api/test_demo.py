"""The demo: its trips, and what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import DAY, ZONES, main, make_trips
from ..support.command_line import agreement_of_demo as _agreement
from ..support.command_line import query_of_demo as _query


def test_trips_are_seeded() -> None:
    assert make_trips(1000, 3).equals(make_trips(1000, 3))
    assert not make_trips(1000, 3).equals(make_trips(1000, 4))


def test_trips_are_realistic() -> None:
    trips = make_trips(50_000)
    pickup = trips["pickup"].to_numpy()
    assert pickup.min() >= DAY
    assert pickup.max() < DAY + np.timedelta64(1, "D")
    assert trips["pickup"].null_count == 0
    assert 0 < trips["speed"].null_count < 500
    hours = np.bincount((pickup - DAY) // np.timedelta64(1, "h"), minlength=24)
    assert hours[18] > 5 * hours[4]
    assert len(trips["zone"].unique()) == len(ZONES)
    speed = trips["speed"].to_pandas().groupby((pickup - DAY) // np.timedelta64(1, "h")).mean()
    assert speed[3] > 1.5 * speed[17]


def test_the_demo_on_the_local_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "kept"
    assert main(["demo", "--engine", "local", "--rows", "5000", "--keep", str(folder)]) == 0
    seen = capsys.readouterr().out
    assert pq.read_metadata(folder / "trips.parquet").num_rows == 5000
    assert "5,000 trips from 40 zones" in seen
    assert "average speed, km/h" in seen
    assert all(len(line) <= 80 for line in seen.splitlines() if str(folder) not in line)


@pytest.mark.usefixtures("spark")
def test_the_demo_on_spark_checks_the_local_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--rows", "5000"]) == 0
    captured = capsys.readouterr()
    seen = " ".join(captured.out.split())
    assert "How framefold on Spark will do it" in seen
    assert re.search(
        r"Spark's own window\(\), .*, took [\d.]+ s .* [\d.]+ times as long, and gives the same [\d,]+ rows", seen
    )
    assert re.search(r"The local engine took .* gives the same windows, bit for bit", seen)
    assert captured.err == ""


@pytest.mark.parametrize("change", ["trips", "speed", "fewer", "null"])
def test_results_that_are_not_the_same_are_no_success(change: str) -> None:
    one = _query(make_trips(2_000)).aggregate(speed=ff.Average("speed"), trips=ff.Count())
    other = one.slice(1)
    if change != "fewer":
        at = one.column_names.index("trips" if change == "trips" else "speed")
        column = one[at].to_pylist()
        column[7] = None if change == "null" else column[7] + 1
        other = one.set_column(at, one.column_names[at], pa.array(column, one[at].type))
    with pytest.raises(ff.EngineError, match="framefold on Spark and a third do not give the same windows"):
        _agreement(one, other, "a third")
    assert _agreement(one, one, "itself") == "bit for bit"


def test_a_master_that_is_none_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--rows", "1000", "--master", "nonsense"]) == 2
    assert "--master is 'nonsense'" in capsys.readouterr().err
