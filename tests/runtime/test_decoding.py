"""Row groups come the same from Polars and from pyarrow, and as they were written."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framefold.runtime.sources import parquet_decoding

from ..support.inner import inner, place_of
from ..support.sources import OPTIONS_OF_PARQUET

ROWS = 1000
CHANCE = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def small_files_too(limit: Callable[..., None]) -> None:
    """Files of any size are worth the import."""
    limit(min_decoded_rows=0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns that come from Polars, each time."""
    seen: list[list[str]] = []
    numbers = inner("numbers from Polars")

    def spy(*given: Any) -> Iterator[dict[str, pa.Array]]:
        for found in numbers(*given):
            seen.append(list(found))
            yield found

    monkeypatch.setattr(*place_of("numbers from Polars"), spy)
    return seen


def some(array: Any, type: pa.DataType) -> pa.Array:
    """Values of a type, a tenth of them null."""
    return pa.array(array, mask=CHANCE.random(ROWS) < 0.1).cast(type, safe=False)


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TIMES = [pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC", "Europe/Berlin", "+02:00")]


def numbers() -> pa.Table:
    """A column of every type that Polars is asked for."""
    columns = {str(type): some(CHANCE.integers(-100, 100, ROWS), type) for type in INTEGERS}
    floats = CHANCE.normal(size=ROWS)
    floats[:5] = [np.nan, np.inf, -np.inf, -0.0, 5e-324]
    columns |= {str(type): some(floats, type) for type in (pa.float32(), pa.float64())}
    columns["bool"] = some(CHANCE.random(ROWS) < 0.5, pa.bool_())
    columns["date"] = some(CHANCE.integers(-100_000, 100_000, ROWS).astype(np.int32), pa.date32())
    columns |= {str(type): some(CHANCE.integers(-(1 << 60), 1 << 60, ROWS), type) for type in TIMES}
    columns["seldom"] = some(CHANCE.integers(0, 3, ROWS) * 10**15, pa.int64())
    return pa.table(columns)


def written(table: pa.Table, folder: Path, **options: Any) -> str:
    """The path of a file, row groups of 128 rows unless said otherwise."""
    path = str(folder / "events.parquet")
    pq.write_table(table, path, **{"row_group_size": 128} | options)
    return path


def read(path: str, groups: list[int], columns: list[str], **options: Any) -> pa.Table:
    """Some columns of row groups, as they are decoded."""
    with pq.ParquetFile(path, **options) as file:
        batches = list(parquet_decoding.decoded(file, path, columns, groups, threads=False))
        assert all(0 < len(batch) <= parquet_decoding.READ_ROWS for batch in batches)
        return pa.Table.from_batches(batches)


@pytest.mark.parametrize("packing", ["snappy", "none", "zstd", "gzip"])
def test_numbers_are_those_that_were_written(tmp_path: Path, asked: list[list[str]], packing: str) -> None:
    table = numbers()
    path = written(table, tmp_path, compression=packing)
    found = read(path, list(range(8)), table.column_names)
    assert found.schema.equals(pq.read_schema(path).remove_metadata())
    for name in table.column_names:  # to the bit: NaN and the sign of zero as well
        ours, theirs = (pa.concat_arrays(of.column(name).chunks) for of in (found, table))
        assert ours.is_null().equals(theirs.is_null()), name
        if pa.types.is_floating(theirs.type):
            ours, theirs = (
                pa.array(of.drop_null().to_numpy().view(f"i{of.type.bit_width // 8}")) for of in (ours, theirs)
            )
        assert ours.equals(theirs), name
    assert asked == [table.column_names]


def test_only_the_row_groups_asked_for_come_in_their_order(tmp_path: Path, asked: list[list[str]]) -> None:
    table = pa.table({"x": np.arange(ROWS)})
    found = read(written(table, tmp_path), [1, 2, 5, 7, 6], ["x"])
    expected = [*range(128, 384), *range(640, 768), *range(896, 1000), *range(768, 896)]
    assert found.column("x").to_pylist() == expected
    assert len(asked) == 4


@pytest.mark.parametrize(("most", "times"), [(300, 4), (100, 0)])
def test_row_groups_are_taken_together_up_to_a_bound_and_beyond_it_left_to_pyarrow(
    tmp_path: Path, asked: list[list[str]], limit: Callable[..., None], most: int, times: int
) -> None:
    limit(decoded_batch_rows=most)
    table = pa.table({"x": np.arange(ROWS)})
    assert read(written(table, tmp_path), list(range(8)), ["x"]).combine_chunks().equals(table)
    assert asked == [["x"]] * times


def test_text_and_decimals_come_from_pyarrow_row_by_row(tmp_path: Path, asked: list[list[str]]) -> None:
    table = pa.table(
        {
            "text": some([f"key {number % 7}" for number in range(ROWS)], pa.string()),
            "x": some(CHANCE.normal(size=ROWS), pa.float64()),
            "price": some(CHANCE.integers(0, 100, ROWS), pa.int64()).cast(pa.decimal128(24, 2)),
            "clock": some(CHANCE.integers(0, 86_400, ROWS).astype(np.int32), pa.time32("s")),
            "list": pa.array([[number] for number in range(ROWS)]),
            "t": some(CHANCE.integers(0, 1 << 50, ROWS), pa.timestamp("us", "UTC")),
        }
    )
    path = written(table, tmp_path)
    found = read(path, [2, 3, 4], table.column_names, read_dictionary=["text"])
    assert pa.types.is_dictionary(found.schema.field("text").type)
    for name in table.column_names:
        assert found.column(name).to_pylist() == table.column(name).slice(256, 384).to_pylist(), name
    assert asked == [["x", "t"]]


def test_old_timestamps_come_from_pyarrow(tmp_path: Path, asked: list[list[str]]) -> None:
    table = pa.table({"t": pa.array([dt.datetime(2026, 1, 1), None], pa.timestamp("ns")), "x": [1, 2]})
    path = written(table, tmp_path, use_deprecated_int96_timestamps=True)
    found = read(path, [0], ["t", "x"], **OPTIONS_OF_PARQUET)
    assert found.column("t").type == pa.timestamp("us", "UTC")
    assert found.column("t").to_pylist() == [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None]
    assert asked == [["x"]]


BEYOND_POLARS = [
    pa.timestamp("us", "+05:30"), pa.timestamp("ns", "-13:00"), pa.decimal256(50, 2), pa.list_(pa.decimal256(50, 2)),
    pa.dictionary(pa.int8(), pa.decimal256(50, 2)), pa.map_(pa.string(), pa.timestamp("ms", "+00:01")),
]  # fmt: skip
"""Types at which Polars panics, whatever columns it is asked for: 1.36 at all of them, 2.1 at zones."""


@pytest.mark.parametrize("type", BEYOND_POLARS, ids=str)
def test_files_that_polars_cannot_open_pyarrow_reads(tmp_path: Path, type: pa.DataType) -> None:
    table = pa.table({"x": [1, None], "y": pa.nulls(2, type)})
    assert read(written(table, tmp_path), [0], ["x"]).column("x").to_pylist() == [1, None]


@pytest.mark.parametrize("names", [["*"], ["^x$", "y"], ["a.b", "x"], ["x", "é\n"]])
def test_no_name_is_a_pattern(tmp_path: Path, names: list[str]) -> None:
    table = pa.table({name: np.arange(ROWS) * place for place, name in enumerate(["*", "^x$", "x", "y", "a.b", "é\n"])})
    assert read(written(table, tmp_path), list(range(8)), names).combine_chunks().equals(table.select(names))


@pytest.mark.parametrize("good", [0, 1, 3])
def test_what_polars_leaves_off_in_the_middle_pyarrow_goes_on_with(
    tmp_path: Path, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None], good: int
) -> None:
    portions, batches_of = itertools.count(), pl.LazyFrame.collect_batches

    def broken(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        batches = list(batches_of(frame))
        if next(portions) == good:
            yield batches[0][:50]
            raise pl.exceptions.ComputeError("no")
        yield from batches

    monkeypatch.setattr(pl.LazyFrame, "collect_batches", broken)
    limit(decoded_batch_rows=200)
    table = pa.table({"x": np.arange(ROWS), "text": [str(number) for number in range(ROWS)]})
    path = written(table, tmp_path, row_group_size=100)
    assert read(path, list(range(10)), ["x", "text"]).combine_chunks().equals(table)
    assert asked == [["x"]] * good


def test_without_polars_pyarrow_reads_all(
    tmp_path: Path, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too old a one is as good as none."""
    with monkeypatch.context() as old:
        old.delattr(pl.LazyFrame, "collect_batches")
        assert parquet_decoding.polars.__wrapped__() is None
    monkeypatch.setattr(*place_of("Polars"), lambda: None)
    table = numbers()
    assert read(written(table, tmp_path), list(range(8)), table.column_names).schema.names == table.column_names
    assert asked == []


KEPT_BY, KEPT = "_RJEM_MALLOC_CONF", "dirty_decay_ms:60000"
MADE = """
import os
import sys
import pyarrow as pa
from framefold.runtime.sources import parquet_decoding
pa.set_cpu_count(3)
assert "polars" not in sys.modules
read = dict(os.environ)
class Seen:  # finds nothing, but sees with which settings Polars is imported
    def find_spec(self, name, path=None, target=None):
        read.update(os.environ) if name == "polars" else None
sys.meta_path.insert(0, Seen())
polars = parquet_decoding.polars()
print("none" if polars is None else polars.thread_pool_size())
print(read["_RJEM_MALLOC_CONF"], "POLARS_MAX_THREADS" in os.environ)
"""


def program(told: dict[str, str]) -> list[str]:
    """What the program says: the threads of Polars, and its settings when it is imported."""
    environment = {name: value for name, value in os.environ.items() if name not in ("POLARS_MAX_THREADS", KEPT_BY)}
    done = subprocess.run(
        [sys.executable, "-c", MADE], env=environment | told, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_polars_has_as_many_threads_as_pyarrow_and_keeps_memory(tmp_path: Path) -> None:
    """Unless the user says otherwise; and it need not be installed."""
    assert program({}) == ["3", KEPT, "False"]
    told = {"POLARS_MAX_THREADS": "2", KEPT_BY: "dirty_decay_ms:1"}
    assert program(told) == ["2", "dirty_decay_ms:1", "True"]
    (tmp_path / "polars.py").write_text("raise ImportError('not installed')")
    assert program({"PYTHONPATH": str(tmp_path)})[0] == "none"
