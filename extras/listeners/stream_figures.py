"""Which figures of streams a monitoring system gets."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .stream_metrics import EPOCH, stream_metrics

DURATIONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Bounds of the buckets of a histogram of seconds."""


@dataclass(frozen=True)
class Figure:
    """A figure of a query.

    Parameters
    ----------
    kind
        Whether it only grows, is what there is now, or is of single micro-batches.
    prometheus, opentelemetry
        Its names behind that of framefold, as each has them: the former ends with the unit.
    unit
        By the Unified Code for Units of Measure.
    words
        What it is.
    metric
        Its name in ``stream_metrics``, and how many of these are one of it; None where it comes from elsewhere.
    """

    kind: Literal["counter", "gauge", "histogram"]
    prometheus: str
    opentelemetry: str
    unit: str
    words: str
    metric: str | None = None
    scale: float = 1.0
    """How many of it one of the metric is."""


ROWS = Figure("counter", "input_rows", "input_rows", "{row}", "rows that the query has read")
FAILURES = Figure("counter", "failures", "failures", "{failure}", "times that an error has ended the query")
DURATION = Figure(
    "histogram", "micro_batch_duration_seconds", "micro_batch.duration", "s", "seconds that a micro-batch has taken"
)
RUNNING = Figure("gauge", "running", "running", "1", "1 while the query runs, 0 when it has ended")
HEARD = Figure(
    "gauge", "last_progress_timestamp_seconds", "last_progress.time", "s",
    "when the query last ended a micro-batch or found nothing to do, in seconds since 1970",
)  # fmt: skip
WATERMARK = Figure(
    "gauge", "watermark_timestamp_seconds", "watermark.time", "s", "the watermark, in seconds since 1970"
)
KEPT = (
    Figure("gauge", "shards", "shards", "{shard}", "shards that the micro-batch has called", "shards"),
    Figure("gauge", "partials", "partials", "{partial}", "partials that the state keeps", "partials"),
    Figure("gauge", "open_frames", "open_frames", "{frame}", "frames of the shard with the most", "open_frames"),
    Figure("gauge", "held_events", "held_events", "{event}", "events that are held back", "held_events"),
    Figure("gauge", "state_bytes", "state.size", "By", "bytes of the state, before Spark compresses it", "state_bytes"),
)
"""What is known where a micro-batch has called shards."""
SAID = (
    Figure("counter", "windows", "windows", "{window}", "results of windows that were given", "windows"),
    Figure("counter", "late_events", "late_events", "{event}", "events that came too late", "late_events"),
    Figure("counter", "events_ahead", "events_ahead", "{event}", "events too far beyond the clock", "events_ahead"),
    Figure("gauge", "watermark_lag_seconds", "watermark.lag", "s", "seconds from the watermark to the clock",
           "lag_ms", 0.001),
    Figure("gauge", "event_lag_seconds", "event.lag", "s", "seconds from the watermark to the latest event",
           "event_lag_ms", 0.001),
)  # fmt: skip
"""What a micro-batch may say."""

FIGURES = (*SAID, *KEPT, WATERMARK, HEARD, RUNNING, DURATION, ROWS, FAILURES)


class Instruments(Protocol):
    """What a monitoring system is told."""

    def take(self, figure: Figure, query: str, value: float) -> None:
        """What a counter has grown by, what there is now, or how long a micro-batch has taken."""

    def forget(self, figure: Figure, query: str) -> None:
        """That of an ended query there is no such thing now."""


class Queries:
    """The queries of a session, of which those with a result of framefold are told of."""

    def __init__(self, told: Instruments) -> None:
        self.told = told
        self.names: dict[str, str] = {}
        self.ours: dict[str, bool] = {}
        """Those that have had a micro-batch, and whether they are framefold's."""

    def started(self, id: str, name: str | None) -> None:
        """A query has started, perhaps again."""
        self.names[id] = name or id

    def progressed(self, id: str, progress: Mapping[str, Any]) -> None:
        """A query has ended a micro-batch."""
        metrics = stream_metrics(progress)
        self.names.setdefault(id, progress.get("name") or id)
        if metrics and not self.ours.get(id):
            self.told.take(FAILURES, self.names[id], 0)
        self.ours[id] = bool(metrics) or self.ours.get(id, False)
        if metrics:
            for figure, value in figures_of(progress, metrics):
                self.told.take(figure, self.names[id], value)
            self.idle(id)

    def idle(self, id: str) -> None:
        """A query runs."""
        if self.ours.get(id):
            self.told.take(RUNNING, self.names[id], 1)
            self.told.take(HEARD, self.names[id], time.time())

    def ended(self, id: str, error: str | None) -> None:
        """A query has ended; one that fails before its first micro-batch may be ours."""
        query = self.names.pop(id, id)
        if self.ours.pop(id, error is not None):
            self.told.take(FAILURES, query, int(error is not None))
            for figure in FIGURES:
                if figure.kind == "gauge":
                    self.told.forget(figure, query)
            self.told.take(RUNNING, query, 0)


def figures_of(progress: Mapping[str, Any], metrics: Mapping[str, Any]) -> Iterator[tuple[Figure, float]]:
    """The figures of a micro-batch, from Spark's progress of it."""
    for figure in (*SAID, *(KEPT if metrics.get("shards") else ())):
        if (value := metrics.get(figure.metric or "")) is not None:
            yield figure, value * figure.scale
    watermark = (progress.get("eventTime") or {}).get("watermark")
    if watermark is not None and (at := datetime.datetime.fromisoformat(watermark)) != EPOCH:
        yield WATERMARK, at.timestamp()
    yield ROWS, progress.get("numInputRows") or 0
    yield DURATION, (progress.get("batchDuration") or 0) / 1000
