"""Sliding by running states: one for deduct, those on both sides of an edge for two-stacks.

A run is windows from one on that shares no row with the window before it. Runs, and edges, go side by side.
"""

from __future__ import annotations

import numpy as np

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.fields import Compensated
from ...aggregators.states.rows import replace, take
from .scan import Scan, beginnings, in_parts, piece_size

RESTART_ROWS = 1 << 14
"""The fewest rows after which running states start anew, so that many of them run side by side.

Each new start costs as many extra combines as a window has rows. The first and last windows of a run make up for twice
that, so up to three times as many rows the bound of 2 element operations a window holds strictly."""

MANY_RANGES = 3 * RESTART_ROWS
"""The most ranges that slide by deduct however long their runs are, where two-stacks may be taken instead."""

CALL_COST = 1000
"""The cost of a call, in element operations."""

ROUNDING = 2.0**-53

MAX_LOST = 2.0**-64
"""Windows are computed again where a larger share of their sum may be lost: far less than rounding to one float."""


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


def growing_windows(low: Ints, high: Ints) -> Bools:
    """The windows of runs with one beginning, which need neither deduct nor a second stack.

    Such runs among others slide separately only where they are long.
    """
    first, last = runs(low, high, len(low))
    grows = low[first] == low[last - 1]
    lengths = (high[last - 1] - low[first])[grows]
    if not grows.all() and piece_size(lengths) >= lengths.max(initial=1):
        grows[:] = False
    return np.repeat(grows, last - first)


def too_long(low: Ints, high: Ints) -> bool:
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


def _doubtful(operation: BoundAggregate, running: Scan, run: Ints, difference: State) -> Bools:
    """Which differences of compensated sums may lack digits of the result.

    Each addition loses at most a few 2**-106 of the largest running sum; where all of them together could change the
    result, the window is computed again from its own frames.
    """
    doubtful = np.zeros(len(run), bool)
    longest = np.diff(running.offsets)
    additions = 8.0 * ROUNDING * ROUNDING * len(longest)
    rank = np.arange(running.offsets[-1]) - np.repeat(running.offsets[:-1], longest)
    for key in operation.compensated:
        sums, result = running.states[key], difference[key]
        assert isinstance(sums, Compensated)
        assert isinstance(result, Compensated)
        largest = np.zeros(len(running.rank))
        np.maximum.at(largest, rank, sums.magnitude())
        lost = largest[running.rank[run]] * additions
        doubtful |= ~(lost <= MAX_LOST * np.abs(result.high))
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
    slid = beginnings(operation, states, low[flips], within, group, edge[group] - low, True, spare)
    if not len(beyond):
        return slid
    going_on = np.flatnonzero(beyond_edge > 0)
    number = np.empty(len(flips), np.int64)
    number[going_on] = np.arange(len(going_on))
    spare -= len(low)
    rows = (high - edge[group])[beyond]
    block = number[group[beyond]]
    later = beginnings(operation, states, edge[going_on], beyond_edge[going_on], block, rows, False, spare)
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
