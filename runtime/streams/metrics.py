"""The metrics of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

COUNTS = ("late_events", "windows", "shards", "partials", "held_events", "state_bytes")
"""Sums over the shards that a micro-batch has called."""

MOSTS = ("open_frames", "lag_ms")
"""Largest ones of these shards."""


def together(metrics: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics of all results of a query, by their names.

    >>> together([{"windows": 2, "lag_ms": None}, {"windows": 1, "lag_ms": 7}])
    {'windows': 3, 'lag_ms': 7}
    """
    found: dict[str, Any] = {}
    for each in metrics:
        for name, value in each.items():
            known = [some for some in (found.get(name), value) if some is not None]
            found[name] = (max if name in MOSTS else sum)(known) if known else None
    return found
