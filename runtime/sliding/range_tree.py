"""The range tree: states of rows combined two by two, of which a range of rows takes a few.

Each level holds the states of rows 2i and 2i + 1 of the level below, so that a range of w rows is at most two of each
level up to log2(w): the tree of J. L. Bentley, "Algorithms for Klee's rectangle problems", 1977, which K. Tangwongsan,
M. Hirzel, S. Schneider and K.-L. Wu, "General incremental sliding-window aggregation", 2015, slide windows with.
"""

from __future__ import annotations

import numpy as np

from ...aggregators.contract.bound import BoundAggregate, length
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Ints
from ...aggregators.states.rows import join, take
from ..tuning import LEVELS_A_PART


def by_range_tree(operation: BoundAggregate, states: State, low: Ints, high: Ints) -> State:
    """The states of ranges of rows in any order and of any width.

    Parameters
    ----------
    operation
        What combines: associative; rows are combined from left to right.
    states
        One state a row.
    low, high
        The half-open ranges of rows, shape (ranges,), none of them empty.

    Returns
    -------
    One state for each range, by less than one combine for each row that is in any range, and at most 2 log2(w) for
    each range of w rows; in a number of calls that grows with log2 of the widest range, and with nothing else.

    Examples
    --------
    >>> import framefold as ff
    >>> import pyarrow as pa
    >>> most = BoundAggregate("most", ff.Max("x"), [pa.int64()])
    >>> states = {"value": np.array([3, 1, 4, 1, 5]), "seen": np.ones(5, bool)}
    >>> by_range_tree(most, states, np.array([1, 0, 3]), np.array([3, 5, 4]))["value"].tolist()
    [4, 5, 1]
    """
    if not len(low):
        return take(states, slice(0, 0))
    states, low, high = covered(states, low, high)
    depth = int((high - low).max()).bit_length()
    tree, levels = build(operation, states, depth)
    nodes, counts = nodes_of(low, high, levels)
    ends = np.cumsum(counts)
    pieces, done = [], 0
    for part in np.array_split(np.arange(len(low)), min(-(-depth // LEVELS_A_PART), len(low))):
        end = int(ends[part[-1]])
        pieces.append(fold(operation, tree, nodes[done:end], counts[part]))
        done = end
    return join(pieces)


def covered(states: State, low: Ints, high: Ints) -> tuple[State, Ints, Ints]:
    """The states of the rows that are in any range, and the ranges of them."""
    rows = length(states)
    begun = np.bincount(low, minlength=rows + 1) - np.bincount(high, minlength=rows + 1)
    inside = np.cumsum(begun[:-1]) > 0
    if inside.all():
        return states, low, high
    before = np.concatenate([[0], np.cumsum(inside)])
    return take(states, np.flatnonzero(inside)), before[low], before[high]


def build(operation: BoundAggregate, states: State, depth: int) -> tuple[State, Ints]:
    """``depth`` levels one after the other, from the rows up, and where each begins."""
    levels = [states]
    for _ in range(depth - 1):
        even = np.arange(0, length(levels[-1]) - 1, 2)  # a last one without a neighbour is in no node of a range
        levels.append(operation.combine(take(levels[-1], even), take(levels[-1], even + 1)))
    sizes = [length(level) for level in levels]
    return join(levels), np.cumsum([0, *sizes[:-1]])


def nodes_of(low: Ints, high: Ints, levels: Ints) -> tuple[Ints, Ints]:
    """The nodes that make up each range, from left to right, range by range; and how many each has.

    On the way up, a range takes a node at its left where the row before it is in a left child, and one at its right
    where the row after it is in a right child, until the two are in children of one node: so bits of the numbers of
    these rows say on which levels there is a node.
    """
    before, depth = low - 1, len(levels)
    # One more bit in front, for there is no row before row 0; the bits up to the highest that differs are counted.
    front = np.int64(1) << int(high.max()).bit_length()
    below = (np.int64(1) << (np.frexp((before + front) ^ (high + front))[1].astype(np.int64) - 1)) - 1
    left, right = ~before & below, high & below
    on_left = np.bitwise_count(left).astype(np.int64)
    counts = on_left + np.bitwise_count(right)
    first = np.cumsum(counts) - counts
    last = first + counts - 1
    nodes = np.empty(int(counts.sum()), np.int64)
    for level in range(depth):
        some = np.flatnonzero(left >> level & 1)
        lower = left[some] & (1 << level) - 1
        nodes[first[some] + np.bitwise_count(lower)] = (before[some] >> level) + 1 + levels[level]
        some = np.flatnonzero(right >> level & 1)
        lower = right[some] & (1 << level) - 1
        nodes[last[some] - np.bitwise_count(lower)] = (high[some] >> level) - 1 + levels[level]
    return nodes, counts


def fold(operation: BoundAggregate, states: State, rows: Ints, counts: Ints) -> State:
    """One state for each group of rows that follow one another, neighbours first; ``counts`` has the groups' sizes."""
    while (counts > 1).any():
        pairs, odd = counts // 2, counts % 2
        end, first = np.cumsum(counts), np.cumsum(pairs) - pairs
        left = np.repeat(end - counts - 2 * first, pairs) + 2 * np.arange(pairs.sum())
        alone = (end - 1)[odd == 1]
        joined = operation.combine(take(states, rows[left]), take(states, rows[left + 1]))
        states = join([joined, take(states, rows[alone])])
        counts = pairs + odd
        single = np.zeros(int(counts.sum()), bool)
        single[(np.cumsum(counts) - 1)[odd == 1]] = True
        rows = np.where(single, len(left) + np.cumsum(single), np.cumsum(~single)) - 1
    return take(states, rows)
