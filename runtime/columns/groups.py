"""Which rows have equal values in several columns: their groups, found by counting or by sorting.

Columns come as codes (:class:`~framefold.runtime.columns.key_codes.Coded`). Groups are found by counting where few are
possible, in tiles of rows that fit the cache, else by sorting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.ranges.item_ranges import ascends, rises
from ...aggregators.states.alike import numbers, ones
from ...aggregators.states.arrays import Index, Ints
from ..tuning import FEW_PLACES, KEY_TILE_ROWS, MAX_PLACES, MAX_SPARSE, MIN_SORTED_RUN, ORDER_SAMPLE, ROWS_PER_GROUP
from .key_codes import MAX_PACKED, Coded, codes_of_tile, pack, packed, subtract
from .sorting import differs, groups_by_runs, groups_by_sorting, stable_order


@dataclass(frozen=True)
class Groups:
    """Rows in groups.

    Parameters
    ----------
    index
        The group of each row.
    size
        The number of groups.
    counts
        The number of rows of each group; None where unknown: groups may then be empty.
    values
        The groups' values of each column.
    starts
        The first group of each value of the first column, where each row is a group, sorted by the columns as they
        are given; None where that is not known.
    """

    index: Index
    size: int
    counts: Ints | None
    values: list[Any]
    starts: Index | None = None


def assign(
    frames: Sequence[Coded],
    keys: Sequence[Coded],
    rows: int,
    *,
    counting: bool = True,
    in_place: bool = False,
    by_key: bool = False,
) -> Groups:
    """Group one row or more by equal values in all columns.

    Groups are sorted by frame, then key: events that follow one another in time then add to neighbouring states. Where
    there are too many for that, rows are sorted by key, then frame, as merged partials are.

    Parameters
    ----------
    counting
        Whether every group must have a row. If not, groups may be all possible ones.
    in_place
        Whether the codes of the first column, an array of int64, may be overwritten with the index.
    by_key
        Whether to sort in any case: for events that are in the order of keys, then frames.
    """
    columns = [*frames, *keys]
    size = math.prod(column.count for column in columns)
    alone = columns and rows // ROWS_PER_GROUP < size == columns[0].count
    if alone and rises(columns[0].codes):  # each row is a group
        return Groups(numbers(rows), rows, ones(rows), [each.values_of_rows() for each in columns])
    if by_key or size > max(MAX_SPARSE, rows):
        found = by_sorting([*keys, *frames], rows)
        return replace(found, values=found.values[len(keys) :] + found.values[: len(keys)])
    index = columns[0].codes if in_place else np.empty(rows, np.intp) if columns else np.zeros(rows, np.intp)
    return by_counting(index, columns, size, counting or size > rows // ROWS_PER_GROUP)


def by_counting(index: Index, columns: Sequence[Coded], size: int, counting: bool) -> Groups:
    """The groups of :func:`assign` by counting, where ``size``, the number possible, is small; fills ``index``."""
    counts = np.zeros(size, np.int64) if counting else None
    for start in range(0, len(index), KEY_TILE_ROWS):
        codes = codes_of_tile(index, columns, slice(start, start + KEY_TILE_ROWS))
        if counts is not None:
            np.add.at(counts, codes, 1)
    if counts is None:
        return Groups(index, size, None, values_of(columns, np.arange(size)))
    codes = np.flatnonzero(counts)
    if len(codes) < size:
        places = np.zeros(size, np.intp)
        places[codes] = np.arange(len(codes))
        for start in range(0, len(index), KEY_TILE_ROWS):
            part = index[start : start + KEY_TILE_ROWS]
            part[:] = places[part]
        counts = counts[codes]
    return Groups(index, len(codes), counts, values_of(columns, codes))


def values_of(columns: Sequence[Coded], codes: Ints) -> list[Any]:
    """The values of each column, unpacked from codes of all columns."""
    values: list[Any] = []
    for column in reversed(columns):
        rest = codes // column.count  # which numpy does in much less time than divmod
        values.append(column.values(codes - rest * column.count))
        codes = rest
    return values[::-1]


def by_sorting(columns: Sequence[Coded], rows: int) -> Groups:
    """The groups of :func:`assign` by sorting, for any number of them."""
    if len(columns) == 2 and (starts := starts_if_sorted(columns[0].codes, columns[1].codes)) is not None:
        values = [each.values_of_rows() for each in columns]  # each row is a group
        # The codes of numbers are in their order.
        return Groups(numbers(rows), rows, ones(rows), values, None if columns[0].of_rows is None else starts)
    codes, size = pack([(subtract(column.codes, column.least), column.count) for column in columns], rows)
    if rises(codes):
        return Groups(numbers(rows), rows, ones(rows), [each.values_of_rows() for each in columns])
    if ascends(codes):
        new = differs(codes)
        index, first = np.cumsum(new) - 1, np.flatnonzero(new)
        counts, found = np.diff(first, append=rows), codes[first]
    else:
        index, first, counts, found = groups_by_sorting(codes, size)
    if size == math.prod(column.count for column in columns):
        values = values_of(columns, found)
    else:  # codes were made dense to be packed
        values = [column.values(subtract(column.codes[first], column.least)) for column in columns]
    return Groups(index, len(first), counts, values)


def starts_if_sorted(first: NDArray[Any], second: NDArray[Any]) -> Index | None:
    """Where the values of the first column begin, if rows are sorted by two columns and all differ; else None."""
    fresh = differs(first)
    starts = np.flatnonzero(fresh)
    if not rises(first[starts]):
        return None
    return starts if (fresh[1:] | (second[1:] > second[:-1])).all() else None


class SortedGroups(NamedTuple):
    """Rows in groups that are put in the order of keys, then frames.

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


def sorted_groups(keys: Sequence[Coded], frames: Sequence[Coded], rows: int) -> SortedGroups:
    """Rows of equal keys and frames in groups; codes of keys are in the order of keys."""
    size, of_frames = (math.prod(column.count for column in columns) for columns in ([*keys, *frames], frames))
    if size > MAX_PACKED:
        columns = [(subtract(column.codes, column.least), column.count) for column in (*keys, *frames)]
        return SortedGroups(*grouped(*pack(columns, rows)), None)
    of_keys = size // of_frames
    if of_keys == len(frames) == 1 and rises(frames[0].codes):
        return SortedGroups(each := np.arange(rows), each, None)
    if of_keys == 1 or not by_frame(keys, frames):
        return SortedGroups(*grouped(packed([*keys, *frames], rows), size), None)
    codes = packed([*frames, *keys], rows)
    found = grouped(codes.copy(), size)
    ordered = np.divmod(codes[found[1]], of_keys)
    return SortedGroups(*found, in_order(ordered[1] * of_frames + ordered[0], size))


def by_frame(keys: Sequence[Coded], frames: Sequence[Coded]) -> bool:
    """Whether rows are in the order of frames, and not of keys, as far as the first ones show."""
    some = min(ORDER_SAMPLE, len(frames[0].codes))
    first, key = (packed([each.at(slice(some)) for each in columns], some) for columns in (frames, keys))
    return ascends(first) and not ascends(key)


def in_order(codes: Ints, size: int) -> Ints:
    """The order of different codes below ``size``."""
    if not have_places(size, len(codes)):
        return stable_order(codes, size)
    places: NDArray[Any] = np.full(size, -1, np.int32 if len(codes) < 1 << 31 else np.int64)
    places[codes] = np.arange(len(codes))
    return places[places >= 0].astype(np.intp)


def grouped(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The group of each row, and the first row of each group: rows of one code, in the order of the codes.

    The codes, from 0 to below ``size``, may be overwritten.
    """
    above = codes[1:] > codes[:-1]
    if above.all():
        return (rows := np.arange(len(codes))), rows
    if have_places(size, len(codes)):
        return in_places(codes, size)
    runs = len(codes) - np.count_nonzero(above)
    if runs * MIN_SORTED_RUN > len(codes):
        return groups_by_sorting(codes, size)[:2]
    return groups_by_runs(codes, [0, *(np.flatnonzero(~above) + 1).tolist(), len(codes)])


def have_places(size: int, rows: int) -> bool:
    """Whether each possible group of some rows has a place in an array."""
    return size < 1 << 31 and size <= max(MAX_PLACES * rows, FEW_PLACES)


def in_places(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """As :func:`grouped`, with a place for each code."""
    numbers = np.zeros(size, np.int32)
    first = np.empty(loops.number_codes(codes, numbers), np.intp)
    loops.number_rows(codes, numbers, first)
    return codes, first
