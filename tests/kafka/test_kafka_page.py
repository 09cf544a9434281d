"""From Kafka to Kafka, as the page of streams has it, with a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..support.pages import BLOCK, DOCS, run
from .broker import kafka

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_kafka_to_kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, the second time as after a micro-batch that was cut off: the last of each key is the same."""
    blocks = BLOCK.findall((DOCS / "streams.md").read_text())
    (block,) = (block for needed, block in blocks if needed == "kafka")
    with kafka(tmp_path) as (session, options):
        monkeypatch.setenv("KAFKA", options["kafka.bootstrap.servers"])
        named: dict[str, Any] = {"__name__": "__main__"}
        for needed, other in blocks:
            if not needed:
                run(other, named)
        assert run(block, named) == block.count("# ->") > 0
        again = block[block.index("query = ") :].replace('"to-kafka"', '"to-kafka again"')
        assert run(again, named) == 1
        assert session.read.format("kafka").options(**options, subscribe="speeds").load().count() == 8
