"""Local files are read by several threads, some row groups each."""

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
from ..support.sources import FileSource, Source

ROWS = 5000


@pytest.fixture(autouse=True)
def small_files_too(limit: Callable[..., None]) -> None:
    """Files of any size are worth the import of Polars, and are several parts."""
    limit(min_decoded_rows=0, file_batch_rows=700)


@pytest.fixture
def events() -> pa.Table:
    chance = np.random.default_rng(11)
    times = np.sort(chance.integers(0, 60_000, ROWS))
    return pa.table(
        {"t": times, "k": chance.integers(0, 5, ROWS), "x": chance.normal(size=ROWS), "name": times.astype(str)}
    )


@pytest.fixture
def folder(events: pa.Table, tmp_path: Path) -> Path:
    """Two files, row groups of 300 rows."""
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
