"""Runs merged, frames made longer, old ones taken away, outputs added: windows stay those of one query."""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

OUTPUTS = {"n": ff.Count(), "s": ff.Sum("x"), "y": ff.Sum("y"), "top": ff.Max("x"), "middle": ff.Median("x")}
WINDOWS = [ff.sliding(720, every=60), ff.tumbling(120), ff.cumulating(240, every=60)]


def events(seed: int, count: int = 300, until: int = 2400) -> pa.Table:
    chance = random.Random(seed)
    return pa.table(
        {
            "t": [chance.randrange(until) for _ in range(count)],
            "k": [chance.choice(["a", "b", None]) for _ in range(count)],
            "x": [chance.randrange(-50, 50) for _ in range(count)],
            "y": [chance.gauss(0, 1e3) for _ in range(count)],
        }
    )


def one(t: int, k: str = "a") -> pa.Table:
    return pa.table({"t": [t], "k": [k], "x": [1], "y": [1.0]})


def times(table: pa.Table) -> pa.Table:
    """The same with minutes for units."""
    at = pa.array([dt.datetime(2026, 1, 1) + dt.timedelta(minutes=t) for t in table["t"].to_pylist()])
    return table.set_column(0, "t", at)


def at(path: Path, outputs: dict[str, Any] = OUTPUTS, frame: Any = 60) -> ff.StoredPartials:
    return ff.partials(path, time="t", by="k", frame=frame, **outputs)


def right(table: pa.Table, windows: ff.Spec, outputs: dict[str, Any] = OUTPUTS) -> list[dict[str, Any]]:
    return ff.events(table, time="t", by="k").window(windows).aggregate(**outputs).to_pylist()


def where(table: pa.Table, keep: Any) -> pa.Table:
    rows = [at for at, row in enumerate(table.to_pylist()) if keep(row)]
    return table.take(pa.array(rows, pa.int64()))


def rows_of(stored: ff.StoredPartials, windows: ff.Spec) -> list[dict[str, Any]]:
    return stored.window(windows).aggregate().to_pylist()


def files_in(path: Path) -> set[str]:
    return {str(each.relative_to(path)) for each in path.rglob("*.parquet")}


def three_runs(path: Path, outputs: dict[str, Any] = OUTPUTS) -> tuple[ff.StoredPartials, pa.Table]:
    stored, tables = at(path, outputs), [events(seed) for seed in range(3)]
    for number, table in enumerate(tables):
        stored.append(table, run=str(number))
    return stored, pa.concat_tables(tables)


def test_compact_merges_the_runs_of_a_day(tmp_path: Path) -> None:
    tables = [times(events(seed)) for seed in range(3)]
    stored = at(tmp_path, frame="1 hour")
    for number, table in enumerate(tables):
        stored.append(table, run=str(number))
    days = {name.partition("/")[0] for name in files_in(tmp_path)}
    assert len(files_in(tmp_path)) == 3 * len(days)
    stored.compact()
    commit = stored.table.commits.latest()
    assert {each.path.partition("/")[0] for each in commit.files} == days
    assert len(commit.files) == len(days)
    assert sum(each.rows for each in commit.files) == len(right(pa.concat_tables(tables), ff.tumbling("1 hour")))
    stored.compact()
    assert stored.table.commits.latest() == commit
    assert stored.vacuum() == []  # in their grace
    assert len(stored.vacuum("0 seconds")) == 3 * len(days)
    assert len(list((tmp_path / "_framefold").iterdir())) == 1
    (tmp_path / "mine.parquet").write_bytes(b"of somebody else")
    assert stored.vacuum(0) == []


@pytest.mark.parametrize("change", ["append", "coarsen", "compact", "roll_up", "delete", "expire", "forget"])
def test_a_change_while_another_writer_makes_a_type_wider(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are in, once: the change is made anew in the types of the other one's commit."""
    ints = {"t": [0, 70, 130, 200], "k": pa.array([1, 2, 1, 1], pa.int8()), "x": pa.array([1, 2, 3, 4], pa.int32())}
    there, far = pa.table(ints), pa.table({"t": [0, 200], "k": [1, 2**40], "x": [2**40, 5]})
    far_keys = {"t": [130], "k": pa.array([300], pa.int16()), "x": pa.array([2**50 + 1])}
    outputs: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x")}

    def at() -> ff.StoredPartials:
        return ff.partials(tmp_path / "table", time="t", by="k", frame=60, **outputs)

    stored = at()
    for run in ("1", "2"):
        stored.append(there, run=run)
    link, late = os.link, [0]

    def linked(*given: Any) -> None:
        if late:
            late.pop()
            at().append(far, run="far")
        link(*given)

    monkeypatch.setattr(os, "link", linked)
    changes: dict[str, Callable[[], Any]] = {
        "append": lambda: stored.append(pa.table(far_keys), run="3"),
        "coarsen": lambda: stored.coarsen(120, older=60),
        "compact": stored.compact,
        "roll_up": lambda: stored.roll_up(240),
        "delete": lambda: stored.delete(there, run="3"),
        "expire": lambda: stored.expire(180),
        "forget": lambda: stored.forget([2]),
    }
    changes[change]()
    assert not late
    wide = [each.cast(far.schema) for each in (there, there, far, pa.table(far_keys))]
    events = pa.concat_tables(wide[1:3] if change == "delete" else wide[: 4 if change == "append" else 3])
    if change == "forget":
        events = events.filter(pc.not_equal(events["k"], 2))
    if change == "expire":
        events = events.filter(pc.greater_equal(events["t"], 60))
    windows = ff.tumbling(120 if change == "coarsen" else 60)
    right = ff.events(events, time="t", by="k").window(windows).aggregate(**outputs)
    for each in (stored, at()):
        found = each.window(windows).aggregate()
        assert found.schema == right.schema
        assert found.to_pylist() == right.to_pylist()


@pytest.mark.parametrize("change", ["coarsen", "compact", "roll_up", "delete"])
def test_a_change_made_anew_after_another_commit_is_there_once(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = ff.partials(tmp_path / "table", time="t", frame=60, n=ff.Count())
    for run in ("1", "2"):
        stored.append(pa.table({"t": [0, 70, 130, 200]}), run=run)
    link, late = os.link, [FileExistsError]

    def linked(*given: Any) -> None:
        if late:
            raise late.pop()
        link(*given)

    monkeypatch.setattr(os, "link", linked)
    changes: dict[str, Callable[[], Any]] = {
        "coarsen": lambda: stored.coarsen(120, older=60),
        "compact": stored.compact,
        "roll_up": lambda: stored.roll_up(240),
        "delete": lambda: stored.delete(pa.table({"t": [0]}), run="3"),
    }
    changes[change]()
    assert not late
    assert stored.window(ff.tumbling(120)).aggregate()["n"].to_pylist() == [3 if change == "delete" else 4, 4]
    named = {each.path for each in stored.table.commits.latest().named}
    there = {each.relative_to(tmp_path / "table").as_posix() for each in (tmp_path / "table").rglob("*.parquet")}
    assert len(there) <= len(named) + 2 * (change != "roll_up")  # the files of earlier commits stay


def test_what_has_been_done_is_not_done_again(tmp_path: Path) -> None:
    stored, table = three_runs(tmp_path)
    stored.coarsen(120, older=600)
    recent = stored.window(ff.tumbling(60)).ending(after=1800).aggregate().to_pylist()
    assert recent == [row for row in right(table, ff.tumbling(60)) if row["window"]["end"] > 1800]
    commit = stored.table.commits.latest()
    stored.coarsen(120, older=600)
    assert stored.table.commits.latest() == commit
    stored.expire(960)
    commit = stored.table.commits.latest()
    assert all(each.end > 2400 - 960 for each in commit.files)
    stored.expire(2000)
    assert stored.table.commits.latest() == commit


def test_what_is_not_added_is_said(tmp_path: Path) -> None:
    """Events of a run that is in, and of frames that are no longer kept: also where none of these was there."""
    stored = at(tmp_path)
    stored.append(pa.concat_tables([one(5), one(2399)]), run="1")
    with pytest.warns(ff.DroppedEventsWarning, match=r"'1' is in, with 2 events, and none of the 1 .*another name"):
        run = stored.append(one(70), run="1")
    assert not run.added
    stored.expire(2000)
    stored.expire(1000)
    with pytest.warns(ff.DroppedEventsWarning, match=r"^2 of 3 events of the run '2' are of frames that \.expire"):
        run = stored.append(pa.concat_tables([one(399), one(1379), one(1380)]), run="2")
    assert (run.events, run.expired, run.added) == (1, 2, True)
    assert stored.runs()["expired"].to_pylist() == [0, 2]
    assert [row["window"]["start"] for row in rows_of(stored, ff.tumbling(60))] == [1380, 2340]


def test_a_frame_keeps_its_first_time_until_it_is_refreshed(tmp_path: Path) -> None:
    stored = at(tmp_path, {"n": ff.Count()})
    stored.append(pa.concat_tables([one(5), one(20), one(70)]), run="1")
    for change, first in (
        (lambda: stored.delete(one(5), run="2"), 5),
        (lambda: stored.refresh(one(20), since=0, until=60, keys=["a"]), 20),
    ):
        change()
        found = stored.window(ff.landmark(every=60)).aggregate()["window"].to_pylist()
        assert found == [{"start": first, "end": end} for end in (60, 120)]


def test_years_and_months_are_those_of_the_calendar(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path, time="t", frame="1 day", n=ff.Count())
    days = [dt.datetime(2020, 3, 1), dt.datetime(2021, 3, 5), dt.datetime(2023, 2, 28, 12)]
    stored.append(pa.table({"t": days}), run="1")
    stored.expire("2 years")
    starts = [each["window"]["start"] for each in rows_of(stored, ff.tumbling("1 day"))]
    assert starts == [dt.datetime(2021, 3, 5), dt.datetime(2023, 2, 28)]
    stored.append(pa.table({"t": [dt.datetime(2990, 1, 1)]}), run="2")  # a wrong clock
    stored.expire("10 years")
    assert len(rows_of(stored, ff.tumbling("1 day"))) == 3


def test_an_output_is_added_from_a_time_on(tmp_path: Path) -> None:
    stored, table = three_runs(tmp_path, {"n": ff.Count()})
    more = stored.add_output(table, top=ff.Max("x"), middle=ff.Median("y"))
    new = events(5, until=600)
    new = new.set_column(0, "t", pa.array([t + 2400 for t in new["t"].to_pylist()]))
    with pytest.raises(ff.EngineError, match=r"of another query: .*expected the same, or another path"):
        stored.append(new, run="new")
    more.append(new, run="new")
    everything = pa.concat_tables([table, new])
    outputs = {"n": ff.Count(), "top": ff.Max("x"), "middle": ff.Median("y")}
    said = r"'top' is stored from 2400 on, .* \.ending\(after='3060'\), other outputs"
    with pytest.raises(ff.QueryError, match=said):
        rows_of(more, WINDOWS[0])
    found = at(tmp_path, outputs).window(WINDOWS[0]).ending(after=3060).aggregate().to_pylist()
    want = right(everything, WINDOWS[0], outputs)
    assert found == [row for row in want if row["window"]["start"] >= 2400]
    assert more.window(WINDOWS[0]).aggregate("n").to_pylist() == right(everything, WINDOWS[0], {"n": ff.Count()})
    more.compact()
    assert more.window(ff.tumbling(60)).ending(after=2400).aggregate().num_rows
    more.refresh(everything, since=1200, until=2400)
    found = more.window(ff.tumbling(120)).ending(after=1200).aggregate().to_pylist()
    assert found == [row for row in right(everything, ff.tumbling(120), outputs) if row["window"]["start"] >= 1200]


def test_order_that_counts_takes_new_frames_or_refresh(tmp_path: Path) -> None:
    outputs = {"all": ff.Delta("x"), "n": ff.Count()}
    stored, table = at(tmp_path, outputs), pa.concat_tables([one(70), events(1)])
    stored.append(where(table, lambda row: row["t"] < 1200), run="1")
    stored.append(where(table, lambda row: row["t"] >= 1200), run="2")
    with pytest.raises(ff.QueryError, match=r"events of 1 frames that are there, the first from 60 on, .*\.refresh"):
        stored.append(one(61), run="late")
    stored.coarsen(120, older=600)
    with pytest.raises(ff.QueryError, match=r"the first from 0 on, and the order of events counts for 'all'"):
        stored.append(one(61), run="late")
    late = pa.concat_tables([table, one(61)])
    stored.refresh(late, since=0, until=120)
    assert rows_of(stored, ff.tumbling(120)) == right(late, ff.tumbling(120), outputs)


def test_no_file_has_keys_that_are_forgotten(tmp_path: Path) -> None:
    stored, _ = three_runs(tmp_path)
    before = files_in(tmp_path)
    history = stored.forget(["b", None])
    assert set(history) == before
    assert {Path(each).name for each in stored.vacuum(0)} == {Path(each).name for each in history}
    for path in tmp_path.rglob("*.parquet"):
        assert set(pq.read_table(path, partitioning=None)["k"].to_pylist()) == {"a"}
    assert stored.forget(["b", None]) == []


def test_windows_of_the_runs_written_since(tmp_path: Path) -> None:
    stored, _ = three_runs(tmp_path)
    now = dt.datetime.now(dt.UTC)
    assert stored.changed(since=now).window(ff.tumbling(60)).aggregate().num_rows == 0
    stored.append(one(61), run="late")
    stored.append(one(361, "b"), run="later")
    for since in (now, now.isoformat(), now.replace(tzinfo=None)):
        found = stored.changed(since=since).window(ff.tumbling(60)).aggregate().to_pylist()
        assert [(row["k"], row["window"]["start"]) for row in found] == [("a", 60), ("b", 360)]
    of_all = stored.changed(since="2000-01-01").window(ff.tumbling(60)).aggregate()
    assert of_all.to_pylist() == rows_of(stored, ff.tumbling(60))


def test_names_of_keys_are_not_those_of_columns(tmp_path: Path) -> None:
    table = pa.table({"t": [0, 61], "frame": ["a", "b"], "n.count": [1, 2], "run": [1, 2]})
    stored = ff.partials(tmp_path / "frame", time="t", by="frame", frame=60, n=ff.Count())
    stored.append(table, run="1")
    stored.compact()
    assert rows_of(stored, ff.tumbling(60)) == [
        {"frame": key, "window": {"start": at, "end": at + 60}, "n": 1} for key, at in (("a", 0), ("b", 60))
    ]
    for name in ("n.count", "run"):
        with pytest.raises(ff.QueryError, match=rf"by= names '{name}', the name of a column of stored partials"):
            ff.partials(tmp_path / name, time="t", by=name, frame=60, n=ff.Count()).append(table, run="1")
