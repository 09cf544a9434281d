"""How long it takes to slide frames into windows, by operation and shape: nanoseconds a window on one core.

``python -m benchmarks.sliding`` prints the table that the report has. From states to states of windows, and from
there to results; next to what numpy and Polars take for plain columns. Rounds go over all of them, so that what else
the machine does for a while falls on one round of each and not on all rounds of some.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

import framefold as ff
from framefold.aggregators.contract.bound import BoundAggregate
from framefold.aggregators.states.fields import Compensated
from framefold.aggregators.states.limbs import Exact
from framefold.runtime.columns.malloc import raise_mmap_threshold
from framefold.runtime.sliding.range_facts import RangeFacts
from framefold.runtime.sliding.slide import slide

Ints = NDArray[np.int64]
INT, FLOAT = pa.int64(), pa.float64()


class Own(ff.AggregateOperation):
    """A sum and a maximum, as a user writes them."""

    state = {"total": "int64", "most": "int64"}
    commutative = True
    result = "int64"

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        return {"total": frames.sum(columns[0]), "most": frames.max(columns[0])}

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] + b["total"], "most": np.maximum(a["most"], b["most"])}

    def finish(self, a: Any) -> Any:
        return a["total"] - a["most"]


class OwnWithDeduct(Own):
    """Two sums, which can be taken apart again."""

    def combine(self, a: Any, b: Any) -> Any:
        return {field: a[field] + b[field] for field in self.state}

    def deduct(self, a: Any, b: Any) -> Any:
        return {field: a[field] - b[field] for field in self.state}


class Shape(NamedTuple):
    """Ranges of rows; ``width``: the rows of each window, where all of a key have as many, each a row later."""

    name: str
    low: Ints
    high: Ints
    width: int = 0

    def slid(self, bound: BoundAggregate, states: Any) -> Any:
        """The states of the ranges, of which nothing is known yet."""
        return slide(bound, states, RangeFacts(self.low, self.high))


def of_keys(keys: int, frames: int, width: int, every: int = 1) -> tuple[Ints, Ints]:
    """All windows of keys that have every frame; those at their ends have fewer."""
    starts = np.tile(np.arange(-width + 1, frames, every), keys)
    first = np.repeat(np.arange(keys) * frames, len(starts) // keys)
    return first + np.maximum(starts, 0), first + np.minimum(starts + width, frames)


def shapes(rows: int) -> Iterator[Shape]:
    """One key and windows of three widths; many keys; hops; frames of which every other one is missing."""
    for width in (60, 1000, 10_000):
        yield Shape(f"1 key, {rows:,} frames, windows of {width:,}", *of_keys(1, rows, width), width)
    yield Shape(f"100 keys, {rows // 100:,} frames, windows of 60", *of_keys(100, rows // 100, 60))
    yield Shape(f"{rows // 100:,} keys, 100 frames, windows of 60", *of_keys(rows // 100, 100, 60))
    yield Shape("1 key, windows of 60 every 10 frames", *of_keys(1, rows, 60, 10))
    ticks = np.flatnonzero(np.random.default_rng(3).random(2 * rows) < 0.5)[:rows]
    row = np.arange(len(ticks))
    yield Shape("1 key, half the frames missing, windows of 60", np.searchsorted(ticks, ticks - 59), row + 1)


def operations(rows: int) -> list[tuple[str, BoundAggregate, dict[str, Any]]]:
    """What is slid, and its states of frames."""
    chance = np.random.default_rng(7)
    ints, floats = chance.integers(-1000, 1000, rows), chance.normal(50.0, 10.0, rows)
    count, seen = chance.integers(1, 9, rows), np.ones(rows, bool)
    rounded, signed = (
        Compensated.of(each) + Compensated.of(each[::-1]) + Compensated.of(np.roll(each, 1))  # three events
        for each in (floats, floats - 50.0)
    )
    return [
        ("Count", BoundAggregate("x", ff.Count(), []), {"count": count}),
        ("Sum of int64", BoundAggregate("x", ff.Sum("x"), [INT]), {"total": Exact.of(ints), "count": count}),
        (
            "Sum of float64",
            BoundAggregate("x", ff.Sum("x"), [FLOAT]),
            {"total": rounded, "frames": np.ones_like(count)},
        ),
        (
            "Sum of float64 of both signs",
            BoundAggregate("x", ff.Sum("x"), [FLOAT]),
            {"total": signed, "frames": np.ones_like(count)},
        ),
        ("Average of int64", BoundAggregate("x", ff.Average("x"), [INT]), {"total": Exact.of(ints), "count": count}),
        ("Average of float64", BoundAggregate("x", ff.Average("x"), [FLOAT]), {"total": rounded, "count": count}),
        ("Max of int64", BoundAggregate("x", ff.Max("x"), [INT]), {"value": ints, "seen": seen}),
        ("Max of float64", BoundAggregate("x", ff.Max("x"), [FLOAT]), {"value": floats, "seen": seen}),
        ("own, two int64 fields", BoundAggregate("x", Own("x"), [INT]), {"total": ints, "most": ints}),
        ("own, with deduct", BoundAggregate("x", OwnWithDeduct("x"), [INT]), {"total": ints, "most": count}),
    ]


def plain(rows: int, shape: Shape) -> dict[str, Callable[[], Any]]:
    """What others do with a plain column; sums of floats of theirs are not exact, and one NaN stays in numpy's."""
    values = np.random.default_rng(7).normal(50.0, 10.0, rows)

    def difference() -> Any:
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return sums[shape.high] - sums[shape.low]

    others: dict[str, Callable[[], Any]] = {"numpy: difference of cumulative sums": difference}
    if shape.width:
        column = pl.Series(values)
        others["Polars: rolling_sum"] = lambda: column.rolling_sum(shape.width, min_samples=1)
        others["Polars: rolling_max"] = lambda: column.rolling_max(shape.width, min_samples=1)
    return others


class Taken:
    """Seconds of the processor in each round: to slide, and to finish, which others do not."""

    def __init__(self) -> None:
        self.sliding: list[float] = []
        self.finishing: list[float] = []

    def cell(self, windows: int) -> str:
        """Nanoseconds a window."""
        taken, least = statistics.median(self.sliding), min(self.sliding)
        cell = f"{1e9 * taken / windows:.1f}, {1e9 * least / windows:.1f}"
        if not self.finishing:
            return cell
        return f"{cell} ({1e9 * (taken + statistics.median(self.finishing)) / windows:.1f})"


def timed(function: Callable[[], Any], taken: list[float]) -> Any:
    """What it returns; the processor's time of it is added to what was taken.

    It is called once before: memory that nobody has used for a second is a virtual machine's to lend, and comes back
    at many times the price of all that is measured.
    """
    function()
    begin = time.process_time()
    result = function()
    taken.append(time.process_time() - begin)
    return result


def cells(rows: int = 10_000_000, rounds: int = 5) -> dict[str, dict[str, str]]:
    """For each shape and operation: nanoseconds a window."""
    raise_mmap_threshold()  # as both engines do
    made = operations(rows)
    sums = np.concatenate([[0], np.cumsum(next(states for name, _, states in made if name == "Count")["count"])])
    found: dict[str, dict[str, Taken]] = {}
    windows: dict[str, int] = {}
    for _ in range(rounds):
        for shape in shapes(rows):
            each, windows[shape.name] = found.setdefault(shape.name, {}), len(shape.low)
            for name, bound, states in made:
                taken = each.setdefault(name, Taken())
                slid = timed(partial(shape.slid, bound, states), taken.sliding)
                if name == "Count":
                    assert np.array_equal(slid["count"], sums[shape.high] - sums[shape.low])
                timed(partial(bound.finish, slid), taken.finishing)
                del slid
            for name, function in plain(rows, shape).items():
                timed(function, each.setdefault(name, Taken()).sliding)
    return {shape: {name: taken.cell(windows[shape]) for name, taken in each.items()} for shape, each in found.items()}


def table(found: dict[str, dict[str, str]]) -> list[str]:
    """The measurement as lines of Markdown."""
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    lines = ["| ns a window: median, least (with finish) |" + "".join(f" {shape} |" for shape in found)]
    lines.append("| --- |" + " ---: |" * len(found))
    lines += [f"| {name} |" + "".join(f" {each.get(name, '')} |" for each in found.values()) for name in names]
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print("\n".join(table(cells(arguments.rows, arguments.rounds))))
