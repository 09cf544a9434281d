"""What the numbers of ``runtime/tuning.py`` bring: each case with a fourth of a number and with four times as much.

``python -m benchmarks.tuning`` prints, for each number, the cases that it slows down and speeds up most.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import framefold as ff
from framefold.runtime import tuning

from .sliding import Own

ROUNDS = 3
"""Timed rounds of each case, in turn with and without a change; their medians are compared."""


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
    """How long a call takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def ratio(run: Callable[[], Any], name: str, value: int) -> float:
    """The time of a case with another number, in times that with the number as it is."""
    run()
    plain, changed = [], []
    for _ in range(ROUNDS):
        plain.append(seconds(run))
        with with_number(name, value):
            changed.append(seconds(run))
    return median(changed) / median(plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", help="one number, by its name")
    parser.add_argument("--rows", type=int, default=1_000_000, help="events of a case (default: a million)")
    options = parser.parse_args()
    found = cases(options.rows)
    for name, value in vars(tuning).items():
        if name.isupper() and options.only in (None, name):
            for times, words in ((0.25, "a fourth"), (4, "four times")):
                ratios = {case: ratio(run, name, max(1, int(value * times))) for case, run in found.items()}
                slowest, fastest = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
                print(f"{name} {words}: {ratios[slowest]:.2f} {slowest}; {ratios[fastest]:.2f} {fastest}", flush=True)


if __name__ == "__main__":
    main()
