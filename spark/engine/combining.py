"""Who merges the partials of many tasks, by how many they are: the driver, other tasks, or executors by key."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Literal, NamedTuple

Merger = Literal["driver", "tasks", "executors"]

CORES_OF_A_TASK = 100
"""The most cores for each task that merges before the driver does: by executors a partial takes 5.5 us of a core, in a
shuffle by key, in such a task 48 ns (``python -m benchmarks.combine``: 2.4 s against 80 s)."""


class Combining(NamedTuple):
    """Who merges.

    Parameters
    ----------
    way
        ``"driver"``: all partials come to it, 24 ns each. ``"tasks"``: some tasks merge those of several others, and
        the driver what these have left. ``"executors"``: by key, and slide.
    tasks
        How many tasks merge before the driver does.
    words
        The way and why, for the log.
    """

    way: Merger
    tasks: int
    words: str


def choose(counts: Sequence[int], limit: int, cores: int, *, rounds: bool) -> Combining:
    """The first of the ways that is possible.

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
    if sum(counts) <= limit:
        return Combining("driver", 0, "the driver merges all partials")
    # Merging leaves at least as many as one task had; twice as many where that lacks half of all keys and frames.
    left = 2 * max(counts)
    tasks = min(limit // left, cores, isqrt(len(counts)), len(counts) // 2) if rounds else 0
    if cores <= tasks * CORES_OF_A_TASK:
        words = f"{tasks} tasks merge the partials of several others, and the driver what they have left"
        return Combining("tasks", tasks, words)
    return Combining("executors", 0, "executors merge partials by key: more than the driver may have")
