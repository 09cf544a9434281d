"""Merges of sorted lists, in columns of states.

Items of short lists are looked up in long ones by bisection, in all states at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..contract.frames import Frames
from ..ranges.ordering import stable_order
from ..states.arrays import Bools, Index, Ints
from ..states.ragged import Ragged

Rows = Index
By: TypeAlias = Sequence[tuple[str, bool]]
"""What items are sorted by: planes, the first foremost, and whether the greatest comes first."""

TIME: By = (("time", False),)
VALUE: By = (("value", False),)


def rows_by_frame(frames: Frames, *keys: Ints) -> Rows:
    """The rows of a batch by frame, then by keys, then as they came."""
    order: Rows | None = None
    for key in reversed([_narrow(frames.index, frames.size), *keys]):
        key = key if order is None else key[order]
        if bool((key[1:] >= key[:-1]).all()):
            continue
        rows = stable_order(key) if key.dtype == np.int64 else np.argsort(key, kind="stable")
        order = rows if order is None else order[rows]
    return np.arange(len(frames.index)) if order is None else order


def distinct_rows(frames: Frames, ranks: Ints) -> tuple[Rows, Rows, Ints]:
    """The rows of a batch by frame and rank, and the start and the number of rows of each distinct pair."""
    rows = rows_by_frame(frames, ranks)
    index, ranks = frames.index[rows], ranks[rows]
    starts = np.flatnonzero(np.r_[True, (index[1:] != index[:-1]) | (ranks[1:] != ranks[:-1])])
    return rows, starts, np.diff(np.append(starts, len(rows)))


def _narrow(index: Rows, size: int) -> NDArray[Any]:
    """Frames of rows as 16-bit integers, which numpy sorts by radix, where there are few."""
    return index.astype(np.uint16) if size <= 1 << 16 else index


def precedes(a: Ragged, i: Rows, b: Ragged, j: Rows, by: By, equal: bool) -> Bools:
    """Whether items ``i`` of ``a`` go before items ``j`` of ``b``; ``equal`` where they are equal."""
    before = np.zeros(len(i), bool)
    tied = np.ones(len(i), bool)
    for plane, descending in by:
        x, y = a.planes[plane][i], b.planes[plane][j]
        before |= tied & (x > y if descending else x < y).astype(bool)
        tied &= (x == y).astype(bool)
    return before | tied if equal else before


def places(lists: Ragged, items: Ragged, by: By, equal: bool) -> Ints:
    """The number of items of its state's list before each item; equal ones count if ``equal``."""
    owner = items.owner
    start = lists.offsets[:-1][owner]
    low, high = start.copy(), lists.offsets[1:][owner]
    open_ = np.flatnonzero(low < high)
    while len(open_):
        middle = (low[open_] + high[open_]) >> 1
        passed = precedes(lists, middle, items, open_, by, equal)
        low[open_[passed]] = middle[passed] + 1
        high[open_[~passed]] = middle[~passed]
        open_ = open_[low[open_] < high[open_]]
    return cast(Ints, low - start)


def find(lists: Ragged, others: Ragged) -> tuple[Ints, Ints, Bools]:
    """The places of ``others`` in lists sorted by value, the items there, and whether these are equal to them."""
    place = places(lists, others, VALUE, equal=False)
    owner = others.owner
    at = lists.offsets[:-1][owner] + place
    equal = at < lists.offsets[1:][owner]
    inside = np.flatnonzero(equal)
    equal[inside] = lists.planes["value"][at[inside]] == others.planes["value"][inside]
    return place, at, equal


def insert(lists: Ragged, items: Ragged, places: Ints) -> Ragged:
    """Lists with items inserted, each after ``places`` of the list's own."""
    here = np.arange(len(places)) + np.repeat(lists.offsets[:-1], items.lengths) + places
    there = np.ones(int(lists.offsets[-1]) + len(places), bool)
    there[here] = False
    planes = {}
    for name, plane in lists.planes.items():
        joined = np.empty(len(there), plane.dtype)
        joined[here], joined[there] = items.planes[name], plane
        planes[name] = joined
    return Ragged(lists.lengths + items.lengths, planes)


def merge(a: Ragged, b: Ragged, by: By) -> Ragged:
    """Sorted lists of two columns joined state by state; of equal items those of ``a`` come first."""
    if not b.offsets[-1]:
        return a
    if not a.offsets[-1]:
        return b
    both = np.flatnonzero((a.lengths > 0) & (b.lengths > 0))
    if not precedes(b, b.offsets[both], a, a.offsets[both + 1] - 1, by, equal=False).any():
        return a + b
    if a.offsets[-1] >= b.offsets[-1]:
        return insert(a, b, places(a, b, by, equal=True))
    return insert(b, a, places(b, a, by, equal=False))
