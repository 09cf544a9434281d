"""Numbers out of the measurements: medians, and ratios pair by pair."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Found = dict[str, Any]
"""A case as :func:`benchmarks.measure.measure` gives it."""


@dataclass(frozen=True)
class Ratio:
    """How one time compares with another: the median over pairs of the same round, and how far they reach."""

    median: float
    least: float
    most: float
    pairs: int

    def __str__(self) -> str:
        if self.pairs == 1:
            return f"{self.median:.2f} (1 pair)"
        return f"{self.median:.2f} ({self.least:.2f} to {self.most:.2f}, {self.pairs} pairs)"


def times(case: Found, contender: str, x: float) -> list[float]:
    """The timed runs of a contender at a point, in the order of the rounds."""
    entry = case["found"].get(contender, {}).get(str(x))
    return list(entry["seconds"]) if entry else []


def median(case: Found, contender: str, x: float) -> float | None:
    """The median of them; None where there is none."""
    found = times(case, contender, x)
    return statistics.median(found) if found else None


def ratio(case: Found, over: tuple[str, float], under: tuple[str, float]) -> Ratio | None:
    """The time of one (contender, point) over that of another, in the rounds that both ran in."""
    pairs = [a / b for a, b in zip(times(case, *over), times(case, *under), strict=False)]
    return Ratio(statistics.median(pairs), min(pairs), max(pairs), len(pairs)) if pairs else None


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """The slope of a straight line through points on logarithmic axes, by least squares.

    >>> round(exponent([(1, 2), (10, 20), (100, 200)]), 6)
    1.0
    """
    logs = [(math.log(x), math.log(y)) for x, y in points]
    middle, height = (statistics.fmean(each) for each in zip(*logs, strict=True))
    across = sum((x - middle) ** 2 for x, _ in logs)
    return sum((x - middle) * (y - height) for x, y in logs) / across


def curve(case: Found, contender: str) -> list[tuple[float, float]]:
    """The points of a contender and its medians there."""
    found = [(point["x"], median(case, contender, point["x"])) for point in case["points"]]
    return [(x, y) for x, y in found if y is not None]


def peak(case: Found, contender: str, x: float, which: str) -> int:
    """The most memory held in any timed run, in bytes; 0 if unknown."""
    entry = case["found"].get(contender, {}).get(str(x), {})
    return max((held.get(which, 0) for held in entry.get("peaks", ())), default=0)


def label(case: Found, x: float) -> str:
    """What a point is called."""
    named = next(point["label"] for point in case["points"] if point["x"] == x)
    return named or number(x)


def number(x: float) -> str:
    """A number as people write it.

    >>> number(60.0), number(8e6), number(0.1234)
    ('60', '8,000,000', '0.12')
    """
    return f"{x:,.0f}" if x == int(x) else f"{x:.2g}"


def seconds(value: float | None) -> str:
    """A time to three digits.

    >>> seconds(0.01234), seconds(1.2345), seconds(123.4), seconds(None)
    ('0.012', '1.23', '123', '')
    """
    if value is None:
        return ""
    digits = 3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}"
