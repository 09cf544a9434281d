"""Stored partials as a Delta Lake table: the same results, commits in its log, and what others do to it."""

from __future__ import annotations

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pytest

import framefold as ff

HOUR = 3_600_000_000
EVENTS = pa.table(
    {
        "t": pa.array([HOUR * number // 3 for number in range(300)], pa.timestamp("us", "UTC")),
        "k": ["a", "b", "c"] * 100,
        "x": [float(number * number % 97) for number in range(300)],
    }
)


def stored(folder: Path, format: str | None = None) -> ff.StoredPartials:
    outputs: dict[str, ff.Operation] = {"n": ff.Count(), "top": ff.Max("x"), "all": ff.Sum("x")}
    return ff.partials(folder / "table", time="t", by="k", frame="1 hour", format=format, **outputs)


def test_others_read_the_states_and_see_each_commit(tmp_path: Path) -> None:
    stored(tmp_path, "delta").append(EVENTS.slice(0, 200), run="first")
    stored(tmp_path).append(EVENTS.slice(200), run="second")
    table = deltalake.DeltaTable(tmp_path / "table")
    rows = pa.table(table.to_pyarrow_table())
    found = duckdb.sql(
        'SELECT k, sum("n.count")::BIGINT, max("top.value"), min(day)::VARCHAR FROM rows GROUP BY k ORDER BY k'
    )
    want = duckdb.sql("SELECT k, count(*), max(x), min(t)::DATE::VARCHAR FROM EVENTS GROUP BY k ORDER BY k")
    assert found.fetchall() == want.fetchall()
    before = deltalake.DeltaTable(tmp_path / "table", version=table.version() - 1)
    assert pa.table(before.to_pyarrow_table()).num_rows < rows.num_rows
    assert table.metadata().partition_columns == ["day"]


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda run: stored(tmp_path, "delta").append(EVENTS, run=str(run % 5)), range(10)))
    assert sorted(stored(tmp_path).runs()["run"].to_pylist()) == list("01234")
    found = stored(tmp_path).window(ff.tumbling("1 hour")).aggregate("n")
    assert sum(found["n"].to_pylist()) == 1500


def test_a_table_that_another_program_has_rewritten_is_refused(tmp_path: Path) -> None:
    table = stored(tmp_path, "delta")
    table.append(EVENTS, run="first")
    table.append(EVENTS, run="second")
    other = deltalake.DeltaTable(tmp_path / "table")
    other.alter.set_table_properties({"delta.logRetentionDuration": "interval 10 days"})  # no files change
    assert stored(tmp_path).runs().num_rows == 2
    deltalake.DeltaTable(tmp_path / "table").optimize.compact()
    with pytest.raises(ff.EngineError, match=r"were changed by another program, such as OPTIMIZE; expected RESTORE"):
        stored(tmp_path).runs()
    deltalake.DeltaTable(tmp_path / "table").restore(2)
    assert stored(tmp_path).append(EVENTS, run="third").events == 300
    assert stored(tmp_path).runs().num_rows == 3


def test_tables_of_others_are_refused(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "table", pa.table({"a": [1]}))
    with pytest.raises(ff.EngineError, match=r"is none of framefold's; expected one that ff\.partials has made"):
        stored(tmp_path)
    stored(tmp_path / "crafted", "delta").append(EVENTS, run="first")
    log = tmp_path / "crafted" / "table" / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    manifest = json.loads(actions[0]["commitInfo"]["framefold"])
    manifest["files"][0]["path"] = "../elsewhere.parquet"
    actions[0]["commitInfo"]["framefold"] = json.dumps(manifest)
    log.write_text("\n".join(map(json.dumps, actions)))
    with pytest.raises(ff.EngineError, match=r"path '\.\./"):
        stored(tmp_path / "crafted")


def test_another_format_is_refused(tmp_path: Path) -> None:
    for there, other in (("delta", "parquet"), ("parquet", "delta")):
        stored(tmp_path / there, there).append(EVENTS, run="first")
        with pytest.raises(ff.EngineError, match=f"are of format '{there}'; expected it instead of '{other}'"):
            stored(tmp_path / there, other)
    with pytest.raises(ff.QueryError, match=r"format is 'iceberg'; expected 'parquet' or 'delta'"):
        stored(tmp_path, "iceberg")


def test_columns_and_files_follow_the_table(tmp_path: Path) -> None:
    table = stored(tmp_path, "delta")
    table.append(EVENTS.slice(0, 0), run="nothing")
    table.append(EVENTS.slice(0, 150), run="first")
    more = table.add_output(low=ff.Min("x"))
    more.append(EVENTS.slice(150), run="second")
    more.forget(["a"])
    lines = pa.table(deltalake.DeltaTable(tmp_path / "table").to_pyarrow_table())  # noqa: F841
    found = duckdb.sql('SELECT k, sum("n.count")::BIGINT, min("low.value") FROM lines GROUP BY k ORDER BY k').fetchall()
    later = "min(x) FILTER (t >= to_timestamp(50 * 3600))"
    want = duckdb.sql(f"SELECT k, count(*), {later} FROM EVENTS WHERE k <> 'a' GROUP BY k ORDER BY k")
    assert found == want.fetchall()
    there = {path.relative_to(tmp_path / "table").as_posix() for path in (tmp_path / "table").rglob("*.parquet")}
    named = {file.path for file in more.table.commits.latest().files}
    assert more.vacuum() == []
    gone = {Path(path).relative_to(tmp_path / "table").as_posix() for path in more.vacuum(0)}
    assert gone == there - named
    assert more.window(ff.tumbling("1 hour")).ending(after=EVENTS["t"][170].as_py()).aggregate("low").num_rows


NAMES = {"day": "'day' and 'day'", "Run": "'Run' and 'run'", "N.COUNT": "'N.COUNT' and 'n.count'"}
KINDS: dict[pa.DataType, Any] = {
    pa.time64("us"): dt.time(1), pa.time32("s"): dt.time(1), pa.duration("us"): dt.timedelta(1), pa.float16(): 1.0,
    pa.decimal256(50, 2): Decimal(1), pa.struct([("x", pa.duration("s"))]): {"x": dt.timedelta(1)},
}  # fmt: skip


def test_what_delta_lake_has_not_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    def refused(sentence: str, k: pa.Array, by: str = "k", t: int = 0, folder: str = "table") -> None:
        events = pa.table({"t": pa.array([0, t], pa.timestamp("us")), by: k})
        table = ff.partials(tmp_path / folder, time="t", by=by, frame="1 hour", format="delta", n=ff.Count())
        with pytest.raises(ff.FramefoldError, match=sentence):
            table.append(events, run="1")
        assert not [*tmp_path.rglob("*.parquet")]

    for kind, value in KINDS.items():
        refused(
            r"'k' of the stored partials is .*, which Delta Lake has not; expected another", pa.array([value] * 2, kind)
        )
    for name, both in NAMES.items():
        refused(f"have columns {both}, which Delta Lake does not tell apart; expected", pa.array(["a", "b"]), name)
    for far in (-(2**60), -62_135_596_800_000_001, 253_402_300_800_000_000, 2**60):
        refused("and Delta Lake has those of the years 1 to 9999; expected format=", pa.array(["a", "b"]), t=far)
    refused("has '%20', which Delta Lake reads as another character", pa.array(["a", "b"]), folder="a%20b")


@pytest.mark.parametrize("zone", ["Etc/UTC", "Europe/Berlin", "+05:30"])
def test_times_of_any_zone(zone: str, tmp_path: Path) -> None:
    times = EVENTS["t"].cast(pa.timestamp("us", zone))
    events = pa.table({"t": times, "k": times, "x": times})
    outputs: dict[str, ff.Operation] = {"n": ff.Count(), "top": ff.Max("x")}
    for run in range(2):
        table = ff.partials(tmp_path / "p", time="t", by="k", frame="1 hour", format="delta", **outputs)
        table.append(events.slice(run * 150, 150), run=str(run))
    found = table.window(ff.tumbling("1 hour")).aggregate()
    assert found["k"].type == times.type
    assert (found["k"].to_pylist(), found["top"].to_pylist()) == (times.to_pylist(), times.to_pylist())
    lines = pa.table(deltalake.DeltaTable(tmp_path / "p").to_pyarrow_table())
    assert sorted(lines["k"].cast(pa.timestamp("us", "UTC")).to_pylist()) == EVENTS["t"].to_pylist()
