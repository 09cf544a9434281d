"""Metrics of micro-batches, which Spark observes."""

from __future__ import annotations

import itertools
import time
from typing import Any

from pyspark.sql import Column, Row
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...runtime.streams.metrics import COUNTS, MOSTS
from ...runtime.streams.shard import Shard
from .state import stores_of

NAME = "framefold"
"""With which their names begin in ``observedMetrics``: a query of Spark's may have several results of ours."""

_written = itertools.count(1)

RESULTS = t.StructType([
    t.StructField("ipc", t.BinaryType()), *(t.StructField(name, t.LongType()) for name in COUNTS + MOSTS)
])  # fmt: skip
"""Results as an Arrow IPC stream, or null; and what a call of a shard says."""


def name_of_its_own(name: str) -> str:
    """A name for metrics that no other result of this process has: the first one has it as it is."""
    number = next(_written)
    return name if number == 1 else f"{name}_{number}"


def observed() -> list[Column]:
    """The metrics of rows of :data:`RESULTS`."""
    return [
        *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in COUNTS),
        *(f.max(name).alias(name) for name in MOSTS),
    ]


def packet(ipc: bytes | None, **metrics: int | None) -> Row:
    """A row of :data:`RESULTS`; what is not said is null, and adds nothing."""
    return Row(**{name: ipc if name == "ipc" else metrics.get(name) for name in RESULTS.names})


def state_counts(shard: Shard) -> dict[str, int]:
    """What a shard has in its state."""
    sizes = {name: store.size for name, store in stores_of(shard).items()}
    partials, events = sizes["partials"], sizes.get("events")
    found = {"partials": partials.rows, "open_frames": partials.frames, "state_bytes": partials.bytes}
    if events is not None:
        found |= {"held_events": events.rows, "state_bytes": partials.bytes + events.bytes}
    return found


def call_metrics(shard: Shard, before: dict[str, Any] | None, watermark: int) -> Row:
    """What a call of a shard says: a micro-batch may make a second one, which says only what has changed since.

    Parameters
    ----------
    before
        What the first call of the micro-batch found in the state; None where this is the first.
    watermark
        In milliseconds; 0 before any event.
    """
    found = state_counts(shard)
    counts = {name: value - (before or {}).get(name, 0) for name, value in found.items() if name in COUNTS}
    lag = int(time.time() * 1000) - watermark if watermark > 0 else None
    return packet(None, shards=int(before is None), open_frames=found["open_frames"], lag_ms=lag, **counts)
