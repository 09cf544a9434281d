"""What is read for the windows that are asked for: no column, file or row group that they do not need."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import random
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff


def events(chance: random.Random, rows: int) -> pa.Table:
    return pa.table(
        {
            "t": [chance.randrange(60) for _ in range(rows)],
            "k": pa.array([chance.choice(["a", "b", None]) for _ in range(rows)], pa.string()),
            "x": [chance.randrange(5) for _ in range(rows)],
        }
    )


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], list[str]]]:
    """The row groups and the columns of each read of a file."""
    found, real = [], pq.ParquetFile.read_row_groups

    def noted(self: pq.ParquetFile, groups: Any, columns: list[str], **how: Any) -> pa.Table:
        found.append((list(groups), columns))
        return real(self, groups, columns, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", noted)
    return found


def test_only_what_is_needed_is_read(tmp_path: Path, read: list[Any]) -> None:
    first = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    times = [first + dt.timedelta(hours=hour) for hour in range(0, 24 * 40, 5)]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "x": np.arange(len(times))})
    day = ff.partials(tmp_path / "p", time="t", frame="1 day", n=ff.Count(), s=ff.Sum("x"), top=ff.Max("x"))
    day.append(table, run="all")
    week = day.window(ff.sliding("7 days", every="1 day"))
    until = first + dt.timedelta(days=30)
    (row,) = week.ending(until - dt.timedelta(days=1), until).aggregate("n").to_pylist()
    assert row["n"] == sum(until - dt.timedelta(days=7) <= time < until for time in times)
    assert [columns for _, columns in read] == [["frame_start", "frame_end", "n.count"]] * 7


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


def test_lookup_reads_the_row_groups_of_its_keys(tmp_path: Path, read: list[Any]) -> None:
    rows = 200_000
    table = pa.table({"t": pa.array([0] * rows, pa.timestamp("us")), "k": np.arange(rows)})
    day = ff.partials(tmp_path / "p", time="t", by="k", frame="1 day", n=ff.Count())
    day.append(table, run="all")
    found = day.window(ff.tumbling("1 day")).lookup([70_000, 70_001], at=dt.datetime(1970, 1, 1, 12))
    assert found["k"].to_pylist() == [70_000, 70_001]
    assert [groups for groups, _ in read] == [[1]]


HOURS = [dt.timedelta(hours=hour) for hour in (3, 0, -3, 1, 2)]
NUMBERS = [0.0, -0.0, math.nan, 1.5, -math.inf]
KEYS: list[tuple[pa.DataType, list[Any]]] = [
    *((kind, [*NUMBERS, None, 1.5]) for kind in (pa.float64(), pa.float32(), pa.float16())),
    (pa.struct([("x", pa.float64())]), [{"x": each} for each in [*NUMBERS, None]]),
    *((pa.duration(unit), HOURS) for unit in ("s", "ms", "us", "ns")),
    *((kind, [dt.time(9), dt.time(7), None]) for kind in (pa.time32("s"), pa.time64("us"), pa.time64("ns"))),
    *((kind, [dt.datetime(2026, 1, 1) + each for each in HOURS]) for kind in (pa.timestamp("ns"), pa.timestamp("s"))),
    (pa.timestamp("us", "Europe/Berlin"), [dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + each for each in HOURS]),
    *((kind, [dt.date(2026, 1, each) for each in (3, 1, 2)]) for kind in (pa.date32(), pa.date64())),
    *((kind, [Decimal(each) for each in (3, -1, 0)]) for kind in (pa.decimal128(5, 2), pa.decimal256(50, 2))),
    *((kind, [b"b", b"", b"a", None]) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    *((kind, ["\u00e9", "", "a\0", "a"]) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    (pa.uint64(), [2**63 + 1, 0, 2**64 - 1]), (pa.int8(), [-128, 127, None]), (pa.bool_(), [True, None, False]),
]  # fmt: skip


def normal(value: Any) -> str:
    """A key with one zero and one NaN, in words."""
    if isinstance(value, dict):
        return str({name: normal(each) for name, each in value.items()})
    return repr(value + 0.0 if isinstance(value, float) else value)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "values"), KEYS, ids=[str(kind) for kind, _ in KEYS])
def test_keys_are_found_as_they_are_grouped(
    kind: pa.DataType, values: list[Any], tmp_path: Path, limit: Callable[..., None]
) -> None:
    """In files of several row groups, whatever their statistics say."""
    limit(stored_row_group=2)
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count())
    stored.append(pa.table({"t": [0] * len(values), "k": pa.array(values, kind)}), run="all")
    left, windows = list(map(normal, values)), stored.window(ff.tumbling(3))
    found = [windows.lookup([each], at=3)["n"].to_pylist() for each in values]
    assert found == [[left.count(each)] for each in left]
    for each in values:
        stored.forget([each])
        left = [other for other in left if other != normal(each)]
        assert sum(windows.aggregate()["n"].to_pylist()) == len(left)


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
        keys: list[Any] = [("a", 1), (None, 3)]
        kept = [row for row in whole.to_pylist() if (row["k"], row["x"]) in keys and row["window"]["end"] == 60]
        return bool(windows.lookup(keys, at=58).to_pylist() == kept)

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
