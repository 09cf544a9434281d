"""Measurements of parts of framefold, without peers: their tables for the report."""

from __future__ import annotations

from . import accumulate, combine, merging, sliding


def tables() -> dict[str, list[str]]:
    """All of them, as lines of Markdown under their titles."""
    return {
        "Accumulating 8,000,000 rows of 100 keys and 1,440 frames, on one core": accumulate.table(
            accumulate.nanoseconds()
        ),
        "Merging 2,000,000 partials into one a group, on one core": merging.table(merging.cells()),
        "Combining the partials of many tasks on Spark, to results": combine.table(combine.cells()),
        "Sliding over 10 million frames, on one core": sliding.table(sliding.cells()),
    }
