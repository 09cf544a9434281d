"""Rows of partials in groups of one key and frame: found in an array of places, by merging sorted runs, or by sorting.

Partials of a batch are sorted by key and frame, or by frame and key where it has few keys. Groups are numbered in the
order in which most rows are: states that follow one another are then joined with states that do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aggregators.numeric.native import loops
from ..columns.coded import Coded, packed, subtract
from ..columns.key_codes import MAX_PACKED, MIN_RUN, Ints, groups_by_sorting, pack, stable_order

MAX_PLACES = 4
"""Possible groups for each partial, at most, for which each has a place in an array; else partials are sorted."""

SAMPLE = 1 << 12
"""Rows that are looked at for the order of rows."""


class Groups(NamedTuple):
    """Rows in groups.

    Parameters
    ----------
    group
        The group of each row.
    first
        The first row of each group.
    order
        The groups sorted by key, then frame; None where they are.
    """

    group: Ints
    first: Ints
    order: Ints | None


def groups_of(keys: Sequence[Coded], frames: Sequence[Coded], rows: int) -> Groups:
    """Rows of equal keys and frames in groups; codes of keys are in the order of keys."""
    size, of_frames = (math.prod(column.count for column in columns) for columns in ([*keys, *frames], frames))
    if size > MAX_PACKED:
        columns = [(subtract(column.codes, column.least), column.count) for column in (*keys, *frames)]
        return Groups(*grouped(*pack(columns, rows)), None)
    of_keys = size // of_frames
    if loops is None or of_keys == 1 or not by_frame(keys, frames):
        return Groups(*grouped(packed([*keys, *frames], rows), size), None)
    codes = packed([*frames, *keys], rows)
    found = grouped(codes.copy(), size)
    ordered = np.divmod(codes[found[1]], of_keys)
    return Groups(*found, in_order(ordered[1] * of_frames + ordered[0], size))


def by_frame(keys: Sequence[Coded], frames: Sequence[Coded]) -> bool:
    """Whether rows are in the order of frames, and not of keys, as far as the first ones show."""
    some = min(SAMPLE, len(frames[0].codes))
    first, key = (packed([each.at(slice(some)) for each in columns], some) for columns in (frames, keys))
    return bool((first[1:] >= first[:-1]).all() and (key[1:] < key[:-1]).any())


def in_order(codes: Ints, size: int) -> Ints:
    """The order of different codes below ``size``."""
    if size > MAX_PLACES * len(codes):
        return stable_order(codes, size)
    places: NDArray[Any] = np.full(size, -1, np.int32 if len(codes) < 1 << 31 else np.int64)
    places[codes] = np.arange(len(codes))
    return places[places >= 0].astype(np.intp)


def grouped(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The group of each row, and the first row of each group: rows of one code, in the order of the codes.

    The codes, from 0 to below ``size``, may be overwritten.
    """
    rises = codes[1:] > codes[:-1]
    if rises.all():
        rows = np.arange(len(codes))
        return rows, rows
    if size <= MAX_PLACES * len(codes):
        return in_places(codes, size)
    runs = len(codes) - np.count_nonzero(rises)
    if loops is None or runs * MIN_RUN > len(codes):
        return groups_by_sorting(codes, size)[:2]
    return by_runs(codes, [0, *(np.flatnonzero(~rises) + 1).tolist(), len(codes)])


def in_places(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """As :func:`grouped`, with a place for each code."""
    if loops is not None and size < 1 << 31:
        numbers = np.zeros(size, np.int32)
        first = np.empty(loops.number_codes(codes, numbers), np.intp)
        loops.number_rows(codes, numbers, first)
        return codes, first
    seen = np.zeros(size, bool)
    seen[codes] = True
    group = (np.cumsum(seen) - 1)[codes]
    first = np.empty(np.count_nonzero(seen), np.intp)
    first[group[::-1]] = np.arange(len(codes))[::-1]  # where a group repeats, numpy keeps what is assigned last
    return group, first


def by_runs(codes: Ints, edges: Sequence[int]) -> tuple[Ints, Ints]:
    """As :func:`grouped`, of codes that ascend from each edge to the next one."""
    assert loops is not None
    runs = [codes[start:end] for start, end in itertools.pairwise(edges)]
    values = runs
    while len(values) > 1:  # neighbours, then neighbours of these, and so on
        values = [united(*values[at : at + 2]) for at in range(0, len(values), 2)]
    first = np.empty(len(values[0]), np.intp)
    for start, run in zip(reversed(edges[:-1]), reversed(runs), strict=True):  # the first of equal ones comes last
        loops.number_ascending(run, values[0], start, first)
    return codes, first


def united(left: Ints, right: Ints | None = None) -> Ints:
    """The codes in either of two ascending arrays, ascending."""
    if right is None:
        return left
    assert loops is not None
    both = np.empty(len(left) + len(right), np.int64)
    return both[: loops.unite(left, right, both)]
