"""What the local engine reads: files by several threads, events in portions; a sentence for what it cannot read."""

from __future__ import annotations

import itertools
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
from ..support.limits import limits
from ..support.sources import FileSource, Source, in_portions

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
@pytest.mark.parametrize(("batch", "cores"), [(100, 3), (1 << 20, 1), (1 << 20, 3)])
def test_text_keys_of_files_with_dictionaries_of_their_own(
    tmp_path: Path, other: pa.DataType, batch: int, cores: int, limit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row groups and files that each number the same texts in another way, some of them null."""
    monkeypatch.setattr(pa, "cpu_count", lambda: cores)
    limit(file_batch_rows=batch, min_decoded_rows=0)  # the rows that a thread reads at a time, also with Polars
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


# Portions, and threads that read local files


def sizes(batches: list[int], partials_of: float) -> tuple[list[int], list[int]]:
    """How many events were accumulated at a time, and how many partials went out."""
    events, starts = pa.table({"t": np.arange(sum(batches))}), np.cumsum([0, *batches])
    accumulated: list[int] = []

    def accumulate(portion: pa.Table) -> pa.Table:
        accumulated.append(len(portion))
        return portion.slice(0, int(len(portion) * partials_of))

    portions = [events.slice(at, rows) for at, rows in zip(starts, batches, strict=False)]
    with limits(portion_rows=10, max_portion_rows=40):
        return accumulated, [len(each) for each in in_portions(accumulate, portions)]


def test_portions_are_large_where_they_leave_many_partials() -> None:
    assert sizes([4] * 8, 0.25) == ([12, 12, 8], [3, 3, 2])
    assert sizes([25, 5], 0.25) == ([25, 5], [6, 1])
    assert sizes([], 0.25) == ([], [])
    assert sizes([4] * 24, 0.5) == ([12, 40, 40, 16], [20, 20, 8])
    assert sizes([12], 0.5) == ([12], [6])  # looked at once, and not again
    assert sizes([12, 3], 0.5) == ([12, 15], [7])
    assert sizes([100], 0.5) == ([100], [50])
    with limits(portion_bytes=8 * 20):  # wide events are not gathered without end
        assert sizes([4] * 10, 1.0) == ([12, 20, 20], [20, 20])


def test_no_portion_is_made_larger_than_the_most(limit: Callable[..., None]) -> None:
    limit(portion_rows=5, max_portion_rows=10)
    batches = [pa.record_batch({"t": np.zeros(size, np.int64)}) for size in [3, 9, 2, 2, 10, 4, 12, 1]]
    portions = in_portions(lambda portion: pa.table({"rows": [len(portion)]}), batches)
    assert [rows for table in portions for rows in table["rows"].to_pylist()] == [3, 9, 4, 10, 4, 12, 1]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("least", [1, 16, 1 << 18])
def test_the_size_of_portions_changes_nothing(shuffled: bool, least: int, limit: Callable[..., None]) -> None:
    limit(portion_rows=least)
    chance = np.random.default_rng(4)
    t = np.sort(chance.integers(0, 400, 3000))
    events = pa.table({"t": chance.permutation(t) if shuffled else t, "x": chance.integers(0, 99, 3000)})
    batches = events.to_reader(max_chunksize=7)
    found = ff.events(batches, time="t").window(ff.tumbling(20)).aggregate(n=ff.Count(), s=ff.Sum("x"))
    frames = events["t"].to_numpy() // 20
    assert found["n"].to_pylist() == np.bincount(frames).tolist()
    assert found["s"].to_pylist() == np.bincount(frames, weights=events["x"].to_numpy()).astype(int).tolist()


def with_one_row_group(path: Path, rows: int) -> Path:
    """A file with one row group of events in the order of time, whose columns are plain."""
    chance = np.random.default_rng(2)
    table = pa.table({"t": np.arange(rows), "x": chance.normal(0, 1, rows), "n": chance.integers(0, 1 << 40, rows)})
    pq.write_table(table, path, row_group_size=rows, use_dictionary=False, data_page_size=1 << 14, compression="none")
    return path


def test_a_large_row_group_is_never_held_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    """Sixteen times the rows need no more memory, as pyarrow counts it."""
    limit(file_batch_rows=1 << 12, buffered_bytes=0, buffer_bytes=1 << 14)
    most = []
    for rows in (1 << 14, 1 << 18):
        source = FileSource(ff.parquet(with_one_row_group(tmp_path / f"{rows}.parquet", rows)))
        readers = source.readers(["t", "x"], [])
        assert readers
        (read,) = readers.readers
        before = pa.total_allocated_bytes()
        held = []
        for batch in read():
            held.append(pa.total_allocated_bytes() - before)
            assert len(batch) <= 1 << 12
            del batch
        most.append(max(held))
    assert most[1] < 1.5 * most[0]
    assert most[1] < (1 << 18) * 16 / 8


# Several threads read local files, each some row groups


ROWS = 5000


@pytest.fixture
def events() -> pa.Table:
    chance = np.random.default_rng(11)
    times = np.sort(chance.integers(0, 60_000, ROWS))
    return pa.table(
        {"t": times, "k": chance.integers(0, 5, ROWS), "x": chance.normal(size=ROWS), "name": times.astype(str)}
    )


@pytest.fixture
def folder(events: pa.Table, tmp_path: Path, limit: Callable[..., None]) -> Path:
    """Two files, row groups of 300 rows: worth the import of Polars whatever their size, and several parts."""
    limit(min_decoded_rows=0, file_batch_rows=700)
    for part, rows in enumerate((slice(0, 3150), slice(3150, ROWS))):
        pq.write_table(
            events.slice(rows.start, rows.stop - rows.start), tmp_path / f"{part}.parquet", row_group_size=300
        )
    return tmp_path


def read(source: Source, columns: list[str]) -> list[list[pa.RecordBatch]]:
    """The batches that each reader gives."""
    readers = source.readers(columns, [])
    assert readers is not None
    return [list(each()) for each in readers.readers]


@pytest.mark.parametrize("columns", [["t", "x"], ["t", "name"]])
def test_all_rows_come_in_their_order(folder: Path, events: pa.Table, columns: list[str]) -> None:
    parts = read(FileSource(ff.parquet(folder)), columns)
    assert [list(map(len, part)) for part in parts] == [[600]] * 5 + [[150, 300], [600], [600], [350]]
    assert pa.Table.from_batches(itertools.chain.from_iterable(parts)).combine_chunks().equals(events.select(columns))


def test_a_condition_leaves_row_groups_and_rows_out(folder: Path, events: pa.Table) -> None:
    source = FileSource(ff.parquet(folder))
    found = read(source.where((pc.field("t") >= 40_000) & (pc.field("x") > 0)), ["k"])
    t, x = events["t"].to_numpy(), events["x"].to_numpy()
    kept = events["k"].to_numpy()[(t >= 40_000) & (x > 0)]
    assert len(found) < 8
    assert pa.Table.from_batches(itertools.chain.from_iterable(found))["k"].to_pylist() == kept.tolist()
    assert source.where(pc.field("t") > 100_000).readers(["k"], []) is None


def test_files_that_lack_a_column_are_scanned_as_a_data_set(folder: Path, events: pa.Table) -> None:
    pq.write_table(events.drop_columns(["x"]), folder / "2.parquet")
    source = FileSource(ff.parquet(folder))
    assert source.readers(["t", "x"], []) is None
    assert len(read(source, ["t"])) > 1
    assert source.batches(["t", "x"]).read_all()["x"].null_count == ROWS


def test_other_data_is_read_by_one_thread(events: pa.Table) -> None:
    assert Source(events).readers(["t"], []) is None
