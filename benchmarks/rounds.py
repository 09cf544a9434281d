"""Who is timed with whom, and how often.

Times are compared only where they were taken one right after the other. So runs are timed in groups: a round of a group
is each of its runs once, and a group has as many rounds as its own cost allows, whatever the others take.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from .case import Case
from .contestants import comparable, ours

Run = tuple[str, float]
"""A contender, at a point of the axis."""
CHEAP = 10.0
"""Seconds; a group whose round takes less may have twice as many, as short times vary more."""


@dataclass(frozen=True)
class Group:
    """Runs that are compared with each other.

    Attributes
    ----------
    name
        Of all groups of a case, this one's.
    runs
        In the order of an even round.
    """

    name: str
    runs: tuple[Run, ...]

    def order(self, turn: int) -> tuple[Run, ...]:
        """The runs of a round: there and back, so that nobody is always the first."""
        return self.runs[::-1] if turn % 2 else self.runs


def groups(case: Case, able: Container[Run]) -> list[Group]:
    """Each peer at each point, with those of our ways that run on the same; and ours across points, each by itself.

    Parameters
    ----------
    case
        Says who takes part, and across which points ours are compared.
    able
        The runs that can be timed.
    """
    found = []
    for point in case.points:
        here = [way for way in case.taking_part(point) if (way, point.x) in able]
        mine, peers = [way for way in here if ours(way)], [way for way in here if not ours(way)]
        for peer in peers:
            ways = [*(way for way in mine if comparable(way, peer)), peer]
            found.append(Group(f"{peer} at {point.x:g}", tuple((way, point.x) for way in ways)))
        alone = [way for way in mine if not any(comparable(way, peer) for peer in peers)]
        found += [Group(f"{way} at {point.x:g}", ((way, point.x),)) for way in alone]
    for way in filter(ours, case.contenders):
        runs = tuple((way, x) for x in case.across if (way, x) in able)
        found += [Group(f"{way} across", runs)] if len(runs) > 1 else []
    return found


def rounds(costs: list[float], seconds: float, most: int) -> list[int]:
    """How many rounds each group has, at least one: the cheapest first, each of an equal part of the time that is left.

    What the cheap do not need is left to the others, and what is left of all to the cheap.

    Parameters
    ----------
    costs
        Seconds that a round of each group takes.
    seconds
        For all of them.
    most
        Rounds of a group; twice as many of one that is cheap, if there is time.

    Examples
    --------
    >>> rounds([1.0, 60.0, 2.0, 0.1], 140.0, most=5)
    [5, 2, 5, 10]
    """
    found = [0] * len(costs)
    order = sorted(range(len(costs)), key=lambda number: costs[number])
    for done, number in enumerate(order):
        part = max(seconds, 0.0) / (len(costs) - done)
        found[number] = max(1, min(most, int(part / max(costs[number], 1e-9))))
        seconds -= found[number] * costs[number]
    for number in order:
        if costs[number] < CHEAP and most * costs[number] <= seconds:
            found[number] += most
            seconds -= most * costs[number]
    return found
