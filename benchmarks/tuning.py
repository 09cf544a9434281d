"""What the numbers of ``runtime/tuning.py`` bring: the case of each with a fourth of it, and with four times as much.

``python -m benchmarks.tuning`` prints the times of processors, in times those with the number as it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import framefold as ff
from framefold.runtime import tuning

from .sliding import Own

ROUNDS = 7
"""Timed rounds of each case, in turn with and without a change; the least of each are compared."""

CASE_OF = {
    "PORTION_ROWS": "Sum by the hour, in order",
    "MAX_PORTION_ROWS": "Sum by the hour, many keys",
    "PORTION_BYTES": "Sum by the hour, in order",
    "EVENTS_PER_PARTIAL": "Sum by the hour, many keys",
    "KEY_TILE_ROWS": "Sum by the hour, many keys",
    "MAX_SPARSE": "Sum by the hour, many keys",
    "ROWS_PER_GROUP": "Sum by the hour, many keys",
    "MAX_PLACES": "Sum by the hour, many keys",
    "FEW_PLACES": "Sum by the hour, many keys",
    "MAX_COUNTED": "Sum by the hour, many keys",
    "RUNS_SAMPLE": "Max by ten minutes, keys of text",
    "LONG_RUN_OF_TEXT": "Max by ten minutes, keys of text",
    "MIN_SORTED_RUN": "Sum by the hour, many keys",
    "PENDING_PARTIALS": "Max around each event",
    "NEAR_PARTIALS": "Sum by the hour, in no order",
    "MIN_CHUNK": "Median around each event",
    "MIN_CHUNK_BYTES": "Median around each event",
    "CHUNK_WINDOWS": "Sum around each event",
    "CHUNK_BYTES": "Max around each event",
    "CHUNK_BYTES_OF_LISTS": "Histogram by the hour",
    "BYTES_OF_VALUE": "Median around each event",
    "BLOCK_VALUES": "Median around each event",
    "BLOCK_WINDOWS": "Median around each event",
    "BLOCK_WIDTHS": "CountDistinct by the hour",
    "TILE_WINDOWS": "Sum around each event",
    "TILE_ROWS": "Sum around each event",
    "ROWS_PER_WIDTH": "Sum around each event",
    "REGULAR_RUN": "Max by ten minutes, keys of text",
    "LONG_RUN_OF_WINDOWS": "Max of the last 1,000 rows",
    "SCANNED_RANGES": "Max around each event",
    "SHORT_SEGMENT": "a user's operation around each event",
    "MANY_SEGMENTS": "a user's operation around each event",
    "MAX_GROUPS": "a user's operation around each event",
    "MAX_SEGMENTS": "Variance of the last 1,000 rows",
    "MIN_SEGMENTS_ALONE": "Variance of the last 1,000 rows",
    "MAX_STATES": "Variance of the last 1,000 rows",
    "MIN_WINDOWS": "Variance of the last 1,000 rows",
    "MIN_SEGMENTS_OF_RUN": "Variance of the last 1,000 rows",
    "RESTART_ROWS": "Histogram by the hour",
    "MANY_RANGES": "Histogram by the hour",
    "RESTART_STEPS": "Sum of intervals",
}
"""The case that a number is for."""


def events(rows: int, keys: int, ordered: bool, text: bool = False) -> pa.Table:
    """Events of a day."""
    rng = np.random.default_rng(3)
    ticks = rng.integers(0, 86_400_000_000, rows)
    key = rng.integers(0, keys, rows)
    return pa.table({
        "t": pa.array(np.sort(ticks) if ordered else ticks, pa.timestamp("us")),
        "k": pa.array([f"key {each}" for each in range(keys)]).take(pa.array(key)) if text else key,
        "x": rng.normal(size=rows),
        "i": rng.integers(0, 1000, rows),
    })  # fmt: skip


def cases(rows: int) -> dict[str, Callable[[], Any]]:
    """Queries that between them ask for each number."""
    ordered, mixed = events(rows, 1, True), events(rows, 1, False)
    many, text = events(rows, rows // 1000, False), events(rows, 100, True, text=True)
    minutes, hour = ff.sliding("10 minutes", every="10 seconds"), ff.sliding("1 hour", every="1 minute")
    around, last = ff.around(time=("-10 minutes", "0 minutes")), ff.last_rows(1000)
    lived = ordered.append_column(
        "end", pa.array(ordered["t"].cast("int64").to_numpy() + 60_000_000, ordered["t"].type)
    )

    def query(data: pa.Table, windows: Any, operation: Any, **more: Any) -> Callable[[], Any]:
        asked = ff.events(data, time="t", by="k", **more).window(windows)
        return lambda: asked.aggregate(a=operation)

    return {
        "Sum by the hour, in order": query(ordered, hour, ff.Sum("x")),
        "Sum by the hour, in no order": query(mixed, hour, ff.Sum("x")),
        "Sum by the hour, many keys": query(many, hour, ff.Sum("x")),
        "Max by ten minutes, keys of text": query(text, minutes, ff.Max("x")),
        "Sum around each event": query(ordered, around, ff.Sum("x")),
        "Max around each event": query(ordered, around, ff.Max("x")),
        "Max of the last 1,000 rows": query(ordered, last, ff.Max("x")),
        "Variance of the last 1,000 rows": query(ordered, last, ff.Variance("x")),
        "Histogram by the hour": query(ordered, hour, ff.Histogram("i", list(range(0, 1001, 100)))),
        "Median around each event": query(ordered, around, ff.Median("x")),
        "CountDistinct by the hour": query(ordered, hour, ff.CountDistinct("i")),
        "Mode by the hour, many keys": query(many, hour, ff.Mode("i")),
        "Sum of intervals": query(lived, hour, ff.Sum("x"), until="end"),
        "a user's operation around each event": query(ordered, around, Own("i")),
    }


@contextmanager
def with_number(name: str, value: int) -> Iterator[None]:
    """Another value of a number, wherever it is imported."""
    with ExitStack() as stack:
        for module in [each for each in sys.modules.values() if each.__name__.startswith("framefold.runtime.")]:
            if name in vars(module):
                stack.enter_context(patch.object(module, name, value))
        yield


def seconds(run: Callable[[], Any]) -> float:
    """The time of processors that a call takes, in all threads together."""
    began = time.process_time()
    run()
    return time.process_time() - began


def ratio(run: Callable[[], Any], name: str, value: int) -> float:
    """The time of a case with another number, in times that with the number as it is."""
    run()
    plain, changed = [], []
    for _ in range(ROUNDS):
        plain.append(seconds(run))
        with with_number(name, value):
            changed.append(seconds(run))
    return min(changed) / min(plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", help="one number, by its name")
    parser.add_argument("--rows", type=int, default=1_000_000, help="events of a case (default: a million)")
    options = parser.parse_args()
    found = cases(options.rows)
    for name, value in vars(tuning).items():
        if name.isupper() and options.only in (None, name):
            few, many = (ratio(found[CASE_OF[name]], name, max(1, int(value * times))) for times in (0.25, 4))
            print(f"{name}: a fourth {few:.2f}, four times {many:.2f} ({CASE_OF[name]})", flush=True)


if __name__ == "__main__":
    main()
