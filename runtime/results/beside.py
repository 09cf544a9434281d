"""Results beside the rows that each is of: one for each event of a chunk, or those of rows of another table."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from ...aggregators.states.alike import are_numbers, numbers
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import fitting, one_array, take
from ..columns.sorting import differs
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..plan.cells import Taken, values_of
from .chunks import Chunk
from .over_ranges import Column


def beside(chunk: Chunk, kinds: list[Ranges | Coverage], outputs: Iterable[tuple[str, list[Column]]]) -> pa.Table:
    """The results of a chunk: beside events one row for each, by key and time; beside labels their numbers first.

    Parameters
    ----------
    chunk
        The partials that the windows are over: of all events.
    kinds
        The windows of each kind.
    outputs
        The name of each output, and its results over each kind that it is over.
    """
    plan = chunk.plan
    if plan.axis.beside == "step":
        (first, *_), rows = kinds, [numbers(len(each.row)) for each in kinds]
        assert first.at is not None
        columns = chunk.keys_of(first.row)
        columns.append(plan.times.bounds(first.at))
    elif plan.axis.beside == "label":
        labels, rows = labels_of(kinds)
        columns = [pa.array(labels)]
    else:
        events, columns = events_of(chunk), []
        rows = [window_of_each(found, view, events) for found, view in zip(kinds, chunk.views, strict=True)]
    found = {
        Taken(name, number): at_rows(column, rows[number])
        for name, several in outputs
        for number, column in zip(plan.over[name], several, strict=True)
    }
    columns += [values_of(cell, found.__getitem__) for cell in plan.cells.values()]
    return pa.Table.from_arrays(columns, schema=plan.result_schema)


def labels_of(kinds: list[Ranges | Coverage]) -> tuple[Ints, list[Ints]]:
    """The labels that have a window of any kind, and the number of the window of each, for each kind; -1 for none."""
    found = [each.of for each in kinds if isinstance(each, Ranges) and each.of is not None]
    labels = found[0]
    if all(np.array_equal(labels, each) for each in found):
        return labels, [numbers(len(labels)) for _ in found]
    labels = np.unique(np.concatenate(found))
    places = [np.full(len(labels), -1) for _ in found]
    for place, each in zip(places, found, strict=True):
        place[np.searchsorted(labels, each)] = np.arange(len(each))
    return labels, places


def events_of(chunk: Chunk) -> Ints:
    """The partial of each of the chunk's own events: others are there for their windows."""
    view = chunk.views[0]
    own = np.arange(len(view.frames))
    if view.within is not None:
        own = own[(view.frames >= view.within[0]) & (view.frames <= view.within[1])]
    return own if chunk.plan.in_rows else np.repeat(own, view.window_inputs["rows"][own])


def window_of_each(found: Ranges | Coverage, view: PartialsView, events: Ints) -> Ints:
    """The number of the window of each event, by its partial; -1 where it has none."""
    if len(found.row) == len(events) and (found.row == events).all():
        return numbers(len(events))
    fresh = differs(view.frames)
    fresh[view.starts] = True
    frame = np.cumsum(fresh) - 1  # partials of one frame of this kind have the same windows
    window = np.full(int(frame[-1]) + 1 if len(frame) else 0, -1)
    window[frame[found.row]] = np.arange(len(found.row))
    found_for: Ints = window[frame[events]]
    return found_for


def at_rows(column: Column, rows: Ints) -> pa.Array | pa.ChunkedArray:
    """The values of a column at some rows; null at -1."""
    if len(rows) == len(column) and are_numbers(rows):
        return column
    return fitting(take(column, pa.array(rows, mask=rows < 0)), column.type)


def put_beside(rows: pa.Table, numbers: Ints, results: pa.Table) -> pa.Table:
    """A table with the columns of another, whose rows are for those of some numbers; null in the others."""
    if not (len(numbers) == len(rows) and are_numbers(numbers)):
        place = np.full(len(rows), -1)
        place[numbers] = np.arange(len(numbers))
        taken = [at_rows(one_array(column), place) for column in results.columns]
        results = pa.Table.from_arrays(taken, schema=results.schema)
    for field, column in zip(results.schema, results.columns, strict=True):
        rows = rows.append_column(field, column)
    return rows
