"""Pages of idioms: of each pair of blocks, another library's and ours give equal columns.

They are compared on the data of the page, and on random data of the same columns. Those of Spark: ``tests/spark``.
"""

from __future__ import annotations

import re
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import framefold as ff

from ..support.idioms import alike, made_up, namespace_of, pairs, parts, plain, require_alike, value_of
from ..support.pages import DOCS

PAGE = (DOCS / "from-pandas-polars-sql.md").read_text()
OTHER = (DOCS / "from-spark-flink-hazelcast.md").read_text()
IDIOMS = pairs(PAGE)
GIVEN = {"ts", "at", "zone", "fare", "miles", "paid", "late", "day", "window", "start"}
"""Columns that rows or windows have, and no idiom computes."""


def rows_of(found: Any) -> list[list[Any]]:
    """What an idiom computes, row for row; fields of structs are columns, as SQL has them."""
    if isinstance(found, pd.Series):
        return [[plain(value)] for value in found.tolist()]
    if isinstance(found, pd.DataFrame):
        found = pl.from_pandas(found)
    if isinstance(found, duckdb.DuckDBPyRelation):
        found = found.to_arrow_table()
    table = found if isinstance(found, pa.Table) else found.to_arrow()
    kept = table.select([name for name in table.column_names if name not in GIVEN])
    return [plain(list(row.values())) for row in kept.flatten().to_pylist()]


@pytest.fixture(scope="module", params=["page", 1])
def given(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The names that the page sets, for its own data or random data."""
    return namespace_of(PAGE, {} if request.param == "page" else made_up(request.param))


@pytest.mark.parametrize("title", IDIOMS)
def test_both_blocks_give_equal_columns(title: str, given: dict[str, Any]) -> None:
    theirs, ours = (rows_of(value_of(block, dict(given))) for block in IDIOMS[title])
    require_alike(theirs, ours)


def test_there_are_thirty_idioms_and_each_has_its_pair() -> None:
    assert len(IDIOMS) >= 30
    assert [title for title, blocks in parts(PAGE) if title.startswith("# ") and len(blocks) != 2] == []


def test_what_is_not_alike_is_found() -> None:
    assert alike([1.0, None, "a"], [1.0 + 1e-12, None, "a"])
    for other in ([1.1, None, "a"], [1.0, 0, "a"], [1.0, None], [None, None, "a"]):
        assert not alike([1.0, None, "a"], other)


@pytest.mark.parametrize("page", [PAGE, OTHER], ids=["pandas", "spark"])
def test_pages_name_what_there_is(page: str) -> None:
    assert set(re.findall(r"\bff\.(\w+)", page)) <= set(ff.__all__)
