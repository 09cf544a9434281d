"""The rows of a result over several kinds of windows: each window once, with nulls where an output is not over it."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.states.arrays import Bools, Index, Ints
from ...aggregators.states.large import fitting, joined, take
from ..columns.sorting import differs
from ..frames.window_ranges import Coverage, Ranges


class Rows(NamedTuple):
    """The rows of a result, sorted by key, the time they are stamped with, start and end.

    ``row`` is a partial of each one's key, ``start`` and ``end`` bound its window, ``at`` is the time of those that
    ``stamped`` says have one. ``places`` has the row of each window, for each kind of windows.
    """

    row: Ints
    start: Ints
    end: Ints
    at: Ints
    stamped: Bools
    places: list[Index]


def lay_out(kinds: list[Ranges | Coverage], starts: Ints) -> Rows:
    """The rows of several kinds of windows; ``starts`` is the first partial of each key."""
    row, start, end = (np.concatenate([getattr(each, name) for each in kinds]) for name in ("row", "start", "end"))
    stamped = np.concatenate([np.full(len(each.row), each.at is not None) for each in kinds])
    at = np.concatenate([each.start if each.at is None else each.at for each in kinds])
    cuts = np.cumsum([0, *(len(each.row) for each in kinds)]).tolist()
    of_kind = [slice(first, last) for first, last in itertools.pairwise(cuts)]
    key = np.searchsorted(starts, row, side="right")
    columns = [key, at, start, end, stamped]
    # Events of one time have windows of one time: the first of one kind goes with the first of another.
    columns.append(np.concatenate([repetitions([column[rows] for column in columns]) for rows in of_kind]))
    order = np.lexsort(columns[::-1])
    new = differs(*(column[order] for column in columns))
    place = np.empty(len(order), np.intp)
    place[order] = np.cumsum(new) - 1
    kept = order[new]
    return Rows(row[kept], start[kept], end[kept], at[kept], stamped[kept], [place[rows] for rows in of_kind])


def repetitions(columns: list[NDArray[Any]]) -> Ints:
    """For each row, how many rows directly before it are equal to it."""
    fresh = np.flatnonzero(differs(*columns))
    return np.arange(len(columns[0])) - np.repeat(fresh, np.diff(np.append(fresh, len(columns[0]))))


def spread(columns: list[pa.Array | pa.ChunkedArray], places: list[Index], length: int) -> pa.Array | pa.ChunkedArray:
    """The results of an output over some kinds of windows, at their places in a column; null where none has one."""
    source = np.full(length, -1, np.int64)
    before = 0
    for column, place in zip(columns, places, strict=True):
        source[place] = before + np.arange(len(column))
        before += len(column)
    whole = joined(columns)
    return fitting(take(whole, pa.array(source, mask=source < 0)), whole.type)
