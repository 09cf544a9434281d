"""Who merges the partials of many tasks, by what it costs: the driver, tasks before the driver, or executors by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Merger = Literal["driver", "tasks", "executors"]

DRIVER = 24e-9
"""Seconds in which the driver unpacks and merges a partial. This and what follows was measured with
``python -m benchmarks.combine``; it is for comparing ways, not for saying how long they take."""
TASKS = 48e-9
"""Seconds of a core in which a task unpacks and merges a partial of others."""
EXECUTORS = 5.5e-6
"""Seconds of a core in which a partial becomes a row, is shuffled and sorted by key, and merged."""
FETCH = 8e-3
"""Seconds of a core in which the partials of a task, which are there already, are read and sent."""
SHUFFLE = 0.5
"""Seconds that a shuffle takes however little there is."""

ALWAYS_DRIVER = int(SHUFFLE / DRIVER)
"""Partials up to which no other way can be quicker: the driver merges them while a shuffle begins."""

WORDS: Mapping[Merger, str] = {
    "driver": "the driver merges all partials",
    "tasks": "tasks merge the partials of several others, and the driver what they have left",
    "executors": "executors merge partials by key",
}


@dataclass(frozen=True)
class Combining:
    """Who merges.

    Parameters
    ----------
    way
        ``"driver"``: all partials come to it. ``"tasks"``: some tasks merge those of several others, and the driver
        what these have left. ``"executors"``: by key, and slide.
    tasks
        How many tasks merge before the driver does, where that is how; 0 where it is not possible.
    seconds
        What each way that is possible is taken to need.
    """

    way: Merger
    tasks: int
    seconds: Mapping[Merger, float]

    def __str__(self) -> str:
        """The way and why, for the log."""
        taken = ", ".join(f"{WORDS[way]} in {seconds:.1f} s" for way, seconds in self.seconds.items())
        return f"{WORDS[self.way]}: by an estimate, {taken}"


def choose(counts: Sequence[int], limit: int, cores: int, *, rounds: bool) -> Combining:
    """The cheapest of the ways that are possible.

    Parameters
    ----------
    counts
        How many partials each task has.
    limit
        The most partials that come to the driver.
    cores
        How many tasks run at a time.
    rounds
        Whether tasks may merge the partials of others before the driver does.

    Examples
    --------
    >>> [choose([most] * 200, 5_000_000, 100, rounds=True).way for most in (1_000, 144_000, 3_000_000)]
    ['driver', 'tasks', 'executors']
    """
    partials = sum(counts)
    fetch = len(counts) * FETCH / cores
    seconds: dict[Merger, float] = {}
    if partials <= limit:
        seconds["driver"] = fetch + partials * DRIVER
    # Merging leaves at least as many as one task had; twice as many where that lacks half of all keys and frames.
    left = 2 * max(counts, default=0)
    most = min(limit // max(left, 1), len(counts) // 2) if rounds else 0

    def by_tasks(count: int) -> float:
        merging, sent = partials * TASKS / min(count, cores), min(count * left, partials)
        return SHUFFLE + fetch + merging + sent * DRIVER

    tasks = min(range(1, most + 1), key=by_tasks, default=0)
    if tasks:
        seconds["tasks"] = by_tasks(tasks)
    seconds["executors"] = 2 * SHUFFLE + fetch + partials * EXECUTORS / cores
    way = min(seconds, key=lambda each: seconds[each])
    return Combining(way, tasks, seconds)
