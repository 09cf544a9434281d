"""Where peers win, found in the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .contestants import TITLES, comparable, ours
from .figures import Found, Ratio, label, median, ratio


@dataclass(frozen=True)
class Loss:
    """A peer that was faster than one of our ways at some points of a case: by the median of pairs.

    Attributes
    ----------
    at
        The points, and how many times as long ours takes there.
    """

    case: str
    axis: str
    peer: str
    ours: str
    at: dict[str, Ratio]

    @property
    def pairs(self) -> list[float]:
        """All pairs of these points."""
        return [pair for seen in self.at.values() for pair in seen.pairs]

    @property
    def lost(self) -> int:
        """The pairs in which the peer was faster."""
        return sum(pair > 1 for pair in self.pairs)

    @property
    def worst(self) -> float:
        """The largest median."""
        return max(seen.median for seen in self.at.values())

    @property
    def sure(self) -> bool:
        """Whether the peer was faster in every pair of some point."""
        return any(min(seen.pairs) > 1 for seen in self.at.values())

    def row(self) -> list[str]:
        """The cells of a table."""
        least = min(seen.median for seen in self.at.values())
        reach = f"{least:.2f} to {self.worst:.2f}" if f"{least:.2f}" != f"{self.worst:.2f}" else f"{least:.2f}"
        points = f"{self.axis}: " * bool(self.axis) + ", ".join(self.at)
        return [self.case, TITLES[self.peer], TITLES[self.ours], points, reach, f"{self.lost} of {len(self.pairs)}"]


def losses(cases: list[Found]) -> list[Loss]:
    """All of them: those that may be noise come last, and otherwise the largest difference first."""
    found = []
    for case in cases:
        for mine in filter(ours, case["found"]):
            for peer in case["found"]:
                if not ours(peer) and comparable(mine, peer) and (at := slower(case, mine, peer)):
                    found.append(Loss(case["name"], case["axis"], peer, mine, at))
    return sorted(found, key=lambda loss: (not loss.sure, -loss.worst))


def slower(case: Found, mine: str, peer: str) -> dict[str, Ratio]:
    """How many times as long ours takes, at the points where it does take longer."""
    seen = {label(case, point["x"]): ratio(case, (mine, point["x"]), (peer, point["x"])) for point in case["points"]}
    return {at: each for at, each in seen.items() if each and each.median > 1}


def overall(cases: list[Found]) -> Iterator[str]:
    """Who is fastest at each point, whatever it runs on."""
    fastest: dict[str, list[str]] = {}
    points = 0
    for case in cases:
        for point in case["points"]:
            taken = {way: median(case, way, point["x"]) or float("inf") for way in case["found"]}
            first = min(taken, key=lambda way: taken[way], default="")
            if first and taken[first] < float("inf"):
                points += 1
                fastest.setdefault(first, []).append(f"{case['name']} at {label(case, point['x'])}")
    mine = sum(len(at) for way, at in fastest.items() if ours(way))
    where = f"at {mine} of {points} points of cases. At the others:"
    yield f"Of all, whatever they run on, one of ours is the fastest {where}"
    yield ""
    for way, at in sorted(fastest.items(), key=lambda item: -len(item[1])):
        if not ours(way):
            yield f"- {TITLES[way]}: {'; '.join(at)}"
