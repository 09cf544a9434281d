"""How a shard's partials are stored: in pages, each of the frames from where it begins to where the next one does."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...aggregators.states.arrays import Ints
from ..columns.groups import grouped
from ..columns.key_codes import code_numbers, subtract

FRAMES = 16
"""Frames that share a number, ``frame // FRAMES``: a page begins with one, and is called by it."""

FULL = 4096
"""The most partials of a page with several numbers: a micro-batch writes the pages that it touches anew."""

NOWHERE = -(1 << 62)
"""The page of frames before all that are stored."""


def distinct(numbers: Ints) -> tuple[Ints, Ints, Ints]:
    """The numbers that there are, in order; the place of each one among them; how often each of them occurs.

    >>> [found.tolist() for found in distinct(np.array([7, 5, 7]))]
    [[5, 7], [1, 0, 1], [1, 2]]
    """
    if not len(numbers):
        return numbers, numbers, numbers
    coded = code_numbers(numbers)
    group, first = grouped(subtract(coded.codes, coded.least), coded.count)
    return numbers[first], group, np.bincount(group)


def owners(numbers: Ints, pages: Iterable[int]) -> Ints:
    """The stored page that frames are in, of their numbers ``frame // FRAMES`` and the pages that there are."""
    begins = np.array([NOWHERE, *sorted(pages)], np.int64)
    found: Ints = begins[np.searchsorted(begins, numbers, side="right") - 1]
    return found


def cut(numbers: Ints, counts: Ints, owned: Ints) -> Ints:
    """The page that partials are to be stored in: those of one stored page in as many as it takes.

    Parameters
    ----------
    numbers
        Of the partials' frames, ``frame // FRAMES``: each once, in order.
    counts
        How many partials have each of them.
    owned
        What `owners` says of them.
    """
    pages: list[int] = []
    rows, last = 0, None
    for begin, count, owner in zip(numbers.tolist(), counts.tolist(), owned.tolist(), strict=True):
        if owner != last or rows + count > FULL:
            pages.append(begin)
            rows, last = 0, owner
        else:
            pages.append(pages[-1])
        rows += count
    return np.array(pages, np.int64)
