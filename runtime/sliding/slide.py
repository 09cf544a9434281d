"""Sliding: one state for each window range, at a cost that does not depend on how far the ranges overlap.

- ``"kernels"``: each field by numpy functions, for the operations that name them (``ufuncs``).
- ``"deduct"``: differences of running states.
- ``"two-stacks"``: the block scan of M. van Herk, "A fast algorithm for local minimum and maximum filters", 1992, and
  J. Gil and M. Werman, "Computing 2-D min, median, and max filters", 1993: states of block ends up to an edge, of block
  beginnings from it, and one combine a window.
- ``"deduct or two-stacks"``: deduct, and two-stacks for long runs of many ranges, which take fewer calls so.
- ``"range tree"``: ranges in any order.

Ranges that only grow are beginnings of blocks, whichever way is chosen.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.compensated import Compensated
from ...aggregators.states.rows import join, replace, take
from .block_scan import MIN_WINDOWS, SideBySide, by_stacks_side_by_side, side_by_side
from .kernels import by_kernels, empty_like, has_kernels
from .range_blocks import ascending, none_empty, runs_by_a_row
from .range_tree import by_range_tree
from .scan import Scan, beginnings, in_parts, piece_size, scanned

Ints = NDArray[np.int64]
Way = Literal["kernels", "deduct", "two-stacks", "deduct or two-stacks", "range tree"]

RESTART_ROWS = 1 << 14
"""The fewest rows after which running states start anew, so that many of them run side by side.

Each new start costs as many extra combines as a window has rows. The first and last windows of a run make up for twice
that, so up to three times as many rows the bound of 2 element operations a window holds strictly."""

MANY_RANGES = 3 * RESTART_ROWS
"""The most ranges that slide by deduct however long their runs are, where two-stacks may be taken instead."""

CALL_COST = 1000
"""The cost of a call, in element operations."""

ROUNDING = 2.0**-53


def way_of(operation: BoundAggregate) -> Way:
    """The way in which the windows of an operation slide; where ranges do not move forward, it is the range tree."""
    if has_kernels(operation):
        return "kernels"
    return "deduct or two-stacks" if operation.deducts[0] else "two-stacks"


def slide(operation: BoundAggregate, states: State, low: Ints, high: Ints, way: Way | None = None) -> State:
    """The states of window ranges.

    Parameters
    ----------
    operation
        What combines and deducts.
    states
        Partials, one state a row, sorted by key and frame.
    low, high
        The half-open ranges of rows, shape (ranges,), in any order. The state of an empty range is the identity.
    way
        How they slide; that of :func:`way_of` where None. Ranges that lie within one another slide by the range tree.

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
    >>> slide(most, states, np.array([0, 1, 2]), np.array([2, 4, 5]))["value"].tolist()
    [3, 4, 5]
    >>> slide(most, states, np.array([1, 0, 3]), np.array([2, 5, 4]))["value"].tolist()
    [1, 5, 1]
    """
    if not len(low):
        return take(states, slice(0, 0))
    way = way_of(operation) if way is None else way
    first = runs_by_a_row(low, high)
    if not none_empty(low, high, first):
        filled = np.flatnonzero(high > low)
        return operation.scatter(len(low), filled, slide(operation, states, low[filled], high[filled], way))
    if way == "range tree":
        return by_range_tree(operation, states, low, high)
    if not (ascending(low, first) and ascending(high, first)):
        order = np.lexsort((high, low))
        if not ascending(high[order]):
            return by_range_tree(operation, states, low, high)
        back = np.empty(len(order), np.intp)
        back[order] = np.arange(len(order))
        return take(slide(operation, states, low[order], high[order], way), back)
    if way == "kernels":
        slid, doubtful = by_kernels(operation, states, low, high, first)
        if not len(doubtful):
            return slid
        return replace(slid, doubtful, by_two_stacks(operation, states, low[doubtful], high[doubtful]))
    # Running states take a call for each row of a run: where runs are long, a third operation a window costs less.
    long = None
    if way != "deduct":
        long = side_by_side(operation, low, high, first, MIN_WINDOWS if way == "two-stacks" else MANY_RANGES)
    if long is not None:
        return by_runs(operation, states, low, high, long)
    growing = _growing(low, high)
    if growing.all():
        return by_growing(operation, states, low, high)
    deducts = way == "deduct" or (way == "deduct or two-stacks" and not _too_long(low, high))
    forward = by_deduct if deducts else by_two_stacks
    if not growing.any():
        return forward(operation, states, low, high)
    grown = by_growing(operation, states, low[growing], high[growing])
    slid = forward(operation, states, low[~growing], high[~growing])
    return take(join([grown, slid]), np.where(growing, np.cumsum(growing), np.cumsum(~growing) + growing.sum()) - 1)


def by_runs(operation: BoundAggregate, states: State, low: Ints, high: Ints, runs: SideBySide) -> State:
    """The blocks of long runs side by side; the other windows by two-stacks."""
    slid = {key: empty_like(column, len(low)) for key, column in states.items()}
    by_stacks_side_by_side(operation, states, runs, slid)
    if len(runs.others):
        others = slide(operation, states, low[runs.others], high[runs.others], "two-stacks")
        for key, column in slid.items():
            cast(NDArray[Any], column)[runs.others] = cast(NDArray[Any], others[key])
    return slid


def runs(low: Ints, high: Ints, most: int, weight: Ints | None = None) -> tuple[Ints, Ints]:
    """First and past-the-last windows of runs: from one that shares no row with the window before it, on.

    Runs that weigh more than ``most`` are split; ``weight`` is cumulative, by default 1 a window.
    """
    first = np.flatnonzero(np.concatenate([[True], low[1:] >= high[:-1]]))
    last = np.append(first[1:], len(low))
    weight = np.arange(len(low)) if weight is None else weight
    parts = -(-(weight[last - 1] - weight[first] + 1) // most)
    if (parts > 1).any():
        parts = np.minimum(parts, last - first)
        run = np.repeat(np.arange(len(first)), parts)
        part = np.arange(len(run)) - np.repeat(np.cumsum(parts) - parts, parts)
        first = first[run] + part * (last - first)[run] // parts[run]
        last = np.append(first[1:], len(low))
    return first, last


def _growing(low: Ints, high: Ints) -> NDArray[np.bool_]:
    """The windows of runs with one beginning, which need neither deduct nor a second stack.

    Such runs among others slide separately only where they are long.
    """
    first, last = runs(low, high, len(low))
    grows = low[first] == low[last - 1]
    lengths = (high[last - 1] - low[first])[grows]
    if not grows.all() and piece_size(lengths) >= lengths.max(initial=1):
        grows[:] = False
    return np.repeat(grows, last - first)


def _too_long(low: Ints, high: Ints) -> bool:
    """Whether calls for the running states of the rows of runs would cost more than a third operation a window."""
    if len(low) <= MANY_RANGES:
        return False
    first, last = runs(low, high, max(RESTART_ROWS, 64 * int((high - low).max())), weight=high)
    return int((high[last - 1] - low[first]).max()) * CALL_COST > len(low)


def by_growing(operation: BoundAggregate, states: State, low: Ints, high: Ints) -> State:
    """The beginnings of runs: at most one combine for each row and one for each window."""
    first, last = runs(low, high, len(low))
    run = np.repeat(np.arange(len(first)), last - first)
    return beginnings(operation, states, low[first], high[last - 1] - low[first], run, high - low)


def by_deduct(operation: BoundAggregate, states: State, low: Ints, high: Ints) -> State:
    """Combine the leading rows into a running state, and deduct the running state of the rows before the window."""
    first, _ = runs(low, high, max(RESTART_ROWS, 64 * int((high - low).max())), weight=high)
    return in_parts(_deduct_in_runs, operation, states, low, high, first)


def _deduct_in_runs(operation: BoundAggregate, states: State, low: Ints, high: Ints, first: Ints) -> State:
    """Windows by deduct, some runs at a time."""
    last = np.append(first[1:], len(low))
    start = low[first]
    running = Scan(operation, states, start, high[last - 1] - start)
    run = np.repeat(np.arange(len(first)), last - first)
    slid = take(running.states, running.position(run, high - start[run]))
    trailing = np.flatnonzero(low > start[run])
    if not len(trailing):
        return slid
    before = take(running.states, running.position(run[trailing], (low - start[run])[trailing]))
    difference = operation.deduct(take(slid, trailing), before)
    doubtful = _doubtful(operation, running, run[trailing], difference)
    if doubtful.any():
        again = trailing[doubtful]
        rebuilt = by_two_stacks(operation, states, low[again], high[again])
        difference = replace(difference, np.flatnonzero(doubtful), rebuilt)
    return replace(slid, trailing, difference)


def _doubtful(operation: BoundAggregate, running: Scan, run: Ints, difference: State) -> NDArray[np.bool_]:
    """Which differences of compensated sums a pair of floats may have been too short for.

    Each addition loses at most a few 2**-106 of the largest running sum; as soon as all of them together could be
    seen in the result, the window is rebuilt from its own frames.
    """
    doubtful = np.zeros(len(run), bool)
    longest = np.diff(running.offsets)
    additions = 8.0 * ROUNDING * ROUNDING * len(longest)
    run_of_state = np.empty(len(running.rank), np.int64)
    run_of_state[running.rank] = np.arange(len(running.rank))
    run_of_state = run_of_state[np.arange(running.offsets[-1]) - np.repeat(running.offsets[:-1], longest)]
    for key in operation.compensated:
        sums, result = running.states[key], difference[key]
        assert isinstance(sums, Compensated)
        assert isinstance(result, Compensated)
        largest = np.zeros(len(running.rank))
        np.maximum.at(largest, run_of_state, sums.magnitude())
        lost = largest[run] * additions
        doubtful |= ~(lost <= ROUNDING * np.abs(result.high))
    return doubtful


def by_two_stacks(operation: BoundAggregate, states: State, low: Ints, high: Ints) -> State:
    """Combine the end of one block of rows with the beginning of the next.

    As with two stacks, an edge is set where a window ends once nothing before the last edge is left in it; a window
    reaches from its edge back to ``low`` and on to ``high``.
    """
    flips = _flips(low, high, int((high - low).max()))
    return in_parts(_between_edges, operation, states, low, high, flips)


def _between_edges(operation: BoundAggregate, states: State, low: Ints, high: Ints, flips: Ints) -> State:
    """Windows by two-stacks, some edges at a time."""
    edge = high[flips]
    group = np.repeat(np.arange(len(flips)), np.diff(np.append(flips, len(low))))
    within = edge - low[flips]
    beyond_edge = high[np.append(flips[1:], len(low)) - 1] - edge
    beyond = np.flatnonzero(high > edge[group])
    spare = 3 * len(low) - int(within.sum() + beyond_edge.sum()) - len(beyond)
    slid = scanned(operation, states, low[flips], within, group, edge[group] - low, spare, backwards=True)
    if not len(beyond):
        return slid
    going_on = np.flatnonzero(beyond_edge > 0)
    number = np.empty(len(flips), np.int64)
    number[going_on] = np.arange(len(going_on))
    spare -= len(low)
    rows = (high - edge[group])[beyond]
    later = scanned(operation, states, edge[going_on], beyond_edge[going_on], number[group[beyond]], rows, spare)
    return replace(slid, beyond, operation.combine(take(slid, beyond), later))


def _flips(low: Ints, high: Ints, widest: int) -> Ints:
    """The windows at whose end an edge is set: each the first one that begins at or after the edge before it."""
    first, last = runs(low, high, max(256 * widest, widest * widest))
    flips = np.zeros(len(low), bool)
    here, stop = first, last
    while len(here):
        flips[here] = True
        here = np.searchsorted(low, high[here], side="left")
        going = here < stop
        here, stop = here[going], stop[going]
    return np.flatnonzero(flips)
