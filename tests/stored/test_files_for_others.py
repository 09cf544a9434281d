"""Others read the files by the names of their columns, and this version those that one before has written."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import datasketches
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

HERE = Path(__file__).parent
VERSIONS = sorted(HERE.glob("v*"))

OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "spent": ff.Sum("amount"), "cents": ff.Sum("cents"), "most": ff.Max("amount"),
    "users": ff.ApproxCountDistinct("user"), "middle": ff.Median("cents"), "last": ff.Last("user"),
}  # fmt: skip


def payments() -> pa.Table:
    """Some payments of two days; the same in every run."""
    at = [dt.datetime(2026, 11, 25, 22) + dt.timedelta(minutes=7 * number) for number in range(60)]
    return pa.table(
        {
            "time": pa.array(at, pa.timestamp("us", "UTC")),
            "shop": [["north", "south", None][number % 3] for number in range(60)],
            "amount": [number * 0.25 for number in range(60)],
            "cents": [number * 31 % 17 for number in range(60)],
            "user": [f"user {number % 13}" for number in range(60)],
        }
    )


def at(path: Path) -> ff.StoredPartials:
    return ff.partials(path, time="time", by="shop", frame="1 hour", **OUTPUTS)


def written(path: Path) -> ff.StoredPartials:
    """What a version keeps as data of a test: three runs, one of them merged with another."""
    stored, events = at(path), payments()
    stored.append(events[:30], run="2026-11-25")
    stored.append(events[30:40], run="2026-11-26")
    stored.compact()
    stored.append(events[40:], run="2026-11-27")
    stored.vacuum(0)
    return stored


def right(windows: ff.Spec) -> list[dict[str, Any]]:
    query = ff.events(payments(), time="time", by="shop")
    return query.window(windows).aggregate(**OUTPUTS).to_pylist()


def test_duckdb_reads_them(tmp_path: Path) -> None:
    written(tmp_path)
    found = duckdb.sql(
        """
        select shop, frame_start, sum("n.count"), sum("cents.total.limb0") + sum("cents.total.limb1") * 4294967296,
          sum("spent.total.high") + sum("spent.total.low"), max("most.value"), min("day")
        from read_parquet($files, hive_partitioning = true)
        group by shop, frame_start order by shop nulls first, frame_start
        """,
        params={"files": str(tmp_path / "**" / "*.parquet")},
    ).fetchall()
    want = [
        (row["shop"], row["window"]["start"], *(row[name] for name in ("n", "cents", "spent", "most")))
        for row in right(ff.tumbling("1 hour"))
    ]
    assert [(shop, start.astimezone(dt.UTC), *values) for shop, start, *values, _ in found] == want
    assert all(row[-1] == row[1].astimezone(dt.UTC).date() for row in found)


def test_sketches_are_those_of_datasketches(tmp_path: Path) -> None:
    written(tmp_path)
    rows = pq.read_table(tmp_path, filters=[("shop", "==", "north")])["users.sketch"].to_pylist()
    union = datasketches.hll_union(12)
    for each in rows:
        union.update(datasketches.hll_sketch.deserialize(each))
    users = {row["user"] for row in payments().to_pylist() if row["shop"] == "north"}
    assert round(union.get_estimate()) == len(users)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_what_a_version_has_written_is_read(version: Path, tmp_path: Path) -> None:
    shutil.copytree(version, tmp_path / "table")
    stored = at(tmp_path / "table")
    for windows in (ff.tumbling("1 hour"), ff.sliding("6 hours", every="1 hour"), ff.tumbling("1 day")):
        assert stored.window(windows).aggregate().to_pylist() == right(windows)
    assert stored.runs()["run"].to_pylist() == ["2026-11-25", "2026-11-26", "2026-11-27"]
    stored.append(payments()[:1], run="later")
    stored.compact()
    assert stored.window(ff.tumbling("1 day")).aggregate("n")["n"].to_pylist()
    with pytest.raises(ff.QueryError, match=r"the run '2026-11-25' was merged with others"):
        stored.changed(run="2026-11-25")


def test_this_version_has_a_table(tmp_path: Path) -> None:
    about = written(tmp_path).table.commits.latest().about
    assert f"v{about['version']}" in [path.name for path in VERSIONS]
    (kept,) = [at(path).table.commits.latest().about for path in VERSIONS if path.name == f"v{about['version']}"]
    assert kept | {"query": about["query"] | kept["query"]} == about  # which may say more than it did


if __name__ == "__main__":  # python -m tests.stored.test_files_for_others writes the table of a new version
    from importlib import import_module

    made = HERE / f"v{import_module('framefold.extras.stored.commits').VERSION}"
    shutil.rmtree(made, ignore_errors=True)
    written(made)
