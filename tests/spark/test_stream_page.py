"""The first page and that of streams do what they say, with a PostgreSQL where there is one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", minversion="4.1")  # which streams need
pytest.importorskip("google.protobuf")

from ..support.pages import BLOCK, DOCS, run
from .postgres import server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCKS = BLOCK.findall((DOCS / "streams.md").read_text())


@pytest.fixture(scope="module")
def namespace(spark_of_docs: SparkSession) -> dict[str, Any]:
    """What the blocks that need nothing else leave behind."""
    named: dict[str, Any] = {"__name__": "__main__"}
    blocks = [block for needed, block in BLOCKS if not needed]
    assert [run(block, named) for block in blocks] == [block.count("# ->") for block in blocks]
    return named


@pytest.mark.slow
def test_every_block_is_run_by_a_test(namespace: dict[str, Any]) -> None:
    """That with Kafka in `tests/kafka`."""
    assert {needed for needed, _ in BLOCKS} == {"", "psycopg", "kafka"}
    assert {"result", "query"} <= set(namespace)


def test_the_first_page_gives_the_same_in_each_tab(spark_of_docs: SparkSession) -> None:
    named: dict[str, Any] = {"__name__": "__main__"}
    blocks = BLOCK.findall((DOCS / "README.md").read_text())
    assert [(needed, run(block, named)) for needed, block in blocks] == [("", 1), ("pyspark", 1), ("pyspark", 1)]
    outcomes = re.findall(r"^# -> \[(.*)\]$", "".join(block for _, block in blocks), re.MULTILINE)
    batch, stream = (outcome.split("), ") for outcome in outcomes)
    assert [each.strip("()") for each in stream] == [each.strip("()") for each in batch[: len(stream)]]


@pytest.mark.slow
def test_upsert_into_postgresql(namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice from the beginning, as after a micro-batch that was cut off behind its transaction: the same rows."""
    pytest.importorskip("psycopg")
    (block,) = (block for needed, block in BLOCKS if needed == "psycopg")
    with server() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert run(block, namespace) == 1
        assert run(block.replace('"upserted"', '"upserted again"'), namespace) == 1
