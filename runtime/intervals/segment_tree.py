"""A binary tree over windows: their states, from states that each belong to a run of windows.

The segment tree of J. L. Bentley, "Solutions to Klee's rectangle problems", 1977, level by level: a run is a few
nodes, and a window gets the states of all nodes above it.
"""

from __future__ import annotations

import numpy as np

from ...aggregators.contract.bound import BoundAggregate, length
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Index, Ints
from ...aggregators.states.rows import join, take
from ..sliding.range_tree import fold

Rows = Index


def reduced(operation: BoundAggregate, states: State, rows: Rows, at: Ints) -> tuple[State, Rows]:
    """Some rows reduced to one state for each number in ``at``, in the order given; and these numbers, ascending."""
    if (at[1:] < at[:-1]).any():
        order = np.argsort(at, kind="stable")
        rows, at = rows[order], at[order]
    starts = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]])[: len(at)])
    return fold(operation, states, rows, np.diff(np.append(starts, len(at)))), at[starts]


def by_tree(operation: BoundAggregate, states: State, first: Ints, last: Ints, windows: int) -> State:
    """Combine the states of each node of the tree, then from the root down each node's with those of all above it.

    A node of level k is 2**k windows from a multiple of 2**k on. Of the nodes of a level a run takes the one at its
    left end where that is the right one of a pair, and the one at its right end where that is the left one; what is
    left of the run is whole nodes of the next level. Parameters and result are those of
    :func:`framefold.runtime.intervals.coverage.cover`; there is at least one row.
    """
    states, runs = reduced(operation, states, np.arange(len(first)), first * (windows + 1) + last)
    rows = np.arange(len(runs))
    left, right = runs // (windows + 1), runs % (windows + 1) + 1
    levels = []
    while len(rows):
        begins, ends = np.flatnonzero(left & 1), np.flatnonzero(right & 1)
        taken = rows[np.concatenate([begins, ends])]
        levels.append(reduced(operation, states, taken, np.concatenate([left[begins], right[ends] - 1])))
        left, right = (left + 1) >> 1, right >> 1
        going = np.flatnonzero(left < right)
        rows, left, right = rows[going], left[going], right[going]
    above, nodes = levels.pop()
    for own, present in reversed(levels):
        above, nodes = _down(operation, above, nodes, own, present)
    return operation.scatter(windows, nodes, above)


def _down(operation: BoundAggregate, above: State, nodes: Rows, own: State, present: Rows) -> tuple[State, Rows]:
    """One level down: the states of nodes are combined with those of their two halves."""
    halves = np.repeat(2 * nodes, 2)
    halves[1::2] += 1
    source = np.repeat(np.arange(len(nodes)), 2)
    place = np.searchsorted(halves, present)
    both = np.append(halves, -1)[place] == present
    alone, shared = np.flatnonzero(~both), place[both]
    joined = operation.combine(take(above, source[shared]), take(own, np.flatnonzero(both)))
    pool = join([above, take(own, alone), joined])
    source[shared] = len(nodes) + len(alone) + np.arange(length(joined))
    source = np.concatenate([source, len(nodes) + np.arange(len(alone))])
    halves = np.concatenate([halves, present[alone]])
    order = np.argsort(halves, kind="stable")
    return take(pool, source[order]), halves[order]
