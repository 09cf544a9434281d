"""Ordered dictionaries of several orders, or of none, in one column: refused, and never compared as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

LEVELS = ["low", "mid", "high"]


def levels(values: list[str], order: list[str], index: pa.DataType | None = None, ordered: bool = True) -> pa.Array:
    codes = pa.array([order.index(value) for value in values], index or pa.int8())
    return pa.DictionaryArray.from_arrays(codes, pa.array(order), ordered=ordered)


def folder(place: Path, format: str, *columns: pa.Array) -> Any:
    """A file for each column ``c``, beside times ``t``."""
    for number, column in enumerate(columns):
        table = pa.table({"t": pa.array(range(len(column)), pa.int64()), "c": column})
        path = place / f"{number}.{format}"
        if format == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as file:
                file.write_table(table)
    return ff.files(str(place), format=format)


def compared(events: Any, by: str | None = None) -> dict[str, list[Any]]:
    window = ff.events(events, time="t", by=by).window(ff.tumbling(10))
    return window.aggregate(low=ff.Min("c"), high=ff.Max("c")).drop_columns("window").to_pydict()


FIRST = levels(["low", "high"], LEVELS)
OTHERS = {
    "another index": levels(["low", "mid"], LEVELS, pa.int16()),
    "text": pa.array(["low", "mid"]),
    "large text": pa.array(["low", "mid"], pa.large_string()),
    "views": pa.array(["low", "mid"]).cast(pa.string_view()),
    "without an order": levels(["low", "mid"], LEVELS, ordered=False),
}
REVERSED = levels(["low", "mid"], LEVELS[::-1])


@pytest.mark.parametrize("format", ["arrow", "parquet"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("ordered_first", [True, False])
def test_files_with_an_order_and_without(tmp_path: Path, format: str, other: str, ordered_first: bool) -> None:
    if format == "parquet" and other in ("another index", "views") and int(pa.__version__.split(".")[0]) < 20:
        pytest.skip("before version 20 pyarrow writes no views, and reads all dictionaries of Parquet with one index")
    both = (FIRST, OTHERS[other]) if ordered_first else (OTHERS[other], FIRST)
    files = folder(tmp_path, format, *both)
    for by in (None, "c"):
        with pytest.raises(ff.QueryError, match=r"the column 'c' is .*; expected types of which one holds all"):
            compared(files, by)
    unused = ff.events(files, time="t").window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert unused["n"].to_pylist() == [4]


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_files_of_two_orders(tmp_path: Path, format: str) -> None:
    files = folder(tmp_path, format, FIRST, REVERSED)
    for by in (None, "c"):
        with pytest.raises(ff.ColumnError, match="'c' has its categories in several orders: 'high' is before 'mid' in"):
            compared(files, by)


def test_batches_and_chunks_of_two_orders() -> None:
    one, other = (pa.record_batch({"t": [0, 1], "c": column}) for column in (FIRST, REVERSED))
    for data in (pa.Table.from_batches([one, other]), pa.RecordBatchReader.from_batches(one.schema, [one, other])):
        with pytest.raises(ff.ColumnError, match="categories in several orders"):
            compared(data)


def test_an_order_that_is_that_of_text_only_at_first(tmp_path: Path) -> None:
    few = levels(["low"], ["low"])
    one, other = (pa.record_batch({"t": range(len(column)), "c": column}) for column in (few, FIRST))
    with pytest.raises(ff.ColumnError, match="categories in several orders"):
        compared(pa.RecordBatchReader.from_batches(one.schema, [one, other]))
    with pytest.raises(ff.ColumnError, match="categories in several orders"):
        compared(folder(tmp_path, "parquet", few, FIRST))


def test_parts_of_one_order_and_other_dictionaries_of_it(tmp_path: Path) -> None:
    files = folder(tmp_path, "arrow", FIRST, levels(["mid", "low"], ["low", "mid"]), levels(["high"], ["high"]))
    assert compared(files) == {"low": ["low"], "high": ["high"]}
    assert compared(files, "c") == {"c": LEVELS, "low": LEVELS, "high": LEVELS}
    assert compared(pa.table({"t": [0, 1], "c": FIRST}).slice(0, 0)) == {"low": [], "high": []}
