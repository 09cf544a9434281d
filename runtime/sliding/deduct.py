"""Deduct: a window is one running state taken out of another.

A run is windows from one on that shares no row with the window before it. Runs go side by side.
"""

from __future__ import annotations

import numpy as np

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.fields import Compensated
from ...aggregators.states.rows import replace, take
from ..tuning import CALL_COST, MANY_RANGES, RESTART_ROWS
from .scan import Scan, in_parts
from .two_stacks import by_two_stacks, runs

ROUNDING = 2.0**-53

MAX_LOST = 2.0**-64
"""Windows are computed again where a larger share of their sum may be lost: far less than rounding to one float."""


def too_long(low: Ints, high: Ints) -> bool:
    """Whether calls for the running states of the rows of runs would cost more than a third operation a window."""
    if len(low) <= MANY_RANGES:
        return False
    first, last = runs(low, high, max(RESTART_ROWS, 64 * int((high - low).max())), weight=high)
    return int((high[last - 1] - low[first]).max()) * CALL_COST > len(low)


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
