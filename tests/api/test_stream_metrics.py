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


def test_results_of_one_query_are_together() -> None:
    some = {"framefold": {"windows": 2, "lag_ms": 5, "open_frames": 4}}
    more = {"framefold_12": {"windows": 1, "lag_ms": None, "open_frames": 7}, "framefold_ahead_13": {"events_ahead": 1}}
    others = {"framefold_of_mine": {"windows": 100}}
    expected = {"windows": 3, "lag_ms": 5, "open_frames": 7, "events_ahead": 1}
    assert ff.stream_metrics({"observedMetrics": some | more | others}) == expected


def test_how_far_a_history_is_behind_itself() -> None:
    """By the times of events: the same whenever it is read."""
    row = {"observedMetrics": {"framefold": {"lag_ms": 400_000_000_000}}}
    clocks = {"max": "10:30:00.250", "min": "09:00:00.000", "watermark": "09:10:00.000"}
    times = {name: f"2013-02-01T{clock}Z" for name, clock in clocks.items()}
    assert ff.stream_metrics(row | {"eventTime": times})["event_lag_ms"] == 80 * 60_000 + 250
    before = times | {"watermark": "1970-01-01T00:00:00.000Z"}
    for none in ({}, before, {"watermark": times["watermark"]}):
        assert ff.stream_metrics(row | {"eventTime": none})["event_lag_ms"] is None
