"""How long it takes to merge partials of many batches, by operation: nanoseconds a partial on one core.

``python -m benchmarks.merging`` prints the table that the report has. Each batch has partials of all groups, which are
(key, frame). They are dense where most keys have most frames, sparse where one in a thousand does.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff
from framefold.runtime.accumulate.accumulate import accumulate
from framefold.runtime.columns.malloc import raise_mmap_threshold
from framefold.runtime.partials.merge import merge
from framefold.runtime.partials.partials import Partials
from framefold.runtime.plan.bind import bind
from framefold.runtime.plan.plan import Plan

from .sliding import Own

KEYS, MINUTE = 100, 60_000_000
SCHEMA = pa.schema({"t": pa.int64(), "k": pa.int64(), "x": pa.float64()})
OPERATIONS: dict[str, dict[str, Any]] = {
    "sum and count": {"total": ff.Sum("x"), "events": ff.Count()},
    "average": {"mean": ff.Average("x")},
    "min and max": {"least": ff.Min("x"), "most": ff.Max("x")},
    "variance": {"apart": ff.Variance("x")},
    "own, two int64 fields": {"own": Own("k")},
}
SPREAD = {"dense": 1.2, "sparse": 1000.0}
"""Possible groups for each one there is."""
DEEP = (1, 2, 10, 50, 200)
"""Partials of each group."""


def query(outputs: dict[str, Any]) -> Plan:
    """The windows are of no matter."""
    return bind(SCHEMA, time="t", by=["k"], window=ff.sliding(60 * MINUTE, MINUTE), outputs=outputs)


def partials(plan: Plan, rows: int, deep: int, spread: float) -> list[Partials]:
    """As many batches as groups are to have partials, each of all groups."""
    rng = np.random.default_rng(7)
    groups = rows // deep
    frames = max(1, int(groups * spread) // KEYS)
    found = np.unique(rng.integers(0, KEYS * frames, 2 * groups))
    group = np.sort(rng.permutation(found)[:groups])
    made = []
    for batch in range(deep):
        events = {"t": group % frames * MINUTE, "k": group // frames, "x": rng.normal(50.0, 10.0, len(group))}
        made.append(accumulate(plan, pa.table(events, SCHEMA), batch))
    return made


def measured(plan: Plan, parts: Sequence[Partials], repeats: int) -> tuple[float, float]:
    """The least nanoseconds a partial; the most memory beside the partials, in multiples of theirs."""
    rows, taken = sum(map(len, parts)), []
    for _ in range(repeats):
        begin = time.process_time()
        merge(parts)
        taken.append(time.process_time() - begin)
    arrow = pa.total_allocated_bytes()
    tracemalloc.start()
    merged = merge(parts)
    most = tracemalloc.get_traced_memory()[1] + max(pa.total_allocated_bytes() - arrow, 0)
    tracemalloc.stop()
    assert len(merged) == len(parts[0])
    return min(taken) / rows * 1e9, most / sum(each.table.nbytes for each in parts)


def cells(rows: int = 2_000_000, repeats: int = 5) -> dict[str, list[str]]:
    """For each operation and spread: what :func:`measured` gives for each number of partials a group."""
    raise_mmap_threshold()  # as both engines do
    found = {}
    for name, outputs in OPERATIONS.items():
        plan = query(outputs)
        for kind, spread in SPREAD.items():
            each = [measured(plan, partials(plan, rows, deep, spread), repeats) for deep in DEEP]
            found[f"{name}, {kind}"] = [f"{took:.0f} ({memory:.1f})" for took, memory in each]
    return found


def table(found: dict[str, list[str]]) -> list[str]:
    """The measurement as lines of Markdown."""
    return [
        f"| ns a partial (memory), partials a group: | {' | '.join(map(str, DEEP))} |",
        "| --- |" + " ---: |" * len(DEEP),
        *(f"| {name} | {' | '.join(each)} |" for name, each in found.items()),
    ]


if __name__ == "__main__":
    print("\n".join(table(cells())))
