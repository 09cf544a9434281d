"""What a micro-batch of a stream says of itself, wherever its progress comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OBSERVED = ("framefold", "framefold_ahead")
"""The names of our metrics among those that Spark has observed."""


def stream_metrics(progress: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a micro-batch by their names, through Spark Connect too: numbers, or None.

    Parameters
    ----------
    progress
        Of ``query.recentProgress`` or ``query.lastProgress``, or ``event.progress`` of a ``StreamingQueryListener``.
    """
    rows = progress.get("observedMetrics") or {}
    return {name: value for each in OBSERVED if each in rows for name, value in fields_of(rows[each]).items()}


def fields_of(row: Any) -> dict[str, Any]:
    """The fields of a row.

    In the progress that a query gives through Connect a row is what Spark's JSON has of it: its values, and its schema.
    """
    fields = dict(row) if isinstance(row, Mapping) else row.asDict()
    if fields.keys() != {"values", "schema"}:
        return fields
    return dict(zip([field["name"] for field in fields["schema"]["fields"]], fields["values"], strict=True))
