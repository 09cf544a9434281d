"""Conditions and computed inputs are pyarrow's, and do not say which ordered category is above another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

from .test_categories import of_duckdb, of_pandas, of_polars, table

SOURCES = {"pyarrow": table, "Polars": of_polars, "pandas": of_pandas, "DuckDB": of_duckdb}
C, ALL = pc.field("c"), ff.tumbling(100)
SENTENCE = r"compares 'c', an ordered dictionary, and pyarrow would compare its texts; expected"


@pytest.mark.parametrize("source", SOURCES)
def test_what_asks_for_the_order_is_refused(source: str) -> None:
    events = ff.events(SOURCES[source](), time="t")
    for condition in (C > "low", C >= "mid", ~(C < "top"), (C == "low") | (C >= "mid")):
        with pytest.raises(ff.ColumnError, match=rf"^the condition .* of where\(\) {SENTENCE}"):
            events.where(condition)
    for output in (ff.Filtered(ff.Count(), C > "low"), ff.Sum((C < "mid").cast("int64"))):
        with pytest.raises(ff.ColumnError, match=f"^the input .* {SENTENCE}"):
            events.window(ALL).aggregate(n=output)


@pytest.mark.parametrize("source", SOURCES)
def test_what_does_not_goes_on(source: str) -> None:
    events = ff.events(SOURCES[source](), time="t")
    equal = (C == "c > low") | (C == "mid") | C.isin(["high"])
    for condition, count in ((equal, 4), (C.cast("string") > "low", 3), (pc.field("x") > 2, 5), (C.is_valid(), 7)):
        assert events.where(condition).window(ALL).aggregate(n=ff.Count())["n"].to_pylist() == [count]


def test_categories_in_the_order_of_their_texts_compare() -> None:
    sizes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "b", "c"]), ordered=True)
    events = ff.events(pa.table({"t": [1, 2, 3], "c": sizes}), time="t")
    assert events.where(C > "a").window(ALL).aggregate(n=ff.Count())["n"].to_pylist() == [2]


def test_equal_categories_in_long_texts_are_equal() -> None:
    """pandas has long texts, and Polars short ones."""
    inputs: dict[str, Any] = {"a": of_pandas(), "b": of_polars(), "c": table()}
    of = {name: ff.events(data, time="t", by="c") for name, data in inputs.items()}
    for first, second in ("ab", "ba", "ac", "ca"):
        both = ff.together(x=of[first], y=of[second]).window(ALL).aggregate(n=ff.Count())
        assert both.select(["c", "n"]).to_pydict() == {
            "c": [None, "low", "mid", "high", "top"],
            "n": [2, 4, 4, 4, 2],
        }


@pytest.mark.spark
def test_of_files_on_spark(spark: Any, tmp_path: Path) -> None:
    of_pandas().to_parquet(tmp_path / "a.parquet")
    events = ff.events(ff.parquet(tmp_path / "a.parquet", spark=spark), time="t")
    with pytest.raises(ff.ColumnError, match=SENTENCE):
        events.where(C > "low")
    found = events.where(C == "low").window(ALL).aggregate(n=ff.Count()).collect()
    assert [row.n for row in found] == [2]
