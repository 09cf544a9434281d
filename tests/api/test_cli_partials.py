"""``framefold partials``: the windows of ``framefold run`` over the same files, from runs that are kept."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..support.command_line import main

START = dt.datetime(2024, 5, 1)


@pytest.fixture(params=["parquet", "delta"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Two days of events, and what is kept of the first."""
    for day in range(2):
        times = [START + dt.timedelta(days=day, minutes=97 * each) for each in range(14)]
        table = pa.table({"at": times, "k": ["a", "b"] * 7, "x": [each + day for each in range(14)]})
        pq.write_table(table, tmp_path / f"{day}.parquet")
    said = ["--time", "at", "--by", "k", "--frame", "1 hour", "--agg", "n=count", "--agg", "s=sum:x"]
    said += ["--format", request.param]
    assert main(["partials", "create", str(tmp_path / "kept"), *said]) == 0
    assert main(["partials", "create", str(tmp_path / "kept"), *said]) == 0  # again
    assert main(["partials", "append", str(tmp_path / "kept"), str(tmp_path / "0.parquet"), "--run", "first"]) == 0
    return tmp_path


def test_windows_are_those_of_run(folder: Path) -> None:
    kept, files = str(folder / "kept"), [str(folder / f"{day}.parquet") for day in range(2)]
    for _ in range(2):
        assert main(["partials", "append", kept, files[1], "--run", "second"]) == 0
    window = ["--window", "6 hours", "--every", "2 hours", "--out"]
    query = ["--engine", "local", "--time", "at", "--by", "k", "--agg", "n=count", "--agg", "s=sum:x"]
    assert main(["run", *files, *query, *window, str(folder / "run.parquet")]) == 0
    assert main(["partials", "window", kept, *window, str(folder / "window.parquet")]) == 0
    whole = pq.read_table(folder / "run.parquet")
    assert pq.read_table(folder / "window.parquet").equals(whole)
    assert main(["partials", "changed", kept, "--run", "second", *window, str(folder / "changed.parquet")]) == 0
    day = START + dt.timedelta(days=1)
    second = [row for row in whole.to_pylist() if row["window"]["end"] > day]
    assert pq.read_table(folder / "changed.parquet").to_pylist() == second
    asked = ["--until", "2024-05-02", "--after", "2024-05-01T20:00", "--output", "n", *window]
    assert main(["partials", "window", kept, *asked, str(folder / "some.parquet")]) == 0
    some = [
        {name: each for name, each in row.items() if name != "s"}
        for row in whole.to_pylist()
        if START + dt.timedelta(hours=20) < row["window"]["end"] <= day
    ]
    assert pq.read_table(folder / "some.parquet").to_pylist() == some
    assert some


def test_upkeep(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = str(folder / "kept")
    late = pq.read_table(folder / "0.parquet").slice(0, 3)
    pq.write_table(late, folder / "late.parquet")
    assert main(["partials", "append", kept, str(folder / "late.parquet"), "--run", "late"]) == 0
    assert main(["partials", "append", kept, str(folder / "1.parquet"), "--run", "second"]) == 0
    assert len([*Path(kept).rglob("*.parquet")]) == 3
    assert main(["partials", "rollup", kept, "--frame", "1 day"]) == 0
    assert len([*Path(kept).glob("_rollups/*/*.parquet")]) == 1
    assert main(["partials", "compact", kept]) == 0
    assert main(["partials", "expire", kept, "--older", "1 day"]) == 0
    capsys.readouterr()
    assert main(["partials", "runs", kept]) == 0
    shown = capsys.readouterr().out
    assert [each in shown for each in ("first", "late", "second", "events")] == [True] * 4
    assert main(["partials", "window", kept, "--window", "1 day", "--out", str(folder / "days.parquet")]) == 0
    days = [row["window"]["start"] for row in pq.read_table(folder / "days.parquet").to_pylist()]
    assert set(days) == {START + dt.timedelta(days=1)}


def test_words_that_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "kept" / "_framefold" / "create.json").write_text('{"time": 3}')
    assert main(["partials", "runs", str(folder / "kept")]) == 1
    assert "cannot be read: " in capsys.readouterr().err
