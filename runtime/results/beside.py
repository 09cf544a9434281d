"""Results beside the rows that each is of: one for each event of a chunk, or those of rows of another table."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from ...aggregators import loops
from ...aggregators.states.alike import are_numbers, are_ones, numbers
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import fitting, joined, of_numbers, one_array, plain_numbers, take
from ..columns.sorting import differs
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..plan.cells import Taken, values_of
from ..threads import at_once, parts_of
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
        rows = [
            window_of_each(found, view, events, windows.unit == "rows")
            for found, view, windows in zip(kinds, chunk.views, plan.axis.windows, strict=True)
        ]
    whole = list(map(are_numbers, rows))
    found = {
        Taken(name, number): column
        if whole[number] and len(rows[number]) == len(column)
        else at_rows(column, rows[number])
        for name, several in outputs
        for number, column in zip(plan.over[name], several, strict=True)
    }
    columns += [values_of(cell, found.__getitem__) for cell in plan.cells.values()]
    return pa.Table.from_arrays(columns, schema=plan.result_schema)


def labels_of(kinds: list[Ranges | Coverage]) -> tuple[Ints, list[Ints]]:
    """The labels that have a window of any kind, and the number of the window of each, for each kind; -1 for none."""
    found = [each.of for each in kinds if isinstance(each, Ranges) and each.of is not None]
    labels = found[0]
    if all(each is labels or np.array_equal(labels, each) for each in found):
        return labels, [numbers(len(labels)) for _ in found]
    labels = np.unique(np.concatenate(found))
    places = [np.full(len(labels), -1) for _ in found]
    for place, each in zip(places, found, strict=True):
        place[np.searchsorted(labels, each)] = np.arange(len(each))
    return labels, places


def events_of(chunk: Chunk) -> Ints:
    """The partial of each of the chunk's own events: others are there for their windows."""
    view = chunk.views[0]
    own = numbers(len(view.frames))
    if view.within is not None:
        own = own[(view.frames >= view.within[0]) & (view.frames <= view.within[1])]
    if chunk.plan.in_rows or are_ones(rows := view.window_inputs["rows"][own]):
        return own
    return np.repeat(own, rows)


def window_of_each(found: Ranges | Coverage, view: PartialsView, events: Ints, each_a_frame: bool) -> Ints:
    """The number of the window of each event, by its partial, which may be a frame by itself; -1 where it has none."""
    if len(found.row) == len(events) and (found.row == events).all():
        return numbers(len(events))
    if each_a_frame:
        own = np.full(len(view.frames), -1)
        own[found.row] = np.arange(len(found.row))
        return own if len(events) == len(own) else own[events]
    fresh = differs(view.frames)
    fresh[view.starts] = True
    frame = np.cumsum(fresh) - 1  # partials of one frame of this kind have the same windows
    window = np.full(int(frame[-1]) + 1 if len(frame) else 0, -1)
    window[frame[found.row]] = np.arange(len(found.row))
    found_for: Ints = window[frame[events]]
    return found_for


def at_rows(column: Column, rows: Ints) -> Column:
    """The values of a column at some rows; null at -1."""
    numbers = plain_numbers(column) if len(column) else None
    if numbers is None:
        none = rows < 0 if len(rows) and rows.min() < 0 else None
        return fitting(take(column, pa.array(rows, mask=none)), column.type)
    found, valid = np.empty(len(rows), f"i{numbers.itemsize}"), None
    if loops.take_words(numbers.view(found.dtype), rows, found) or column.null_count:
        whole = one_array(column)
        bits = whole.buffers()[0] and np.frombuffer(whole.buffers()[0], np.uint8)
        valid = np.empty((len(rows) + 7) // 8, np.uint8)
        loops.take_bits(bits, whole.offset, rows, valid)
    return of_numbers(found, column.type, valid)


def results_at(column: Column, rows: Ints) -> Column:
    """The same by several threads where rows are many; a column as it is where they are all of its own in order."""
    if len(rows) == len(column) and are_numbers(rows):
        return column
    return joined(at_once(lambda some: at_rows(column, rows[some]), parts_of(len(rows))))


def put_beside_labels(rows: pa.Table, results: pa.Table) -> pa.Table:
    """Labels with results beside them, whose first column is the number of the label; null without a result."""
    labels, place = one_array(results.column(0)).to_numpy(), None
    if not (len(labels) == len(rows) and are_numbers(labels)):
        place = np.full(len(rows), -1)
        place[labels] = np.arange(len(labels))
    return put_beside(rows, place, results.remove_column(0))


def put_beside(rows: pa.Table, place: Ints | None, results: pa.Table) -> pa.Table:
    """A table with the columns of another, for each row those at its place there (None: its own); null at -1."""
    columns = results.columns
    if place is not None:
        columns = [results_at(one_array(column), place) for column in columns]
    schema = pa.schema([*rows.schema, *results.schema], rows.schema.metadata)
    return pa.Table.from_arrays([*rows.columns, *columns], schema=schema)
