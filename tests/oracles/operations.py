"""Every operation with the function that says whether its answer is right; and operations as a user writes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import framefold as ff

from . import by_definition as oracle
from .rows import Check


# fmt: off
class GeometricMean(ff.AggregateOperation):
    """exp(mean(log x)) of a positive column."""

    state = {"log_sum": "float64", "count": "int64"}

    def accumulate(self, frames, x):          # a batch's rows, already assigned to frames
        return {"log_sum": frames.sum(np.log(x)), "count": frames.count(x)}

    def combine(self, a, b):                  # whole columns of states at once
        return {"log_sum": a["log_sum"] + b["log_sum"], "count": a["count"] + b["count"]}

    def deduct(self, a, b):                   # optional; used where it is exact, see below
        return {"log_sum": a["log_sum"] - b["log_sum"], "count": a["count"] - b["count"]}

    def finish(self, a):
        return np.exp(a["log_sum"] / a["count"])
# fmt: on


class LongestRun(ff.PythonOperation):
    """The longest run of equal values: associative, sensitive to order, and without an inverse.

    A state is how many values there are, the first and the last run (value, length), and the longest length.
    """

    result = "int64"

    def create(self) -> Any:
        return (0, None, None, 0)

    def accumulate(self, state: Any, value: Any) -> Any:
        return self.combine(state, (1, (value, 1), (value, 1), 1))

    def combine(self, a: Any, b: Any) -> Any:
        if not a[0] or not b[0]:
            return a if a[0] else b
        joined = a[2][1] + b[1][1] if a[2][0] == b[1][0] else 0
        first = (a[1][0], joined) if joined and a[1][1] == a[0] else a[1]
        last = (b[2][0], joined) if joined and b[2][1] == b[0] else b[2]
        return (a[0] + b[0], first, last, max(a[3], b[3], joined))

    def finish(self, state: Any) -> int:
        return int(state[3])


class Ledger(ff.PythonOperation):
    """A sum of integers that deducts, one Python call at a time."""

    result = "int64"
    exact_deduct = True

    def create(self) -> tuple[int, int]:
        return (0, 0)

    def accumulate(self, state: tuple[int, int], value: int) -> tuple[int, int]:
        return (state[0] + value, state[1] + 1)

    def combine(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])

    def deduct(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] - b[0], a[1] - b[1])

    def finish(self, state: tuple[int, int]) -> int | None:
        return state[0] if state[1] else None


def check_mean(got: Any, window: oracle.WindowOfKey) -> oracle.Verdict:
    """The geometric mean; as it is written in the design, that of no values is exp(0 / 0)."""
    return oracle.check_geometric_mean(got, window) if window.values else oracle.same(got, math.nan)


def numeric(column: str = "value") -> dict[str, tuple[Any, Check]]:
    """Our own operations on a column of numbers."""
    return {
        "rows": (ff.Count(), oracle.check_rows), "count": (ff.Count(column), oracle.check_count),
        "sum": (ff.Sum(column), oracle.check_sum), "average": (ff.Average(column), oracle.check_average),
        "min": (ff.Min(column), oracle.check_min), "max": (ff.Max(column), oracle.check_max),
        "variance": (ff.Variance(column), oracle.check_variance(1)),
        "variance0": (ff.Variance(column, ddof=0), oracle.check_variance(0)),
        "variance2": (ff.Variance(column, ddof=2), oracle.check_variance(2)),
        "stddev": (ff.StdDev(column), oracle.check_deviation(1)),
        "stddev0": (ff.StdDev(column, ddof=0), oracle.check_deviation(0)),
        "first": (ff.First(column), oracle.check_first), "last": (ff.Last(column), oracle.check_last),
    }  # fmt: skip


def any_type(column: str = "value") -> dict[str, tuple[Any, Check]]:
    """Our own operations that take a column of any type."""
    both = numeric(column)
    return {name: both[name] for name in ("rows", "count", "min", "max", "first", "last")}


def users(column: str = "value") -> dict[str, tuple[Any, Check]]:
    """Operations as users write them, on a column of integers."""
    return {"run": (LongestRun(column), oracle.check_longest_run), "ledger": (Ledger(column), oracle.check_sum)}
