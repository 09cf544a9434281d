"""Bytewax: ``fold_window`` over a ``SlidingWindower``, which folds each event into every window it is in."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as windowing
import pyarrow as pa
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

from ..jobs import Job

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Found = list[tuple[str, tuple[int, Any]]]


def read(job: Job) -> list[tuple[str, tuple[datetime, float]]]:
    """The events as Python objects, keyed by text, as Bytewax has it."""
    table = pq.read_table(job.path, columns=["t", *job.keys, "x"])
    keys = table[job.keys[0]].cast(pa.string()).to_pylist()
    return list(zip(keys, zip(table["t"].to_pylist(), table["x"].to_pylist(), strict=True), strict=True))


def fold(
    job: Job, start: Callable[[], Any], add: Callable[[Any, float], Any], merge: Callable[[Any, Any], Any]
) -> Found:
    """Fold and collect."""
    found: Found = []
    flow = Dataflow("benchmark")
    events = op.input("events", flow, TestingSource(read(job), batch_size=1000))
    folded = windowing.fold_window(
        "fold",
        events,
        # Its clock goes on by itself: without a wait, events are late once the run takes longer than they are apart.
        windowing.EventClock(lambda event: event[0], wait_for_system_duration=timedelta(minutes=5)),
        windowing.SlidingWindower(
            length=timedelta(microseconds=job.size), offset=timedelta(microseconds=job.every), align_to=EPOCH
        ),
        start,
        lambda state, event: add(state, event[1]),
        merge,
    )
    op.output("found", folded.down, TestingSink(found))
    run_main(flow)
    return found


def sum_and_count(job: Job) -> Found:
    """The reference job."""
    return fold(job, lambda: (0.0, 0), lambda s, x: (s[0] + x, s[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1]))


def own(job: Job) -> Found:
    """A geometric mean of the user's own."""
    add = lambda s, x: (s[0] + math.log(x), s[1] + 1)  # noqa: E731
    found = fold(job, lambda: (0.0, 0), add, lambda a, b: (a[0] + b[0], a[1] + b[1]))
    return [(key, (at, (math.exp(state[0] / state[1]),))) for key, (at, state) in found]


def consume(result: Found) -> None:
    """Nothing is left to compute."""


def save(result: Found, job: Job, path: str) -> None:
    """Write the result; windows are numbered from the epoch."""
    columns: dict[str, list[Any]] = {job.keys[0]: [int(key) for key, _ in result]}
    columns["start"] = [number * job.every for _, (number, _) in result]
    for i, name in enumerate(job.names):
        columns[name] = [state[i] for _, (_, state) in result]
    pq.write_table(pa.table(columns), path)


def versions() -> dict[str, str]:
    """What runs here."""
    return {"Bytewax": version("bytewax")}


WAYS: dict[str, Callable[[Job], Found]] = {"fold": sum_and_count, "python": own}
