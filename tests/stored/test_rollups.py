"""Longer frames kept beside the others: windows stay those of one query over all events, and fewer files are read."""

from __future__ import annotations

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

FIRST = dt.datetime(2026, 1, 1)
OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "s": ff.Sum("x"), "f": ff.Sum("y"), "top": ff.Max("x"), "middle": ff.Median("x"),
}  # fmt: skip
WINDOW = ff.sliding("50 days", every="1 day")
LAST_DAY = [FIRST + dt.timedelta(days=day) for day in (59, 60)]


def events(chance: random.Random, *days: int) -> pa.Table:
    rows = [(day, chance.randrange(86_400)) for day in days for _ in range(chance.randrange(1, 15))]
    return pa.table(
        {
            "t": [FIRST + dt.timedelta(days=day, seconds=second) for day, second in rows],
            "k": pa.array([chance.choice(["a", "b", None]) for _ in rows], pa.string()),
            "x": [chance.randrange(100) for _ in rows],
            "y": [chance.gauss(0, 1e6) for _ in rows],
        }
    )


def at(path: Path) -> ff.StoredPartials:
    return ff.partials(path, time="t", by="k", frame="1 day", **OUTPUTS)


def sixty_days(path: Path) -> tuple[Any, pa.Table]:
    """A file of each day, and what is in them; rolled up."""
    stored, table = at(path), events(random.Random(1), *range(60))
    stored.append(table, run="all")
    stored.roll_up("10 days")
    return stored, table


def ending(whole: list[dict[str, Any]], after: dt.datetime, until: dt.datetime) -> list[dict[str, Any]]:
    return [row for row in whole if after < row["window"]["end"] <= until]


def reads(stored: ff.StoredPartials, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths, under that of the table, of the files that will have been read."""
    seen: list[str] = []
    opened = pq.ParquetFile

    def noted(path: str, **how: Any) -> Any:
        seen.append(path.removeprefix(f"{stored.table.commits.path}/"))
        return opened(path, **how)

    monkeypatch.setattr(pq, "ParquetFile", noted)
    return seen


def test_a_long_window_reads_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = at(tmp_path)
    stored.append(events(random.Random(0), *range(60)), run="all")
    window, seen = stored.window(ff.sliding("60 days", every="1 day")).ending(*LAST_DAY), reads(stored, monkeypatch)
    right = window.aggregate()
    assert len(seen) == 60
    stored.roll_up("10 days")
    stored.roll_up("3 days")
    seen.clear()
    assert window.aggregate().equals(right)
    # From 2025-12-27 on, ten days each: five of these, and of the days around them the threes.
    assert len(seen) < 15
    commit = stored.table.commits.latest()
    stored.roll_up("10 days")
    assert stored.table.commits.latest() == commit


def test_late_events_are_read_beside_a_rollup_until_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, table = sixty_days(tmp_path)
    late = events(random.Random(2), 30)
    stored.append(late, run="late")
    whole = ff.events(pa.concat_tables([table, late]), time="t", by="k").window(WINDOW).aggregate(**OUTPUTS)
    window, seen = stored.window(WINDOW).ending(*LAST_DAY), reads(stored, monkeypatch)
    for files in (1, 0):
        seen.clear()
        assert window.aggregate().to_pylist() == ending(whole.to_pylist(), *LAST_DAY)
        assert sum("day=2026-01-31" in path and not path.startswith("_") for path in seen) == files
        stored.roll_up("10 days")


def test_a_rollup_goes_with_a_file_that_it_is_of(tmp_path: Path) -> None:
    stored, table = sixty_days(tmp_path)
    there = {each.path for each in stored.table.commits.latest().rollups}
    gone = stored.forget(["a"])
    assert there <= {*gone}
    assert not stored.table.commits.latest().rollups
    for frame in ("10 days", "1 month", ff.tumbling("2 weeks")):
        stored.roll_up(frame)
    whole = ff.events(table, time="t", by="k").window(WINDOW).aggregate(**OUTPUTS).to_pylist()
    right, window = [row for row in ending(whole, *LAST_DAY) if row["k"] != "a"], stored.window(WINDOW)
    assert window.ending(*LAST_DAY).aggregate().to_pylist() == right
    stored.vacuum(0)
    assert window.ending(*LAST_DAY).aggregate().to_pylist() == right
    named = {each.path for each in stored.table.commits.latest().named}
    assert {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.parquet")} == named
    files = [pq.read_table(file)["n.count"].to_pylist() for file in tmp_path.glob("day=*/*.parquet")]
    assert sum(map(sum, files)) == sum(key != "a" for key in table["k"].to_pylist())  # others see each event once
    stored.expire("20 days")
    assert all(each.first >= stored.table.commits.latest().expired for each in stored.table.commits.latest().rollups)


def test_frames_of_integers_that_are_made_longer(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path, time="t", frame=10, n=ff.Count())
    stored.append(pa.table({"t": range(100)}), run="all")
    with pytest.raises(ff.QueryError, match=r"frame is of 50, and no file lies in one: .* the first from 0 to 100; ex"):
        stored.roll_up(50)
    stored.coarsen(50, older=50)
    tens = stored.window(ff.tumbling(10))
    with pytest.raises(
        ff.QueryError, match=r"in two the frame from 0 to 50, which coarsen\(\) has made of shorter ones"
    ):
        tens.aggregate()
    assert tens.ending(60).aggregate()["n"].to_pylist() == [10] * 4


def test_frames_that_no_file_lies_in(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path, time="t", by="k", frame="1 hour", n=ff.Count())
    day = [FIRST + dt.timedelta(hours=hour) for hour in range(48)]
    stored.append(pa.table({"t": day, "k": ["a"] * 48}), run="all")
    with pytest.raises(ff.QueryError, match=r"frame is of 6 hours, and the files have longer ones, the first of 1 day"):
        stored.roll_up("6 hours")
    with pytest.raises(ff.EngineError, match="are empty"):
        ff.partials(tmp_path / "none", time="t", frame="1 hour", n=ff.Count()).roll_up("6 days")


def test_a_manifest_with_other_rollups(tmp_path: Path) -> None:
    sixty_days(tmp_path)
    path = max((tmp_path / "_framefold").glob("*.json"))
    whole = path.read_text()
    for name, value in [("path", "../x.parquet"), ("of", [1]), ("begin", "x"), ("rows", None), ("other", 1)]:
        manifest = json.loads(whole)
        manifest["rollups"][0][name] = value
        path.write_text(json.dumps(manifest))
        with pytest.raises(ff.EngineError, match="is none of framefold's"):
            at(tmp_path)


def test_a_rollup_with_other_rows(tmp_path: Path) -> None:
    stored, _ = sixty_days(tmp_path)
    for rolled in tmp_path.glob("_rollups/*/*.parquet"):
        pq.write_table(pq.read_table(rolled).slice(1), rolled)
    with pytest.raises(ff.EngineError, match=r"_rollups/.* expected \d rows with as many rows"):
        stored.window(WINDOW).ending(*LAST_DAY).aggregate()
