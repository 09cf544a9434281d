"""The metrics of a micro-batch, from each form of Spark's progress; what queries say: ``tests/spark``."""

from __future__ import annotations

from typing import Any

import pytest

import framefold as ff

SAID = {"late_events": 3, "windows": 18, "lag_ms": None}
FIELDS = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in SAID]


class Row(tuple[Any, ...]):
    """As PySpark's, which this process may not have."""

    def asDict(self) -> dict[str, Any]:
        return dict(zip(("values", "schema"), self, strict=True))


@pytest.mark.parametrize(
    "row", [SAID, Row([list(SAID.values()), {"type": "struct", "fields": FIELDS}])], ids=["names", "values and schema"]
)
def test_metrics_have_their_names(row: Any) -> None:
    assert ff.stream_metrics({"batchId": 4, "observedMetrics": {"framefold": row, "of others": {"rows": 1}}}) == SAID
    both = {"observedMetrics": {"framefold": row, "framefold_ahead": {"events_ahead": 1}}}
    assert ff.stream_metrics(both) == SAID | {"events_ahead": 1}


def test_a_micro_batch_that_says_nothing() -> None:
    assert ff.stream_metrics({"batchId": 4}) == ff.stream_metrics({"observedMetrics": {}}) == {}
