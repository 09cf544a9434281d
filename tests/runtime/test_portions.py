"""Files are read by several threads, and events accumulated in portions of bounded size."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.inner import place_of
from ..support.limits import limits
from ..support.sources import FileSource, Source, in_portions


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


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("polars", [True, False])
def test_results_are_those_of_a_data_frame(
    folder: Path, events: pa.Table, cores: int, polars: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pa, "cpu_count", lambda: cores)
    if not polars:
        monkeypatch.setattr(*place_of("Polars"), lambda: None)
    query = ff.events(ff.parquet(folder), time="t", by="k").window(ff.tumbling(1000))
    found = query.aggregate(n=ff.Count(), low=ff.Min("x"), total=ff.Sum("t"))
    frame = pl.from_arrow(events)
    assert isinstance(frame, pl.DataFrame)
    aggregates = pl.len().cast(pl.Int64).alias("n"), pl.col("x").min().alias("low"), pl.col("t").sum().alias("total")
    expected = frame.group_by("k", (pl.col("t") // 1000 * 1000).alias("start")).agg(*aggregates).sort("k", "start")
    results = found.append_column("start", found["window"].combine_chunks().field("start"))
    assert results.select(expected.columns).to_pylist() == expected.to_dicts()
