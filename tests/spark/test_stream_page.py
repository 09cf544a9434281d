"""The page of streams does what it says, with a PostgreSQL where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")


from ..support.pages import BLOCK, DOCS, run
from ..support.sessions import PROVIDER
from .postgres import server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCKS = BLOCK.findall((DOCS / "streams.md").read_text())


@pytest.fixture(scope="module")
def namespace(spark_of_docs: SparkSession) -> Iterator[dict[str, Any]]:
    """What the blocks that need nothing else leave behind."""
    named: dict[str, Any] = {"__name__": "__main__"}
    blocks = [block for needed, block in BLOCKS if not needed]
    assert [run(block, named) for block in blocks] == [block.count("# ->") for block in blocks]
    yield named
    spark_of_docs.conf.unset(PROVIDER)


def test_every_block_is_run_by_a_test(namespace: dict[str, Any]) -> None:
    """That with Kafka in `tests/kafka`."""
    assert {needed for needed, _ in BLOCKS} == {"", "psycopg", "kafka"}
    assert {"result", "query"} <= set(namespace)


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
