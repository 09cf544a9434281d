"""The frames in which interval events live."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Ints
from ..columns.key_codes import pack, span
from .partials_view import PartialsView
from .window_ranges import MAX_WINDOWS


class LiveFrames(NamedTuple):
    """The frames in which interval events live, in one list sorted by key and time, and the events' places in it.

    ``first`` and ``last`` are the frames in which the events of each partial start and end, ``frames`` are these frames
    as windows see them, and ``ticks`` says how long each is (None where that is not known).
    """

    first: Ints
    last: Ints
    frames: PartialsView
    ticks: Ints | None


def changed(first: Ints, last: Ints, key: Ints) -> Ints:
    """Indices of windows whose events differ from those of the window before; each row is in a run of windows.

    ``first`` and ``last`` bound the run of each row, and ``key`` is the key of each window.
    """
    fresh = np.zeros(len(key) + 1, bool)
    inside = first <= last
    fresh[first[inside]] = fresh[last[inside] + 1] = True  # a run begins with this window, or ended with that one
    fresh[1:-1] |= key[1:] != key[:-1]
    fresh[0] = True
    return np.flatnonzero(fresh[:-1])


def join_intervals(windows: str, partials: PartialsView, begin: Ints, end: Ints) -> LiveFrames:
    """The frames in which events live that start in the frames ``begin`` (ascending in each key) and end in ``end``."""
    key = partials.key
    packed, _ = pack([(key, len(partials.starts)), span(end)], len(end))
    longest = np.maximum.accumulate(packed)
    fresh = np.ones(len(begin), bool)
    reached = end[np.maximum.accumulate(np.where(packed == longest, np.arange(len(end)), 0))]
    fresh[1:] = (key[1:] != key[:-1]) | (begin[1:] > reached[:-1])
    heads = np.flatnonzero(fresh)
    lengths = reached[np.append(heads[1:], len(end))[: len(heads)] - 1] - begin[heads] + 1
    if float(lengths.astype(np.float64).sum()) > MAX_WINDOWS:
        raise QueryError(
            f"{windows}: the events live in {float(lengths.astype(np.float64).sum()):.2g} frames, more than one "
            "process can hold; expected a longer step, or shorter lives"
        )
    offsets = np.cumsum(lengths) - lengths
    frames = np.repeat(begin[heads] - offsets, lengths) + np.arange(int(lengths.sum()))
    starts = offsets[np.searchsorted(key[heads], np.arange(len(partials.starts)))].astype(np.int64)
    shift = (offsets - begin[heads])[np.cumsum(fresh) - 1]
    return LiveFrames(begin + shift, end + shift, PartialsView(frames, starts, {}, partials.keys), None)
