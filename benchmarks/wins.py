"""Where peers win, found in the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .contestants import TITLES, family, ours
from .figures import Found, label, median


@dataclass(frozen=True)
class Loss:
    """A peer that was faster than one of our ways at some points of a case."""

    case: str
    peer: str
    ours: str
    points: str
    times: str
    worst: float


def losses(cases: list[Found]) -> list[Loss]:
    """All of them, the largest first."""
    found = []
    for case in cases:
        for mine in filter(ours, case["found"]):
            for peer in case["found"]:
                if ours(peer) or not comparable(mine, peer):
                    continue
                ratios = slower(case, mine, peer)
                if not ratios:
                    continue
                least, most = min(ratios.values()), max(ratios.values())
                reach = f"{most:.2f}" if f"{least:.2f}" == f"{most:.2f}" else f"{least:.2f} to {most:.2f}"
                points = f"{case['axis']}: " * bool(case["axis"]) + ", ".join(ratios)
                found.append(Loss(case["name"], TITLES[peer], TITLES[mine], points, reach, most))
    return sorted(found, key=lambda loss: -loss.worst)


def comparable(mine: str, peer: str) -> bool:
    """Whether they run on the same; those that run on something of their own are compared with all of ours."""
    return family(peer) == family(mine) or family(peer) not in ("Spark", "one process")


def slower(case: Found, mine: str, peer: str) -> dict[str, float]:
    """How many times as long ours takes, at the points where it does take longer."""
    found = {}
    for point in case["points"]:
        theirs, own = median(case, peer, point["x"]), median(case, mine, point["x"])
        if theirs is not None and own is not None and theirs < own:
            found[label(case, point["x"])] = own / theirs
    return found


def overall(cases: list[Found]) -> Iterator[str]:
    """Who is fastest at each point, whatever it runs on."""
    fastest: dict[str, list[str]] = {}
    points = 0
    for case in cases:
        for point in case["points"]:
            at = {way: taken for way in case["found"] if (taken := median(case, way, point["x"])) is not None}
            if at:
                points += 1
                first = min(at, key=lambda way: at[way])
                fastest.setdefault(first, []).append(f"{case['name']} at {label(case, point['x'])}")
    mine = sum(len(at) for way, at in fastest.items() if ours(way))
    yield f"Of all, whatever they run on, one of ours is the fastest at {mine} of {points} points. At the others:"
    yield ""
    for way, at in sorted(fastest.items(), key=lambda item: -len(item[1])):
        if not ours(way):
            yield f"- {TITLES[way]}: {'; '.join(at)}"
