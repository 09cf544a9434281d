"""How long it takes to accumulate rows into frames, by operation: nanoseconds a row on one core.

``python -m benchmarks.accumulate`` prints the table that the report has.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import framefold as ff
from framefold.aggregators import Frames, Operation
from framefold.aggregators.contract.bound import BoundAggregate
from framefold.runtime.accumulate.accumulate import accumulate
from framefold.runtime.plan.bind import bind

KEYS, FRAMES = 100, 1440
BATCH = 1 << 20
OPERATIONS: list[Operation] = [ff.Count(), ff.Sum("x"), ff.Average("x"), ff.Min("x"), ff.Max("x"), ff.StdDev("x")]


def batches(rows: int) -> list[tuple[NDArray[np.intp], int, NDArray[np.int64], pa.Array]]:
    """Events of 100 keys over a day, by time, already assigned to (key, frame): index, frames, ticks, values."""
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(0, FRAMES * 60_000_000, rows))
    made = []
    for start in range(0, rows, BATCH):
        ticks = times[start : start + BATCH]
        groups = ticks // 60_000_000 * KEYS + rng.integers(0, KEYS, len(ticks))  # frame by frame, as queries do it
        present, index = np.unique(groups, return_inverse=True)
        made.append((index, len(present), ticks, pa.array(rng.normal(50.0, 10.0, len(ticks)))))
    return made


def nanoseconds(rows: int = 8_000_000, repeats: int = 5) -> dict[str, float]:
    """The least time of each operation over all rows, in nanoseconds a row; and numpy's own plain sum, to compare."""
    work = batches(rows)
    found = {}
    for operation in OPERATIONS:
        bound = BoundAggregate("x", operation, [pa.float64()] * len(operation.columns))
        taken = []
        for _ in range(repeats):
            begin = time.process_time()
            for index, size, ticks, values in work:
                bound.accumulate(Frames(index, size, ticks), [values] * len(operation.columns))
            taken.append(time.process_time() - begin)
        found[repr(operation)] = min(taken) / rows * 1e9
    taken = []
    five = [BoundAggregate("x", operation, [pa.float64()] * len(operation.columns)) for operation in OPERATIONS[:5]]
    for _ in range(repeats):
        begin = time.process_time()
        for index, size, ticks, values in work:
            frames = Frames(index, size, ticks)
            for bound in five:
                bound.accumulate(frames, [values] * len(bound.columns))
        taken.append(time.process_time() - begin)
    found["the first five in one query, each"] = min(taken) / rows * 1e9 / len(five)
    tables = [
        pa.table({"t": ticks, "k": np.arange(len(ticks)) * 7919 % KEYS, "x": values}) for _, _, ticks, values in work
    ]
    outputs = {"total": ff.Sum("x"), "events": ff.Count()}
    query = bind(tables[0].schema, time="t", by=["k"], window=ff.sliding(3_600_000_000, 60_000_000), outputs=outputs)
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        for part, events in enumerate(tables):
            accumulate(query, events, part)
        taken.append(time.process_time() - begin)
    found["events to partials: keys, frames, sum and count"] = min(taken) / rows * 1e9
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        for index, size, _, values in work:
            np.bincount(index, weights=values.to_numpy(), minlength=size)
            np.bincount(index, minlength=size)
        taken.append(time.process_time() - begin)
    found["numpy: bincount of sum and count, not compensated"] = min(taken) / rows * 1e9
    return found


def table(found: dict[str, float]) -> list[str]:
    """The measurement as lines of Markdown."""
    return [
        "| accumulate | ns a row |",
        "| --- | ---: |",
        *(f"| {name} | {each:.1f} |" for name, each in found.items()),
    ]


if __name__ == "__main__":
    print("\n".join(table(nanoseconds())))
