"""Figures of streams for Prometheus and OpenTelemetry, from progress as Spark gives it.

Those of real queries are in ``tests/spark/test_watching.py``.
"""

from __future__ import annotations

import re
import sys
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import framefold as ff

QUERY = "framefold.query.name"
WATERMARK = "2026-01-01T00:00:00.000Z"
UNITS = {"s", "By", "1"}
"""Units of OpenTelemetry's conventions besides things that are counted, which are in braces."""


def progress(id: uuid.UUID, name: str | None = "speeds", **metrics: Any) -> Any:
    """What Spark calls a listener with, after a micro-batch of ten rows in 300 milliseconds."""
    said = {"windows": 3, "late_events": 1, "shards": 2, "partials": 5, "open_frames": 2, "held_events": 0}
    said |= {"state_bytes": 99, "lag_ms": 1500} | metrics
    times = {"watermark": WATERMARK, "max": "2026-01-01T00:00:10.000Z"}
    of = {"id": id, "name": name, "numInputRows": 10, "batchDuration": 300, "eventTime": times}
    return SimpleNamespace(
        progress=of | {"observedMetrics": {"framefold": said} if said["windows"] is not None else {}}
    )


class Seen:
    """A listener of one of the two kinds, and what its system has."""

    def __init__(self, system: str) -> None:
        self.system = system
        if system == "prometheus":
            self.registry = CollectorRegistry()
            self.listener: Any = ff.prometheus_listener(self.registry)
        else:
            self.reader = InMemoryMetricReader()
            provider = MeterProvider(metric_readers=[self.reader])
            self.listener = ff.opentelemetry_listener(provider.get_meter("tests"))

    def figures(self) -> dict[tuple[str, str], float]:
        """Each figure by its name and query, as its system shows it; of durations their sum."""
        if self.system == "prometheus":
            text = generate_latest(self.registry).decode()
            samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
            found = {(each.name, each.labels.get("query", "")): each.value for each in samples}
            left_out = ("_created", "_bucket", "_count")
            return {key: value for key, value in found.items() if not key[0].endswith(left_out)}
        data: Any = self.reader.get_metrics_data()
        if data is None:
            return {}
        metrics = [each for scope in data.resource_metrics[0].scope_metrics for each in scope.metrics]
        return {
            (each.name, point.attributes[QUERY]): getattr(point, "value", getattr(point, "sum", 0.0))
            for each in metrics
            for point in each.data.data_points
        }


FIGURES = {
    "windows_total": ("windows", 6), "late_events_total": ("late_events", 2),
    "watermark_lag_seconds": ("watermark.lag", 1.5), "event_lag_seconds": ("event.lag", 10), "shards": ("shards", 2),
    "partials": ("partials", 7), "open_frames": ("open_frames", 2), "held_events": ("held_events", 0),
    "state_bytes": ("state.size", 99), "watermark_timestamp_seconds": ("watermark.time", 1767225600),
    "running": ("running", 1), "micro_batch_duration_seconds_sum": ("micro_batch.duration", 0.6),
    "input_rows_total": ("input_rows", 20), "failures_total": ("failures", 0),
}  # fmt: skip
"""Names of Prometheus and of OpenTelemetry, and what there is after two micro-batches."""


@pytest.fixture(params=["prometheus", "opentelemetry"])
def seen(request: pytest.FixtureRequest) -> Seen:
    return Seen(request.param)


def named(seen: Seen, figure: str) -> str:
    return f"framefold_stream_{figure}" if seen.system == "prometheus" else f"framefold.stream.{FIGURES[figure][0]}"


def clock(seen: Seen) -> str:
    last = {"prometheus": "framefold_stream_last_progress_timestamp_seconds"}
    return last.get(seen.system, "framefold.stream.last_progress.time")


def test_what_two_micro_batches_come_to(seen: Seen) -> None:
    id = uuid.uuid4()
    seen.listener.onQueryStarted(SimpleNamespace(id=id, name="speeds"))
    assert seen.figures() == {}
    seen.listener.onQueryProgress(progress(id))
    seen.listener.onQueryProgress(progress(id, partials=7))
    found = seen.figures()
    assert found.pop((clock(seen), "speeds")) > 1767225600
    assert found == {(named(seen, figure), "speeds"): pytest.approx(value) for figure, (_, value) in FIGURES.items()}


def test_what_is_kept_stays_where_a_micro_batch_has_called_no_shard(seen: Seen) -> None:
    id = uuid.uuid4()
    seen.listener.onQueryProgress(progress(id))
    none = dict.fromkeys(("windows", "late_events", "shards", "partials", "open_frames", "state_bytes"), 0)
    seen.listener.onQueryProgress(progress(id, **none, lag_ms=None))
    found = seen.figures()
    assert found[named(seen, "partials"), "speeds"] == 5
    assert found[named(seen, "watermark_lag_seconds"), "speeds"] == 1.5


def test_a_query_that_has_ended_counts_on_and_has_nothing_now(seen: Seen) -> None:
    id = uuid.uuid4()
    seen.listener.onQueryProgress(progress(id))
    seen.listener.onQueryTerminated(SimpleNamespace(id=id, exception="out of disk"))
    counted = ("windows_total", "late_events_total", "micro_batch_duration_seconds_sum", "input_rows_total")
    found = seen.figures()
    assert found.pop((named(seen, "running"), "speeds")) == 0
    assert found.pop((named(seen, "failures_total"), "speeds")) == 1
    assert {name for name, _ in found} == {named(seen, each) for each in counted}
    seen.listener.onQueryStarted(SimpleNamespace(id=id, name="speeds"))
    seen.listener.onQueryProgress(progress(id))
    again = seen.figures()
    assert (again[named(seen, "running"), "speeds"], again[named(seen, "failures_total"), "speeds"]) == (1, 1)
    assert again[named(seen, "windows_total"), "speeds"] == 6
    seen.listener.onQueryTerminated(SimpleNamespace(id=id, exception=None))
    assert seen.figures()[named(seen, "failures_total"), "speeds"] == 1


def test_queries_of_others_are_not_told_of(seen: Seen) -> None:
    ours, theirs = uuid.uuid4(), uuid.uuid4()
    seen.listener.onQueryProgress(progress(theirs, "others", windows=None))
    seen.listener.onQueryIdle(SimpleNamespace(id=theirs))
    seen.listener.onQueryTerminated(SimpleNamespace(id=theirs, exception="of their own"))
    assert seen.figures() == {}
    seen.listener.onQueryProgress(progress(ours, None))
    assert {query for _, query in seen.figures()} == {str(ours)}, "its id, where a query has no name"


def test_one_that_fails_at_once_is_told_of(seen: Seen) -> None:
    id = uuid.uuid4()
    seen.listener.onQueryStarted(SimpleNamespace(id=id, name="speeds"))
    seen.listener.onQueryTerminated(SimpleNamespace(id=id, exception="no such file"))
    assert seen.figures() == {(named(seen, "failures_total"), "speeds"): 1, (named(seen, "running"), "speeds"): 0}


def test_names_are_as_prometheus_wants_them() -> None:
    """Times are in seconds and sizes in bytes, and say so last: prometheus.io/docs/practices/naming."""
    seen = Seen("prometheus")
    families = list(text_string_to_metric_families(generate_latest(seen.registry).decode()))
    told = {each.name: each for each in families if not each.name.endswith("_created")}
    assert len(told) == 16
    for name, family in told.items():
        assert re.fullmatch(r"framefold_stream_[a-z_]+", name)
        assert family.documentation
        assert not re.search("_(ms|milliseconds|total|count|mb)$", name)
    assert {name for name, family in told.items() if family.type == "histogram"} == {
        "framefold_stream_micro_batch_duration_seconds"
    }


def test_names_are_as_opentelemetry_wants_them() -> None:
    """In lower case, words with dots or underscores, and units of UCUM: opentelemetry.io/docs/specs/semconv."""
    seen = Seen("opentelemetry")
    seen.listener.onQueryProgress(progress(uuid.uuid4(), events_ahead=2))
    data: Any = seen.reader.get_metrics_data()
    metrics = data.resource_metrics[0].scope_metrics[0].metrics
    assert len(metrics) == 16
    for each in metrics:
        assert re.fullmatch(r"framefold\.stream(\.[a-z]+(_[a-z]+)*)+", each.name)
        assert each.unit in UNITS or re.fullmatch(r"\{[a-z]+\}", each.unit)
        assert each.description


def test_arguments_that_are_none() -> None:
    with pytest.raises(ff.QueryError, match=r"^registry is 9108; expected a prometheus_client\.CollectorRegistry, or "):
        ff.prometheus_listener(9108)  # type: ignore[arg-type]
    with pytest.raises(ff.QueryError, match=r"^meter is 'mine'; expected an opentelemetry\.metrics\.Meter, or None$"):
        ff.opentelemetry_listener("mine")  # type: ignore[arg-type]
    registry = CollectorRegistry()
    ff.prometheus_listener(registry)
    with pytest.raises(ff.QueryError, match=r"^the registry has another listener's figures \(.*\); expected one of "):
        ff.prometheus_listener(registry)


def test_that_spark_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is left in the registry."""
    registry = CollectorRegistry()
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.listener", None)
    with pytest.raises(ff.EngineError, match=r"pyspark.*pip install '\.\[spark\]' in a clone of framefold$"):
        ff.prometheus_listener(registry)
    assert not generate_latest(registry)
