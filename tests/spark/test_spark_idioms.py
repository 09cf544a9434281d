"""The page of idioms of Spark: of each pair of blocks, Spark's and ours give equal rows of random trips."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark", minversion="4.1")  # which streams need
pytest.importorskip("google.protobuf")

from ..support.idioms import made_up, namespace_of, pairs, plain, require_alike, value_of
from ..support.pages import DOCS

PAGE = (DOCS / "from-spark-flink-hazelcast.md").read_text()
IDIOMS = pairs(PAGE)


def rows_of(found: DataFrame) -> list[list[Any]]:
    """All rows, in the order of zones, then of times."""
    table = found.toArrow()
    rows = [plain(list(row.values())) for row in table.select(sorted(table.column_names)).to_pylist()]
    at = [
        sorted(table.column_names).index(name) for name in ("zone", "window", "ts", "at") if name in table.column_names
    ]
    return sorted(rows, key=lambda row: [row[each] for each in at])


@pytest.fixture(scope="module")
def given(spark_of_docs: SparkSession) -> dict[str, Any]:
    """The names that the page sets, for random trips."""
    return namespace_of(PAGE, made_up(1, rows=120))


@pytest.mark.parametrize("title", IDIOMS)
def test_both_blocks_give_equal_rows(title: str, given: dict[str, Any]) -> None:
    theirs, ours = (rows_of(value_of(block, dict(given))) for block in IDIOMS[title])
    require_alike(theirs, ours)


def test_there_are_ten_idioms_of_spark() -> None:
    assert len(IDIOMS) >= 10
