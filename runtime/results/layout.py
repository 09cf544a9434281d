"""Merged partials to results: ranges, slide, finish, and the columns of the answer."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ..columns.key_codes import one_array
from ..intervals.coverage import cover
from ..intervals.lifespans import Lifespans, lifespans, states_of_lifespans
from ..partials.partials import FRAME, states_of
from ..sliding.scan import take
from ..sliding.slide import slide
from ..windows import Coverage, Ints, PartialsView, Ranges

if TYPE_CHECKING:
    from ..plan.plan import Plan


class Rows(NamedTuple):
    """The rows of a result: a partial of each one's key, bounds and time of its window, and which rows are whose."""

    row: Ints
    start: Ints
    end: Ints
    at: Ints | None
    stamped: NDArray[np.bool_] | None
    of_windows: list[NDArray[np.intp] | None]


def results_of_keys(
    plan: Plan, partials: pa.Table, starts: NDArray[np.intp], within: tuple[int, int] | None = None
) -> pa.Table:
    """The results of merged partials of some keys.

    Parameters
    ----------
    query
        What is asked.
    partials
        One row for each (key, frame), sorted by them.
    starts
        The first row of each key.
    within
        The first and the last window that are wanted, where not all are; see ``Windows.window_ids``.

    Returns
    -------
    Keys, window, outputs; sorted by key and window. An output that is not over a window is null there.
    """
    frames = one_array(partials.column(FRAME)).to_numpy()
    first = pa.array(starts)
    columns = [one_array(partials.column(name)) for name in partials.column_names[: len(plan.by)]]
    keys = tuple(column.take(first) for column in columns)
    window_inputs = window_inputs_of(plan, partials)
    windows: list[Ranges | Coverage | Lifespans]
    if plan.until is not None:
        view = PartialsView(frames, starts, window_inputs, keys)
        windows = [lifespans(each, view, window_inputs["first"], window_inputs["until"]) for each in plan.axis.windows]
    else:
        numbers = range(len(plan.axis.windows))
        windows = [plan.axis.ranges(number, frames, starts, window_inputs, keys, within) for number in numbers]
    rows = lay_out([each.ranges if isinstance(each, Lifespans) else each for each in windows], starts)
    taken = pa.array(rows.row)
    bounds = pa.StructArray.from_arrays(
        [plan.times.bounds(ticks) for ticks in (rows.start, rows.end)],
        fields=list(plan.result_schema.field("window").type),
    )
    answer = [*(column.take(taken) for column in columns), bounds]
    if plan.axis.stamped:
        assert rows.at is not None
        at = plan.times.bounds(rows.at)
        answer.append(at if rows.stamped is None else pc.if_else(pa.array(rows.stamped), at, pa.scalar(None, at.type)))
    for name, bound in plan.outputs.items():
        states = states_of(partials, name, bound)
        over = plan.over[name]
        slid = [states_over(bound, states, windows[each], plan.axis.windows[each].whole_frames) for each in over]
        finished = [bound.finish(each) for each in slid]
        answer.append(spread(finished, [rows.of_windows[each] for each in over], len(rows.row)))
    return pa.Table.from_arrays(answer, schema=plan.result_schema)


def window_inputs_of(plan: Plan, partials: pa.Table) -> dict[str, NDArray[Any]]:
    """What the windows must know of each partial."""
    return {
        name[1:]: bound.finish(states_of(partials, name, bound)).to_numpy()
        for name, bound in plan.window_inputs.items()
    }


def states_over(bound: BoundAggregate, states: State, windows: Ranges | Coverage | Lifespans, whole: bool) -> State:
    """The state of each window: slid over ranges of rows, or covered by the rows whose runs take it in."""
    if isinstance(windows, Lifespans):
        return states_of_lifespans(bound, states, windows, whole)
    if isinstance(windows, Ranges):
        return slide(bound, states, windows.low, windows.high)
    rows = np.flatnonzero(windows.first <= windows.last)
    return cover(bound, take(states, rows), windows.first[rows], windows.last[rows], len(windows.row))


def lay_out(ranges: list[Ranges | Coverage], starts: Ints) -> Rows:
    """The windows of all kinds, each once, sorted by key, the time they are stamped with, start and end."""
    if len(ranges) == 1:
        each = ranges[0]
        return Rows(each.row, each.start, each.end, each.at, None, [None])
    row, start, end = (np.concatenate([each[column] for each in ranges]) for column in (2, 3, 4))
    stamped = np.concatenate([np.full(len(each.row), each.at is not None) for each in ranges])
    at = np.concatenate([each.start if each.at is None else each.at for each in ranges])
    key = np.searchsorted(starts, row, side="right")
    columns = [key, at, start, end, stamped]
    # Events of one time have windows of one time: the first of one kind goes with the first of another.
    columns.append(np.concatenate([repetitions([column[part] for column in columns]) for part in parts(ranges)]))
    order = np.lexsort(columns[::-1])
    new = np.ones(len(order), bool)
    new[1:] = ~np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in columns])
    place = np.empty(len(order), np.intp)
    place[order] = np.cumsum(new) - 1
    kept = order[new]
    of = [place[part] for part in parts(ranges)]
    return Rows(row[kept], start[kept], end[kept], at[kept], stamped[kept], list(of))


def parts(ranges: list[Ranges | Coverage]) -> list[slice]:
    """Where each kind's windows are among those of all kinds, one kind after the other."""
    cuts = np.cumsum([0, *(len(each.row) for each in ranges)]).tolist()
    return [slice(first, last) for first, last in itertools.pairwise(cuts)]


def repetitions(columns: list[NDArray[Any]]) -> Ints:
    """How many rows just before each one are equal to it."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    same = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    fresh = np.flatnonzero(np.concatenate([[True], ~same]))
    return np.arange(len(columns[0])) - np.repeat(fresh, np.diff(np.append(fresh, len(columns[0]))))


def spread(columns: list[pa.Array], places: list[NDArray[np.intp] | None], length: int) -> pa.Array:
    """Finished columns of several kinds of windows at their places in the result; null where none has one."""
    if places[0] is None:
        return columns[0]
    source = np.full(length, -1, np.int64)
    before = 0
    for column, place in zip(columns, places, strict=True):
        assert place is not None
        source[place] = before + np.arange(len(column))
        before += len(column)
    return pa.concat_arrays(columns).take(pa.array(source, mask=source < 0))
