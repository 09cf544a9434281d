"""A listener of streaming queries, which keeps their metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

import framefold as ff


class Listener(StreamingQueryListener):
    """The metrics of each micro-batch, and whether a query has ended."""

    def __init__(self) -> None:
        self.metrics: list[dict[str, Any]] = []
        self.ended = False

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None:
        self.metrics.append(ff.stream_metrics(event.progress))

    def onQueryTerminated(self, event: Any) -> None:
        self.ended = True


@contextmanager
def listening(spark: SparkSession) -> Iterator[Listener]:
    """A listener that hears of one query until it has ended."""
    listener = Listener()
    spark.streams.addListener(listener)
    try:
        yield listener
        until = time.monotonic() + 60
        while not listener.ended and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        spark.streams.removeListener(listener)
    assert listener.ended
