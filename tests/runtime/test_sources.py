"""What the local engine reads; and a sentence for what it cannot read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.duck import asked

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

COLUMNS: dict[str, list[Any]] = {"t": [0, 1, 5, 6], "k": ["a", "b", "a", "a"], "x": [1.0, 2.0, 3.0, 4.0]}
TABLE = pa.table(COLUMNS | {"unused": [[1], [], [2], None]})
EXPECTED = {"k": ["a", "a", "b"], "n": [1, 2, 1], "s": [1.0, 7.0, 2.0], "last": ["a", "a", "b"]}


def aggregate(data: Any, by: str = "k") -> dict[str, list[Any]]:
    outputs = {"n": ff.Count(), "s": ff.Sum("x"), "last": ff.Last("k")}
    result = ff.events(data, time="t", by=by).window(ff.tumbling(5)).aggregate(**outputs)
    assert isinstance(result, pa.Table)
    return {name: result[name].to_pylist() for name in EXPECTED}


def test_parquet_files_and_folders(tmp_path: Path) -> None:
    """One and several; a Hive folder has the key in the names of folders only."""
    paths = [tmp_path / "parts" / name for name in ("1.parquet", "2.parquet")]
    paths[0].parent.mkdir()
    for path, rows in zip(paths, (TABLE.slice(0, 3), TABLE.slice(3)), strict=True):
        pq.write_table(rows, path, row_group_size=2)
    pq.write_table(TABLE, tmp_path / "events.parquet")
    pq.write_to_dataset(TABLE, tmp_path / "hive", partition_cols=["k"])
    for each in (paths, [str(tmp_path / "parts")], [tmp_path / "events.parquet"], [tmp_path / "hive"]):
        assert aggregate(ff.parquet(*each)) == EXPECTED


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], r"^events are \[1, 2\]; expected"),
        ({"t": [1]}, r"^events are {'t': \[1\]}; expected"),
        (None, "^events are None; expected"),
        ("events.parquet", r"^events are 'events.parquet'; expected a Spark DataFrame, ff.parquet\(path\)"),
        (polars.LazyFrame({"t": [1]}), "LazyFrame.*collect"),
        (polars.Series("t", [1]), "Series"),
        (pandas.Series([1]), "Series"),
        (pa.chunked_array([[1]]), "ChunkedArray"),
        (pa.array([1]), "Int64Array"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_events(data: Any, message: str) -> None:
    with pytest.raises(ff.QueryError, match=message):
        ff.events(data, time="t")


def test_parquet_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "here.parquet")
    (tmp_path / "text.parquet").write_text("t,x\n1,2\n")
    for names, said in (
        (["nowhere.parquet"], r"nowhere.*does not exist"),
        (["here.parquet", "nowhere.parquet"], "nowhere"),
        (["text.parquet"], "cannot be read"),
    ):
        with pytest.raises(ff.QueryError, match=said):
            ff.events(ff.parquet(*[tmp_path / name for name in names]), time="t")


def test_what_cannot_be_read_on_the_way(tmp_path: Path, limit: Callable[..., None]) -> None:
    """Files that are whole at their beginning, or at their end, only: by one thread, and by several."""
    limit(text_block_bytes=1 << 20)
    (tmp_path / "e.csv").write_text("t\n" + "1\n" * (1 << 20) + "one\n")
    pq.write_table(pa.table({"t": range(1 << 14)}), tmp_path / "e.parquet", compression="none", use_dictionary=False)
    content = bytearray((tmp_path / "e.parquet").read_bytes())
    content[4:2_000] = bytes(1_996)
    (tmp_path / "e.parquet").write_bytes(content)
    for format in ("csv", "parquet"):
        window = ff.events(ff.files(tmp_path / f"e.{format}", format=format), time="t").window(ff.tumbling(10))
        with pytest.raises(ff.EngineError, match="the events cannot be read: "):
            window.aggregate(n=ff.Count())


@pytest.mark.parametrize("other", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
@pytest.mark.parametrize("batch", [100, 1 << 20])
def test_text_keys_of_files_with_dictionaries_of_their_own(
    tmp_path: Path, other: pa.DataType, batch: int, limit: Callable[..., None]
) -> None:
    """Row groups and files that each number the same texts in another way, some of them null."""
    limit(file_batch_rows=batch)  # the rows that a thread reads at a time
    chance = np.random.default_rng(5)
    words = [f"w{number}" for number in range(30)] + [None]
    for number, type in enumerate([pa.string(), other]):
        k = pa.array([words[at] for at in chance.integers(0, 31, 500)], pa.string()).cast(type)
        table = pa.table({"t": chance.integers(0, 50, 500), "k": k, "x": chance.integers(0, 9, 500)})
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=90)
    events = ff.events(ff.parquet(tmp_path), time="t", by="k")
    result = events.window(ff.tumbling(10)).aggregate(n=ff.Count(), s=ff.Sum("x"), texts=ff.Count("k")).to_pylist()
    rows = [(row["window"]["start"], row["k"], row["n"], row["s"], row["texts"]) for row in result]
    query = f"""SELECT t // 10 * 10 AS start, k, count(*), sum(x), count(k) FROM '{tmp_path}/*.parquet'
                GROUP BY ALL ORDER BY k NULLS FIRST, start"""
    assert rows == duckdb.sql(query).fetchall()
    one = events.where(pc.field("k") == "w1").window(ff.tumbling(10)).aggregate(n=ff.Count()).to_pylist()
    assert one == [{name: row[name] for name in ("k", "window", "n")} for row in result if row["k"] == "w1"]


def test_pieces_of_files_in_folders(tmp_path: Path, limit: Callable[..., None]) -> None:
    """Keys that are names of folders, conditions on them and on columns, and all events without a time counted."""
    limit(file_batch_rows=50)
    chance = np.random.default_rng(6)
    t = pa.array(chance.integers(0, 40, 600), mask=chance.random(600) < 0.05)
    table = pa.table({"t": t, "k": chance.integers(0, 4, 600), "x": chance.integers(0, 9, 600)})
    pq.write_to_dataset(table, tmp_path, partition_cols=["k"])
    for written in tmp_path.rglob("*.parquet"):
        pq.write_table(pq.read_table(written, partitioning=None), written, row_group_size=20)
    events = ff.events(ff.parquet(tmp_path), time="t", by="k")
    with pytest.raises(ff.NullTimeError, match=f"null in {t.null_count} of 600 events"):
        events.window(ff.tumbling(10)).aggregate(n=ff.Count())
    events = ff.events(ff.parquet(tmp_path), time="t", by="k", null_time="drop")
    kept = events.where((pc.field("k") > 0) & (pc.field("x") > 2)).window(ff.tumbling(10))
    with pytest.warns(ff.DroppedEventsWarning):
        found = kept.aggregate(n=ff.Count(), s=ff.Sum("x"))
    rows = [(row["window"]["start"], row["k"], row["n"], row["s"]) for row in found.to_pylist()]
    query = """SELECT t // 10 * 10 AS start, k, count(*), sum(x) FROM events
               WHERE k > 0 AND x > 2 AND t IS NOT NULL GROUP BY ALL ORDER BY k, start"""
    assert rows == asked(query, events=table).fetchall()
