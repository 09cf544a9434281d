"""The rows of a result over several kinds of windows: each window once, with nulls where an output is not over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Bools, Index, Ints
from ...aggregators.states.large import fitting, joined, take
from ..columns.sorting import differs
from ..frames.partials_view import PartialsView
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


def lay_out(kinds: list[Ranges | Coverage], apart: list[int], view: PartialsView, of_intervals: bool) -> Rows:
    """The rows of several kinds of windows over some partials.

    Windows of two kinds have one row where their bounds and their events are the same, and so is the number of their
    kinds in ``apart``. Of intervals the bounds say which events a window has.
    """
    row, start, end = (np.concatenate([getattr(each, name) for each in kinds]) for name in ("row", "start", "end"))
    stamped = np.concatenate([np.full(len(each.row), each.at is not None) for each in kinds])
    at = np.concatenate([each.start if each.at is None else each.at for each in kinds])
    kind = np.repeat(np.arange(len(kinds)), [len(each.row) for each in kinds])
    key = np.searchsorted(view.starts, row, side="right")
    columns = [key, at, start, end, stamped, np.asarray(apart)[kind]]
    if not of_intervals:
        columns += [np.concatenate(each) for each in zip(*events_of(kinds, view), strict=True)]
    order = np.lexsort((kind, *columns[::-1]))
    fresh = differs(*(column[order] for column in columns))
    # Events of one time have windows of one time: the first of one kind goes with the first of another.
    of_kind = np.flatnonzero(fresh | differs(kind[order]))
    rank = np.arange(len(order)) - np.repeat(of_kind, np.diff(np.append(of_kind, len(order))))
    group = np.cumsum(fresh) - 1
    most = np.zeros(group[-1] + 1 if len(group) else 0, np.int64)
    np.maximum.at(most, group, rank)
    place = np.empty(len(order), np.int64)
    place[order] = (np.cumsum(most) - most + np.arange(len(most)))[group] + rank
    kept = np.empty(int((most + 1).sum()), np.int64)
    kept[place] = np.arange(len(place))
    cuts = np.cumsum([len(each.row) for each in kinds])[:-1]
    return Rows(row[kept], start[kept], end[kept], at[kept], stamped[kept], np.split(place, cuts))


def events_of(kinds: list[Ranges | Coverage], view: PartialsView) -> Iterator[tuple[Ints, Ints]]:
    """For each kind the first partial of each window and the one past its last, of those with events; -1 for none.

    That of windows that are no ranges of partials is not known.
    """
    rows, before = view.window_inputs.get("rows"), None
    if rows is not None and not rows.all():
        before = np.concatenate([[0], np.cumsum(rows > 0)])
    for each in kinds:
        if isinstance(each, Coverage):
            yield (np.zeros_like(each.row),) * 2
            continue
        low, high = (each.low, each.high) if before is None else (before[each.low], before[each.high])
        some = high > low
        yield np.where(some, low, -1), np.where(some, high, -1)


def spread(columns: list[pa.Array | pa.ChunkedArray], places: list[Index], length: int) -> pa.Array | pa.ChunkedArray:
    """The results of an output over some kinds of windows, at their places in a column; null where none has one."""
    source = np.full(length, -1, np.int64)
    before = 0
    for column, place in zip(columns, places, strict=True):
        source[place] = before + np.arange(len(column))
        before += len(column)
    whole = joined(columns)
    return fitting(take(whole, pa.array(source, mask=source < 0)), whole.type)
