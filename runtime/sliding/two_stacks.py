"""Two-stacks: a window is the end of one segment of rows combined with the beginning of the next.

A run is windows from one on that shares no row with the window before it. Runs, and edges, go side by side. Windows
that only grow need no second stack.
"""

from __future__ import annotations

import numpy as np

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.rows import replace, take
from .scan import beginnings, in_parts, piece_size


def runs(low: Ints, high: Ints, most: int) -> tuple[Ints, Ints]:
    """First and past-the-last windows of runs: from one that shares no row with the window before it, on.

    Runs of more windows than ``most`` are split.
    """
    first = np.flatnonzero(np.concatenate([[True], low[1:] >= high[:-1]]))
    last = np.append(first[1:], len(low))
    parts = -(-(last - first) // most)
    if (parts > 1).any():
        run = np.repeat(np.arange(len(first)), parts)
        part = np.arange(len(run)) - np.repeat(np.cumsum(parts) - parts, parts)
        first = first[run] + part * (last - first)[run] // parts[run]
        last = np.append(first[1:], len(low))
    return first, last


def growing_windows(low: Ints, high: Ints) -> Bools:
    """The windows of runs with one beginning, which need no second stack.

    Such runs among others slide separately only where they are long.
    """
    first, last = runs(low, high, len(low))
    grows = low[first] == low[last - 1]
    lengths = (high[last - 1] - low[first])[grows]
    if not grows.all() and piece_size(lengths) >= lengths.max(initial=1):
        grows[:] = False
    return np.repeat(grows, last - first)


def by_growing(operation: BoundAggregate, states: State, low: Ints, high: Ints) -> State:
    """The beginnings of runs: at most one combine for each row and one for each window."""
    first, last = runs(low, high, len(low))
    run = np.repeat(np.arange(len(first)), last - first)
    return beginnings(operation, states, low[first], high[last - 1] - low[first], run, high - low)


def by_two_stacks(operation: BoundAggregate, states: State, low: Ints, high: Ints) -> State:
    """Combine the end of one segment of rows with the beginning of the next.

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
    segment = number[group[beyond]]
    later = beginnings(operation, states, edge[going_on], beyond_edge[going_on], segment, rows, False, spare)
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
