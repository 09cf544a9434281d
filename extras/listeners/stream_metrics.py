"""What a micro-batch of a stream says of itself, wherever its progress comes from."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from ...runtime.streams.metrics import together

__all__ = ["stream_metrics"]

OBSERVED = re.compile(r"framefold(_ahead)?(_\d+)?")
"""The names of our metrics among those that Spark has observed: a number for each result but the first."""

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def stream_metrics(progress: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a micro-batch by their names, through Spark Connect too: numbers, or None.

    Of a query with several results of framefold, such as a union of them, they are those of all together.

    Parameters
    ----------
    progress
        Of ``query.recentProgress`` or ``query.lastProgress``, or ``event.progress`` of a ``StreamingQueryListener``.
    """
    rows = progress.get("observedMetrics") or {}
    found = together(fields_of(row) for name, row in rows.items() if OBSERVED.fullmatch(name))
    if found and "eventTime" in progress:
        found["event_lag_ms"] = event_lag(progress["eventTime"])
    return found


def event_lag(times: Mapping[str, str]) -> int | None:
    """How far the watermark is behind the latest event, in milliseconds; None before the first watermark."""
    latest, watermark = (
        datetime.datetime.fromisoformat(times[name]) if name in times else EPOCH for name in ("max", "watermark")
    )
    return None if EPOCH in (latest, watermark) else (latest - watermark) // datetime.timedelta(milliseconds=1)


def fields_of(row: Any) -> dict[str, Any]:
    """The fields of a row.

    In the progress that a query gives through Connect a row is what Spark's JSON has of it: its values, and its schema.
    """
    fields = dict(row) if isinstance(row, Mapping) else row.asDict()
    if fields.keys() != {"values", "schema"}:
        return fields
    return dict(zip([field["name"] for field in fields["schema"]["fields"]], fields["values"], strict=True))
