"""How a shard's partials are stored: in blocks, each of the frames from where it begins to where the next one does."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..windows import Ints

FRAMES = 16
"""Frames that share a number, ``frame // FRAMES``: a block begins with one, and is called by it."""

FULL = 4096
"""The most partials of a block with several numbers: a micro-batch writes the blocks that it touches anew."""

NOWHERE = -(1 << 62)
"""The block of frames before all that are stored."""


def owners(numbers: Ints, known: Iterable[int]) -> Ints:
    """The stored block that each frame is in, of its number ``frame // FRAMES`` and the blocks that there are."""
    begins = np.array([NOWHERE, *sorted(known)], np.int64)
    found: Ints = begins[np.searchsorted(begins, numbers, side="right") - 1]
    return found


def cut(numbers: Ints, owned: Ints) -> Ints:
    """The block that each partial is to be stored in: those of one stored block in as many as it takes.

    Parameters
    ----------
    numbers
        Of the partials' frames, ``frame // FRAMES``.
    owned
        What `owners` says of them.
    """
    begins, first, of, counts = np.unique(numbers, return_index=True, return_inverse=True, return_counts=True)
    blocks: list[int] = []
    rows, last = 0, None
    for begin, owner, count in zip(begins.tolist(), owned[first].tolist(), counts.tolist(), strict=True):
        if owner != last or rows + count > FULL:
            blocks.append(begin)
            rows, last = 0, owner
        else:
            blocks.append(blocks[-1])
        rows += count
    found: Ints = np.array(blocks, np.int64)[of]
    return found
