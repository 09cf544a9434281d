"""A running state along windows: their states, from states that each belong to a run of windows.

The sweep of M. I. Shamos and D. Hoey, "Geometric intersection problems", 1976: what has ended is deducted, what begins
is combined. Runs that overlap make up a chain; chains are swept side by side.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa

from ...aggregators.contract.bound import BoundAggregate, length
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Bools, Floats, Ints
from ...aggregators.states.fields import Column, Compensated
from ...aggregators.states.rows import join, replace, take
from ...aggregators.sums.sums import Sum
from ..sliding.deduct import ROUNDING
from ..tuning import RESTART_STEPS
from .segment_tree import Rows, by_tree, reduced

Lost = dict[str, Floats]
"""An upper bound of the rounding error of each state's compensated sums, by field."""

ADDITION_LOSS = 16.0 * ROUNDING * ROUNDING
"""The rounding error of adding two compensated sums, relative to the larger one."""


def by_deduct(operation: BoundAggregate, states: State, first: Ints, last: Ints, windows: int) -> State:
    """Deduct from a running state what ended before a window, and combine with it what begins there.

    Parameters and result are those of :func:`framefold.runtime.intervals.coverage.cover`; there is at least one row.
    """
    return _sweep(operation, states, first, last, windows, sized=False)[0]


def _sweep(
    operation: BoundAggregate, states: State, first: Ints, last: Ints, windows: int, sized: bool
) -> tuple[State, Lost]:
    """The states of windows and, where ``sized``, bounds of their rounding errors.

    Only windows in which a run begins or after which one ended are a step; those after it have the same state.
    """
    begun = np.bincount(first, minlength=windows)
    alive = np.cumsum(begun - np.bincount(last + 1, minlength=windows + 1)[:windows])
    kept = alive - begun
    ended = kept != np.append(0, alive[:-1])
    steps = np.flatnonzero((alive > 0) & ((begun > 0) | ended))
    parts = _parts(steps, kept)
    wanted = np.ones(windows + 1, bool)
    wanted[steps[parts.begins[parts.anew]]] = wanted[windows] = False
    coming = np.flatnonzero(wanted[first])
    wanted[:windows] &= kept > 0
    going = np.flatnonzero(wanted[last + 1])
    number = np.append(np.cumsum(np.bincount(steps, minlength=windows)) - 1, -1)  # the last step up to each window
    entering = _moves(operation, states, coming, number[first[coming]], len(steps))
    leaving = _moves(operation, states, going, number[last[going] + 1], len(steps))
    running, before = _starts(operation, states, first, last, steps, parts, entering)
    running = _run(operation, running, parts, entering, leaving)
    lost = _lost(operation, running, states, parts, before, (entering, leaving))
    doubtful = np.zeros(len(steps), bool)
    for key, most in lost.items():
        doubtful |= ~(most <= ROUNDING * np.abs(cast(Compensated, running[key]).high))
    if doubtful.any():
        again = np.flatnonzero(doubtful)
        rows, here, there = _onto(steps[again], first, last)
        running = replace(running, again, by_tree(operation, take(states, rows), here, there, len(again)))
        for key in lost if sized else ():
            lost[key][again] = _lost_by_tree(states[key][rows], here, there, len(again))
    covered = np.flatnonzero(alive)
    step = number[covered]
    if sized:
        return take(running, step), {key: most[step] for key, most in lost.items()}
    return operation.scatter(windows, covered, take(running, step)), {}


class _Parts(NamedTuple):
    """Parts of chains that run side by side: first steps, lengths, and which of them begin within a chain."""

    begins: Ints
    lengths: Ints
    anew: Bools


class _Moves(NamedTuple):
    """States that enter or leave running states; which one at each step (-1: none); the rows that they are made of."""

    states: State
    at: Ints
    rows: Rows
    step: Ints


def _parts(steps: Ints, kept: Ints) -> _Parts:
    """Chains begin where no run goes on; long ones are split."""
    heads = np.flatnonzero(kept[steps] == 0)
    lengths = np.diff(np.append(heads, len(steps)))
    parts = np.where(lengths > 3 * RESTART_STEPS, lengths // RESTART_STEPS, 1)
    chain = np.repeat(np.arange(len(heads)), parts)
    part = np.arange(len(chain)) - np.repeat(np.cumsum(parts) - parts, parts)
    begins = heads[chain] + part * lengths[chain] // parts[chain]
    return _Parts(begins, np.diff(np.append(begins, len(steps))), part > 0)


def _moves(operation: BoundAggregate, states: State, rows: Rows, step: Ints, steps: int) -> _Moves:
    """The states of some rows reduced to one for each step at which they move."""
    moving, present = reduced(operation, states, rows, step)
    at = np.full(steps, -1)
    at[present] = np.arange(len(present))
    return _Moves(moving, at, rows, step)


def _starts(
    operation: BoundAggregate, states: State, first: Ints, last: Ints, steps: Ints, parts: _Parts, entering: _Moves
) -> tuple[State, Lost]:
    """The states that parts begin with: what enters at the head of a chain, and within it a sweep of their windows."""
    heads = take(entering.states, entering.at[parts.begins[~parts.anew]])
    before = {key: np.zeros(len(parts.begins)) for key in operation.compensated}
    if not parts.anew.any():
        return heads, before
    some = steps[parts.begins[parts.anew]]
    rows, here, there = _onto(some, first, last)
    within, lost = _sweep(operation, take(states, rows), here, there, len(some), sized=True)
    for key, most in lost.items():
        before[key][parts.anew] = most
    anew = length(heads) + np.cumsum(parts.anew) - 1
    return take(join([heads, within]), np.where(parts.anew, anew, np.cumsum(~parts.anew) - 1)), before


def _onto(some: Ints, first: Ints, last: Ints) -> tuple[Rows, Ints, Ints]:
    """The rows whose runs take in any of some windows, and the first and last of these that they do."""
    here, there = np.searchsorted(some, first), np.searchsorted(some, last, side="right") - 1
    rows = np.flatnonzero(here <= there)
    return rows, here[rows], there[rows]


def _run(operation: BoundAggregate, initial: State, parts: _Parts, entering: _Moves, leaving: _Moves) -> State:
    """The running states of all steps. A call does the n-th step of every part; longest parts come first."""
    order = np.argsort(-parts.lengths, kind="stable")
    begins, lengths = parts.begins[order], parts.lengths[order]
    running_states, places = [take(initial, order)], [begins]
    active = np.searchsorted(-lengths, -np.arange(int(lengths[0])), side="left")
    for step in range(1, int(lengths[0])):
        here = begins[: int(active[step])] + step
        running = take(running_states[-1], slice(0, len(here)))
        for function, moves in ((operation.deduct, leaving), (operation.combine, entering)):
            rows = moves.at[here]
            some = np.flatnonzero(rows >= 0)
            if len(some):
                running = replace(running, some, function(take(running, some), take(moves.states, rows[some])))
        running_states.append(running)
        places.append(here)
    source = np.empty(int(lengths.sum()), np.intp)
    source[np.concatenate(places)] = np.arange(len(source))
    return take(join(running_states), source)


def _lost(
    operation: BoundAggregate, running: State, states: State, parts: _Parts, before: Lost, moves: tuple[_Moves, _Moves]
) -> Lost:
    """Bounds of each step's rounding error: shares of the largest running state and of the sizes of what moves."""
    rows = np.concatenate([each.rows for each in moves])
    step = np.concatenate([each.step for each in moves])
    additions = (parts.lengths + 1.0) * (2 + 2 * len(rows).bit_length())
    part = np.repeat(np.arange(len(parts.begins)), parts.lengths)
    lost = {}
    for key in operation.compensated:
        moved = np.bincount(step, weights=_sizes(states[key])[rows], minlength=len(part))
        largest = np.maximum.reduceat(_sizes(running[key]) + moved, parts.begins)
        lost[key] = (before[key] + ADDITION_LOSS * additions * largest)[part]
    return lost


def _lost_by_tree(sums: Column, first: Ints, last: Ints, windows: int) -> Floats:
    """Bounds of the rounding errors of windows computed by the tree: a share of the magnitudes in them."""
    operation = BoundAggregate("sizes", Sum("size"), [pa.float64()])
    sizes: State = {"total": Compensated.of(_sizes(sums)), "frames": np.ones(len(first), np.int64)}
    total = cast(Compensated, by_tree(operation, sizes, first, last, windows)["total"]).value()
    additions = 2 * len(first).bit_length() * windows.bit_length()
    return ADDITION_LOSS * (1 + additions) * total


def _sizes(sums: Column) -> Floats:
    return cast(Compensated, sums).magnitude()
