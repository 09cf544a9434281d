"""The windows that end between two times, those that a run has changed: as a query over all events has them."""

from __future__ import annotations

import datetime as dt
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "s": ff.Sum("x"), "f": ff.Sum("y"), "top": ff.Max("x"), "d": ff.CountDistinct("x"),
    "last": ff.Last("x"),
}  # fmt: skip

WINDOWS = [
    [ff.sliding(12, every=3)],
    [ff.sliding(9, every=6)],
    [ff.tumbling(6)],
    [ff.sliding(30, every=3), ff.sliding(12, every=3), ff.sliding(3, every=3)],
    [ff.sliding(12, every=6), ff.cumulating(12, every=3), ff.tumbling(9)],
    [ff.sliding(12, every=3, min_fill="full")],
    [ff.landmark(every=3)],
    [ff.sliding(12, every=3, empty="emit")],
]


def events(chance: random.Random, rows: int) -> pa.Table:
    return pa.table(
        {
            "t": [chance.randrange(60) for _ in range(rows)],
            "k": pa.array([chance.choice(["a", "b", None]) for _ in range(rows)], pa.string()),
            "x": [chance.randrange(5) for _ in range(rows)],
            "y": [chance.randrange(100) / 4 for _ in range(rows)],
        }
    )


def ends(found: pa.Table) -> Any:
    return (
        found["at"] if "at" in found.column_names else pa.chunked_array(found["window"].combine_chunks().field("end"))
    )


@pytest.mark.parametrize("windows", WINDOWS, ids=lambda each: " ".join(map(str, each)))
@pytest.mark.parametrize("seed", range(4))
def test_windows_that_end_between_two_times(windows: list[Any], seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    table = events(chance, chance.choice([3, 40, 200]))
    outputs = {name: OUTPUTS[name] for name in chance.sample(sorted(OUTPUTS), 3)}
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, **outputs)
    ordered = "last" in outputs
    for run in range(1 if ordered else 4):
        some = np.arange(len(table)) % 4 == run
        stored.append(table if ordered else table.filter(pa.array(some)), run=str(run))
    whole = ff.events(table, time="t", by="k").window(*windows).aggregate(**outputs)
    for after, until in [(None, 30), (20, None), (20, 23), (18, 33), (40, 30), (100, 200)]:
        found = stored.window(*windows).ending(after, until).aggregate()
        kept = [(after is None or end > after) and (until is None or end <= until) for end in ends(whole).to_pylist()]
        assert found.to_pylist() == whole.filter(pa.array(kept, pa.bool_())).to_pylist(), (after, until)


@pytest.mark.parametrize("windows", WINDOWS[:5], ids=lambda each: " ".join(map(str, each)))
@pytest.mark.parametrize("seed", range(4))
def test_windows_that_a_run_has_changed(windows: list[Any], seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    table, late = events(chance, 100), events(chance, chance.choice([1, 4]))
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count(), s=ff.Sum("x"))
    stored.append(table, run="first")
    stored.append(late, run="late")
    both = ff.events(pa.concat_tables([table, late]), time="t", by="k").window(*windows)
    whole = both.aggregate(n=ff.Count(), s=ff.Sum("x"))
    times = list(zip(late["k"].to_pylist(), late["t"].to_pylist(), strict=True))
    for until in (None, 30):
        found = stored.changed(run="late").window(*windows).ending(until=until).aggregate()
        kept = [
            any(row["k"] == key and row["window"]["start"] <= at < row["window"]["end"] for key, at in times)
            and (until is None or row["window"]["end"] <= until)
            for row in whole.to_pylist()
        ]
        assert found.to_pylist() == whole.filter(pa.array(kept, pa.bool_())).to_pylist()


def test_only_what_is_needed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    times = [first + dt.timedelta(hours=hour) for hour in range(0, 24 * 40, 5)]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "x": np.arange(len(times))})
    day = ff.partials(tmp_path / "p", time="t", frame="1 day", n=ff.Count(), s=ff.Sum("x"), top=ff.Max("x"))
    day.append(table, run="all")
    asked, read = [], pq.ParquetFile.read_row_groups

    def noted(self: pq.ParquetFile, groups: Any, columns: list[str], **how: Any) -> pa.Table:
        asked.append(columns)
        return read(self, groups, columns, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", noted)
    week = day.window(ff.sliding("7 days", every="1 day"))
    until = first + dt.timedelta(days=30)
    (row,) = week.ending(until - dt.timedelta(days=1), until).aggregate("n").to_pylist()
    assert row["n"] == sum(until - dt.timedelta(days=7) <= time < until for time in times)
    assert asked == [["frame_start", "frame_end", "n.count"]] * 7


def test_lookup_is_the_window_that_a_time_is_in(tmp_path: Path) -> None:
    chance = random.Random(1)
    table = events(chance, 300)
    windows = [ff.sliding(12, every=3), ff.cumulating(12, every=3)]
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count(), s=ff.Sum("x"))
    stored.append(table, run="all")
    whole = ff.events(table, time="t", by="k").window(*windows).aggregate(s=ff.Sum("x")).to_pylist()
    for at in range(-3, 80):
        found = stored.window(*windows).lookup(["b", None, "z"], "s", at=at)
        end = -(-at // 3) * 3
        assert found.to_pylist() == [row for row in whole if row["k"] in ("b", None) and row["window"]["end"] == end]


def test_lookup_of_several_keys_by_the_clock(tmp_path: Path) -> None:
    today = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    times = [today - dt.timedelta(days=day) for day in range(10)]
    table = pa.table({"t": times, "k": ["a", "b"] * 5, "j": [1, 1, 2, 2, 1, 1, 2, 2, 1, 1], "x": range(10)})
    day = ff.partials(tmp_path / "p", time="t", by=["k", "j"], frame="1 day", n=ff.Count(), s=ff.Sum("x"))
    day.append(table, run="all")
    week = day.window(ff.sliding("7 days", every="1 day"))
    asked: list[Any] = [[("a", 1)], pa.table({"j": [1], "k": ["a"], "other": [None]})]
    for keys in asked:
        found = week.lookup(keys)
        if found["window"][0]["end"].as_py() == today + dt.timedelta(days=1):  # midnight has not passed meanwhile
            assert found.drop_columns("window").to_pylist() == [{"k": "a", "j": 1, "n": 2, "s": 4}]
    assert not len(week.lookup([]))


def test_lookup_reads_the_row_groups_of_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 200_000
    table = pa.table({"t": pa.array([0] * rows, pa.timestamp("us")), "k": np.arange(rows)})
    day = ff.partials(tmp_path / "p", time="t", by="k", frame="1 day", n=ff.Count())
    day.append(table, run="all")
    seen, read = [], pq.ParquetFile.read_row_groups

    def noted(self: pq.ParquetFile, groups: Any, **how: Any) -> pa.Table:
        seen.append(list(groups))
        return read(self, groups, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", noted)
    found = day.window(ff.tumbling("1 day")).lookup([70_000, 70_001], at=dt.datetime(1970, 1, 1, 12))
    assert found["k"].to_pylist() == [70_000, 70_001]
    assert seen == [[1]]


def test_what_lookup_refuses(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count())
    stored.append(events(random.Random(0), 9), run="all")
    tumbling = stored.window(ff.tumbling(3))
    with pytest.raises(ff.QueryError, match=r"lookup\(\) is given no at=, and times are integers"):
        tumbling.lookup(["a"])
    with pytest.raises(ff.QueryError, match=r"keys are 'a'; expected values of k: string"):
        tumbling.lookup("a", at=3)
    with pytest.raises(
        ff.QueryError, match=r"keys are .*; expected values of k: string, or a table with these columns"
    ):
        tumbling.lookup([("a", 1)], at=3)
    with pytest.raises(ff.QueryError, match=r"lookup\(\) is asked for .*; expected windows along the time line"):
        stored.window(ff.landmark(every=3)).lookup(["a"], at=3)


def test_a_second_lookup_reads_nothing_of_what_is_there_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the manifest, and no file: until another one commits, or the table is another."""
    chance, place = random.Random(2), tmp_path / "p"

    def at() -> ff.StoredPartials:
        return ff.partials(place, time="t", by=["k", "x"], frame=3, n=ff.Count())

    first, second = events(chance, 100), events(chance, 20)
    at().append(first, run="1")
    stored = at()
    windows = stored.window(ff.sliding(30, every=3))

    def right(table: pa.Table) -> bool:
        whole = ff.events(table, time="t", by=["k", "x"]).window(ff.sliding(30, every=3)).aggregate(n=ff.Count())
        kept = [
            row
            for row in whole.to_pylist()
            if (row["k"], row["x"]) in [("a", 1), (None, 3)] and row["window"]["end"] == 60
        ]
        return bool(windows.lookup([("a", 1), (None, 3)], at=58).to_pylist() == kept)

    assert right(first)
    with monkeypatch.context() as patched:
        for of, name in ((pq, "ParquetFile"), (type(stored.table.commits), "read")):
            patched.setattr(of, name, None)
        assert right(first)
    at().append(second, run="2")
    assert right(pa.concat_tables([first, second]))
    assert len(pickle.loads(pickle.dumps(stored.table)).commits.kept.paths) == 0
    assert len(stored.table.commits.kept.paths) == 2
    stored.forget([("a", 1)])
    left = [row for row in pa.concat_tables([first, second]).to_pylist() if (row["k"], row["x"]) != ("a", 1)]
    assert right(pa.Table.from_pylist(left, first.schema))
    assert stored.table.commits.kept.paths <= {each.path for each in stored.table.commits.latest().files}
    shutil.rmtree(place)
    for run in ("1", "2", "3"):
        at().append(second, run=run)
    assert right(pa.concat_tables([second] * 3))


def test_what_is_kept_has_a_bound(tmp_path: Path, limit: Any) -> None:
    table = events(random.Random(3), 200)
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count())
    for run in range(5):
        stored.append(table.slice(run * 40, 40), run=str(run))
    windows, kept = stored.window(ff.sliding(60, every=60)), stored.table.commits.kept
    want = windows.lookup(["a", "b"], at=60)
    assert len(kept.paths) == 5
    limit(kept_bytes=4000)
    for _ in range(3):
        assert windows.lookup(["a", "b"], at=60) == want
        assert windows.lookup(["b"], at=60).to_pylist() == want.to_pylist()[1:]
    limit(kept_bytes=0)
    other = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count())
    assert other.window(ff.sliding(60, every=60)).lookup(["a", "b"], at=60) == want
    assert not other.table.commits.kept.paths
