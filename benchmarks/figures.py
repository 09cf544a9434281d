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
    """How one time compares with another, in pairs of runs of the same round."""

    pairs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the pairs."""
        return statistics.median(self.pairs)

    def __str__(self) -> str:
        if len(self.pairs) == 1:
            return f"{self.median:.2f} (1 pair)"
        return f"{self.median:.2f} ({min(self.pairs):.2f} to {max(self.pairs):.2f}, {len(self.pairs)} pairs)"


def times(case: Found, contender: str, x: float) -> dict[str, float]:
    """The timed runs of a contender at a point, by the round."""
    at = case["found"].get(contender, {})
    return next((dict(entry["seconds"]) for place, entry in at.items() if float(place) == x), {})


def median(case: Found, contender: str, x: float) -> float | None:
    """The median of them; None where there is none."""
    found = times(case, contender, x)
    return statistics.median(found.values()) if found else None


def ratio(case: Found, over: tuple[str, float], under: tuple[str, float]) -> Ratio | None:
    """The time of one (contender, point) over that of another, in the rounds that both ran in."""
    a, b = times(case, *over), times(case, *under)
    pairs = tuple(a[turn] / b[turn] for turn in a if turn in b)
    return Ratio(pairs) if pairs else None


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


def memory(case: Found, contender: str) -> tuple[str, dict[float, int]]:
    """The most memory that a Python worker held, or the process where there is none: in bytes, by the point."""
    held = {float(x): entry["memory"] for x, entry in case["found"].get(contender, {}).items() if "memory" in entry}
    which = "worker" if any(each["worker"] for each in held.values()) else "process"
    return which, {x: each[which] for x, each in held.items()}


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
