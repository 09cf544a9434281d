"""From Kafka to Kafka, as the page of streams has it, with a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")


from ..support.pages import BLOCK, DOCS, run
from ..support.sessions import local_session
from .broker import broker, check, connector

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_kafka_to_kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, the second time as after a micro-batch that was cut off: the last of each key is the same."""
    check()
    blocks = BLOCK.findall((DOCS / "streams.md").read_text())
    (kafka,) = (block for needed, block in blocks if needed == "kafka")
    session = local_session("kafka", "local[2]", **{"spark.jars": connector()})
    try:
        with broker(tmp_path) as address:
            monkeypatch.setenv("KAFKA", address)
            named: dict[str, Any] = {"__name__": "__main__"}
            for needed, block in blocks:
                if not needed:
                    run(block, named)
            assert run(kafka, named) == kafka.count("# ->") > 0
            again = kafka[kafka.index("query = ") :].replace('"to-kafka"', '"to-kafka again"')
            assert run(again, named) == 1
            options = {"kafka.bootstrap.servers": address, "subscribe": "speeds"}
            assert session.read.format("kafka").options(**options).load().count() == 8
    finally:
        session.stop()
