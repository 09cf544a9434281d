"""Merged partials to results: ranges, slide, finish, and the columns of the answer."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..aggregators.fields import Objects, RaggedField
from .partials import FRAME, one_array, states_of
from .slide import slide
from .windows import Ints, Ranges

if TYPE_CHECKING:
    from .query import Query


BYTES, BYTES_OF_LISTS = 64 << 20, 4 << 20
"""Partials that are slid at a time; states that are lists grow while they slide."""


class Rows(NamedTuple):
    """The rows of a result: a partial of each one's key, its window's bounds, and which rows are which grid's."""

    row: Ints
    start: Ints
    end: Ints
    of_grid: list[NDArray[np.intp] | None]


def results(query: Query, partials: pa.Table, starts: NDArray[np.intp]) -> pa.Table:
    """The results of merged partials, some keys at a time, so that what sliding holds meanwhile stays in bounds.

    Parameters and result are those of :func:`results_of_keys`.
    """
    lists = any(
        isinstance(kind, (RaggedField, Objects)) for of in query.outputs.values() for kind in of.fields.values()
    )
    rows = max(1, (BYTES_OF_LISTS if lists else BYTES) * len(partials) // max(partials.nbytes, 1))
    groups = np.flatnonzero(np.diff(starts // rows, prepend=-1))
    tables = []
    for first, last in itertools.pairwise([*groups.tolist(), len(starts)]):
        begin = int(starts[first])
        end = int(starts[last]) if last < len(starts) else len(partials)
        tables.append(results_of_keys(query, partials.slice(begin, end - begin), starts[first:last] - begin))
    return pa.concat_tables(tables) if tables else results_of_keys(query, partials, starts)


def results_of_keys(query: Query, partials: pa.Table, starts: NDArray[np.intp]) -> pa.Table:
    """The results of merged partials of some keys.

    Parameters
    ----------
    query
        What is asked.
    partials
        One row for each (key, frame), sorted by them.
    starts
        The first row of each key.

    Returns
    -------
    Keys, window, outputs; sorted by key and window. An output that is not over a window is null there.
    """
    frames = one_array(partials.column(FRAME)).to_numpy()
    ranges = [query.line.ranges(number, frames, starts) for number in range(len(query.line.grids))]
    rows = lay_out(query, ranges, starts)
    taken = pa.array(rows.row)
    keys = [one_array(partials.column(name)).take(taken) for name in partials.column_names[: len(query.by)]]
    bounds = [query.times.bounds(ticks) for ticks in (rows.start, rows.end)]
    window = pa.StructArray.from_arrays(bounds, fields=list(query.result_schema.field("window").type))
    outputs = []
    for name, bound in query.outputs.items():
        states = states_of(partials, name, bound)
        over = query.over[name]
        finished = [bound.finish(slide(bound, states, ranges[each].low, ranges[each].high)) for each in over]
        outputs.append(spread(finished, [rows.of_grid[each] for each in over], len(rows.row)))
    return pa.Table.from_arrays([*keys, window, *outputs], schema=query.result_schema)


def lay_out(query: Query, ranges: list[Ranges], starts: NDArray[np.intp]) -> Rows:
    """The windows of all grids, each once, sorted by key, start and end."""
    grids = query.line.grids
    bounds = [grid.bounds(each.number) for grid, each in zip(grids, ranges, strict=True)]
    if len(grids) == 1:
        return Rows(ranges[0].row, *bounds[0], [None])
    row = np.concatenate([each.row for each in ranges])
    start, end = (np.concatenate(side) for side in zip(*bounds, strict=True))
    key = np.searchsorted(starts, row, side="right")
    order = np.lexsort((end, start, key))
    new = np.ones(len(order), bool)
    same = [column[order][1:] == column[order][:-1] for column in (key, start, end)]
    new[1:] = ~np.logical_and.reduce(same)
    place = np.empty(len(order), np.intp)
    place[order] = np.cumsum(new) - 1
    cuts = np.cumsum([len(each.row) for each in ranges])[:-1]
    kept = order[new]
    return Rows(row[kept], start[kept], end[kept], list(np.split(place, cuts)))


def spread(columns: list[pa.Array], places: list[NDArray[np.intp] | None], length: int) -> pa.Array:
    """Finished columns of several grids at their places in the result; null where none has one."""
    if places[0] is None:
        return columns[0]
    source = np.full(length, -1, np.int64)
    before = 0
    for column, place in zip(columns, places, strict=True):
        assert place is not None
        source[place] = before + np.arange(len(column))
        before += len(column)
    return pa.concat_arrays(columns).take(pa.array(source, mask=source < 0))
