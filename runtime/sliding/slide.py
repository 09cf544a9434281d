"""Sliding: one state for each window range, at a cost that does not depend on how far the ranges overlap.

- ``"kernels"``: each field by numpy functions, for the operations that name them (``ufuncs``). Sums are differences of
  running sums (:mod:`framefold.runtime.sliding.prefix_sums`); idempotent functions join overlapping spans
  (:mod:`framefold.runtime.sliding.sparse_table`).
- ``"deduct"``: differences of running states.
- ``"two-stacks"``: the segments of M. van Herk, "A fast algorithm for local minimum and maximum filters", 1992, and
  J. Gil and M. Werman, "Computing 2-D min, median, and max filters", 1993: states of the ends of segments up to
  an edge, of beginnings from it, and one combine a window.
- ``"deduct or two-stacks"``: deduct, and two-stacks for long runs of many ranges, which take fewer calls so.
- ``"range tree"``: ranges in any order.
- ``"values"``: no states slide, as the operation answers ranges of its values (``finish_ranges``).

Ranges that only grow are beginnings of segments, whichever way is chosen.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Bools, Index, Ints
from ...aggregators.states.fields import Column, Compensated
from ...aggregators.states.limbs import Exact
from ...aggregators.states.rows import join, replace, replace_in_place, take
from ..plan.plan import Plan
from ..tuning import MANY_RANGES, MIN_WINDOWS
from .deduct import by_deduct, too_long
from .prefix_sums import float_sums, int_sums
from .range_facts import RangeFacts, ascending
from .range_tree import by_range_tree
from .sparse_table import extremes
from .tiles import Tile, Workspace
from .two_stacks import by_growing, by_two_stacks, growing_windows
from .van_herk import SideBySide, by_stacks_side_by_side, has_columns, side_by_side

Way = Literal["values", "kernels", "deduct", "two-stacks", "deduct or two-stacks", "range tree"]


def way_in_words(plan: Plan, output: str, number: int) -> str:
    """How an output slides over one kind of windows, by its number on the axis, with cost and reason."""
    bound, windows = plan.states[output], plan.axis.windows[number]
    way, (deducts, why) = way_of(bound), bound.deducts
    if windows.frames_in_window == 1 and len(plan.axis.windows) == 1:
        return "slides by nothing to slide (no element operations): a window is one frame"
    if bound.answers_ranges and (windows.forward or bound.operation.answers_nested):
        return f"is answered over ranges of its values, without a state a window (cost: {bound.operation.range_cost})"
    if not windows.forward and way_of_states(bound) != "kernels":
        return "slides by a range tree (O(log n) element operations a window) where windows move back: they may"
    cost = "2 element operations a window" if deducts else "at most 3 element operations a window"
    words = f"slides by {'deduct' if deducts else 'two-stacks'} ({cost}): {why}"
    if way == "kernels":
        words += "; by kernels, without calls"
    elif way == "deduct or two-stacks" and has_columns(bound):
        words += "; long runs of windows by two-stacks side by side (3), in fewer calls"
    return words


def way_of(operation: BoundAggregate) -> Way:
    """The way in which windows slide; by others than kernels, those that do not move forward by the range tree."""
    if operation.answers_ranges:
        return "values"
    return way_of_states(operation)


def way_of_states(operation: BoundAggregate) -> Way:
    """The way in which states slide, whether or not the operation is answered without them."""
    if operation.has_kernels:
        return "kernels"
    return "deduct or two-stacks" if operation.deducts[0] else "two-stacks"


def slide(operation: BoundAggregate, states: State, ranges: RangeFacts, way: Way | None = None) -> State:
    """The states of window ranges.

    Parameters
    ----------
    operation
        What combines and deducts.
    states
        Partials, one state a row, sorted by key and frame.
    ranges
        The half-open ranges of rows, in any order; there may be none. The state of an empty range is the identity.
    way
        How they slide; that of :func:`way_of` where None. Ranges that lie within one another slide by the range tree,
        unless by kernels, for which they need no order.

    Returns
    -------
    One state for each range, shape (ranges,): by at most 2 element operations a range for deduct and 3 for two-stacks
    as long as there are no more rows than ranges (running states that start anew add one in 64 at most), and for the
    range tree by at most 2 log2(width) a range and one for each row.

    Examples
    --------
    >>> import framefold as ff
    >>> import pyarrow as pa
    >>> most = BoundAggregate("most", ff.Max("x"), [pa.int64()])
    >>> states = {"value": np.array([3, 1, 4, 1, 5]), "seen": np.ones(5, bool)}
    >>> slide(most, states, RangeFacts(np.array([0, 1, 2]), np.array([2, 4, 5])))["value"].tolist()
    [3, 4, 5]
    >>> slide(most, states, RangeFacts(np.array([1, 0, 3]), np.array([2, 5, 4])))["value"].tolist()
    [1, 5, 1]
    """
    low, high = ranges.low, ranges.high
    if not len(low):
        return take(states, slice(0, 0))
    way = way_of_states(operation) if way in (None, "values") else way
    if not ranges.none_empty:
        filled, some = ranges.filled
        return operation.scatter(len(low), filled, slide(operation, states, some, way))
    if ranges.of_one_row:
        return take(states, low)
    if way == "range tree":
        return by_range_tree(operation, states, low, high)
    if way == "kernels":
        slid, doubtful = by_kernels(operation, states, ranges)
        if not len(doubtful):
            return slid
        begin, end = low[doubtful], high[doubtful]
        if ranges.ascending:
            return replace(slid, doubtful, by_two_stacks(operation, states, begin, end))
        return replace(slid, doubtful, slide(operation, states, RangeFacts(begin, end), "two-stacks"))
    if not ranges.ascending:
        return in_order(operation, states, low, high, way)
    # Running states take a call for each row of a run: where runs are long, a third operation a window costs less.
    least = MIN_WINDOWS if way == "two-stacks" else MANY_RANGES
    runs = None if way == "deduct" else side_by_side(operation, low, high, ranges.first, least)
    if runs is not None:
        return by_runs(operation, states, low, high, runs)
    return by_calls(operation, states, low, high, way)


def in_order(operation: BoundAggregate, states: State, low: Ints, high: Ints, way: Way) -> State:
    """Slide ranges that do not ascend as they come: sorted, or by the range tree where some lie within others."""
    order = np.lexsort((high, low))
    if not ascending(high[order]):
        return by_range_tree(operation, states, low, high)
    back = np.empty(len(order), np.intp)
    back[order] = np.arange(len(order))
    return take(slide(operation, states, RangeFacts(low[order], high[order]), way), back)


def by_calls(operation: BoundAggregate, states: State, low: Ints, high: Ints, way: Way) -> State:
    """Slide forward in calls of the operation, ranges that only grow by growing."""
    growing = growing_windows(low, high)
    if growing.all():
        return by_growing(operation, states, low, high)
    deducts = way == "deduct" or (way == "deduct or two-stacks" and not too_long(low, high))
    forward = by_deduct if deducts else by_two_stacks
    if not growing.any():
        return forward(operation, states, low, high)
    grown = by_growing(operation, states, low[growing], high[growing])
    slid = forward(operation, states, low[~growing], high[~growing])
    return take(join([grown, slid]), np.where(growing, np.cumsum(growing), np.cumsum(~growing) + growing.sum()) - 1)


def by_kernels(operation: BoundAggregate, states: State, facts: RangeFacts) -> tuple[State, Index]:
    """The states of windows, and the windows whose floats must be summed in another way.

    Parameters
    ----------
    operation
        One that ``has_kernels``.
    states
        One state a row.
    facts
        Of the ranges: none is empty.
    """
    slid = {key: empty_like(column, len(facts.low), rounds(operation)) for key, column in states.items()}
    doubtful = [np.empty(0, np.intp)]
    work, functions = Workspace(), operation.ufuncs
    for tile in facts.tiles:
        rows, windows = slice(tile.begin, tile.end), slice(tile.first, tile.last)
        for key, column in states.items():
            doubt = _slide(functions[key], column[rows], tile, work, slid[key][windows])
            if doubt is not None:
                doubtful.append(np.flatnonzero(doubt) + tile.first)
    places, order = np.unique(np.concatenate(doubtful)) if len(doubtful) > 1 else doubtful[0], facts.order
    if order is None:
        return slid, places
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return take(slid, back), np.sort(order[places])


def rounds(operation: BoundAggregate) -> bool:
    """Whether sums of floats are rounded to one, as they are results."""
    return bool(getattr(operation.operation, "rounds", False))


def empty_like(column: Column, length: int, rounded: bool = False) -> Column:
    """An uninitialized column of the kind of another; where ``rounded``, sums of floats have low floats of 0."""
    if isinstance(column, Compensated):
        special = None if column.special_values is None else np.empty((length, column.special_values.shape[1]))
        return Compensated(np.empty(length), np.broadcast_to(0.0, length) if rounded else np.empty(length), special)
    if isinstance(column, Exact):
        return Exact([np.empty(length, np.int64) for _ in column.limbs])
    return np.empty(length, cast(NDArray[Any], column).dtype)


def _slide(function: np.ufunc, column: Column, tile: Tile, work: Workspace, out: Column) -> Bools | None:
    """Slide one field of one tile; a mask of its doubtful windows, or None if there are none."""
    if isinstance(column, Compensated):
        return float_sums(column, tile, work, cast(Compensated, out))
    if isinstance(column, Exact):
        for limb, sums in zip(column.limbs, cast(Exact, out).limbs, strict=True):
            int_sums(limb, tile, work, sums)
    elif function is np.add:
        int_sums(cast(Any, column), tile, work, cast(Any, out))
    else:
        extremes(cast(NDArray[Any], column), function, tile, work, cast(NDArray[Any], out))
    return None


def by_runs(operation: BoundAggregate, states: State, low: Ints, high: Ints, runs: SideBySide) -> State:
    """Slide long regular runs as a matrix of segments, and the remaining windows by two-stacks."""
    slid = {key: empty_like(column, len(low)) for key, column in states.items()}
    by_stacks_side_by_side(operation, states, runs, slid)
    if not len(runs.others):
        return slid
    others = slide(operation, states, RangeFacts(low[runs.others], high[runs.others]), "two-stacks")
    return replace_in_place(slid, runs.others, others)
