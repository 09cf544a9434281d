"""Interval events: states of windows, from states that each belong to a run of windows.

An event is in all windows that it overlaps. It is copied into them only where the order of events matters; otherwise a
running state combines and deducts it, or it is combined into a few nodes of a tree over the windows.
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.intervals.time_weighted import OverLifetimes
from ...aggregators.states.arrays import Ints
from ...aggregators.states.rows import join, take
from ..plan.plan import Plan
from ..tuning import MAX_COPIES
from .segment_tree import by_tree, reduced
from .sweep import by_deduct

CoverWay = Literal["deduct", "tree", "copies"]


def way_in_words(plan: Plan, output: str, number: int) -> str:
    """How an output is computed over one kind of windows of a coverage, by its number on the axis, and why."""
    bound = plan.states[output]
    way, why = way_of(bound), bound.deducts[1]
    if plan.until is None:
        cost = "2" if way == "deduct" else "O(log n)"
        return f"slides by what is in each window, row by row ({cost} element operations a window): {why}"
    if bound.spec.of_lifetimes:
        return "slides by deduct over clipped lifetimes (5 element operations a frame at most)"
    return {
        "deduct": f"covers by deduct (2 element operations a window, however long events live): {why}",
        "tree": f"covers by a tree over the windows (O(log n) element operations a window): {why}",
        "copies": "covers by copies (an element operation for each window of each event): order matters",
    }[way]


def way_of(operation: BoundAggregate) -> CoverWay:
    """How the windows of interval events are computed."""
    if not operation.commutative:
        return "copies"
    return "deduct" if operation.deducts[0] else "tree"


def cover(
    operation: BoundAggregate, states: State, first: Ints, last: Ints, windows: int, way: CoverWay | None = None
) -> State:
    """The states of windows, each from all states whose run takes it in.

    With s windows in which any run begins and e windows after which any ended (each at most ``windows``):

    - ``"deduct"``: n - s and n - e combines reduce n rows to one state a beginning and one an end. Then s combines and
      e deducts: 2 element operations a window at most, however long the runs are. Only what was combined before is
      deducted, so any exact deduct will do. Where runs chain more than three times ``sweep.RESTART_STEPS`` such
      windows, the running state starts anew after about RESTART_STEPS of them, from a cover of those windows alone: 2
      operations more for each row whose run crosses one. A window whose compensated sums may have lost digits of the
      result is computed by the tree.
    - ``"tree"``: a run is at most 2 log2(length) nodes, which are reduced by at most one combine each to one state a
      node; on the way down from the root there are less than 2 combines a window. O(log(rows) log(windows)) calls.
    - ``"copies"``: one combine for each row of each window, in the order of rows: linear in the length of the runs.
      What two windows share need not be neighbours in time, so no partial result serves both.

    Parameters
    ----------
    operation
        What combines and deducts.
    states
        One state a row, shape (rows,). Where the order of events matters each is of one event, and they are in time
        order within each key.
    first, last
        The first and the last window of each row's run, both inclusive, shape (rows,); the first is above the last
        where a row is in no window. A run stays within its key.
    windows
        The number of windows: those of all keys in one list, sorted by key, then by window.
    way
        ``"deduct"`` (for commutative operations), ``"tree"`` (for commutative operations) or ``"copies"``; what
        :func:`way_of` says where None.

    Returns
    -------
    One state for each window, shape (windows,); the identity where no run takes it in.

    Examples
    --------
    >>> import framefold as ff
    >>> import pyarrow as pa
    >>> most = BoundAggregate("most", ff.Max("x"), [pa.int64()])
    >>> states = {"value": np.array([3, 1, 4]), "seen": np.ones(3, bool)}
    >>> cover(most, states, np.array([0, 0, 2]), np.array([1, 3, 3]), 4)["value"].tolist()
    [3, 3, 4, 4]
    """
    inside = np.flatnonzero(first <= last)
    if len(inside) < len(first):
        states, first, last = take(states, inside), first[inside], last[inside]
    if not len(first):
        return operation.scatter(windows, inside, states)
    by = {"deduct": by_deduct, "tree": by_tree, "copies": _by_copies}
    return by[way or way_of(operation)](operation, states, first, last, windows)


def over_frames(operation: OverLifetimes, states: State, first: Ints, last: Ints, ticks: Ints) -> State:
    """The states of frames from partials of lifetimes, which are clipped to each frame. Windows slide over them.

    A frame combines the levels of events that live all through it, held for its ticks, and the heads and tails of those
    that start or end in it. The cost does not depend on how long events live: that of a cover by deduct with the frames
    for windows, one combine for each further head or tail of a frame, and one a frame.

    Parameters
    ----------
    operation
        The result of :func:`~framefold.aggregators.intervals.time_weighted.lifetimes_of` for an output.
    states
        Its partials: a state each of events that start in one frame and end in one, shape (rows,).
    first, last
        These frames, shape (rows,), by their numbers in one list of the frames of all keys, sorted by key, then by
        time. It has all frames in which any event lives.
    ticks
        The length of each frame, int64 of shape (frames,).

    Returns
    -------
    One state for each frame, shape (frames,), of the operation ``operation.clipped``.

    Examples
    --------
    Two events, [1, 9) with the value 2.0 and [8, 13) with 5.0, in frames of 4 ticks from 0 on:

    >>> import framefold as ff
    >>> import pyarrow as pa
    >>> from framefold.aggregators.intervals.time_weighted import Lifetimes, TimeWeightedAverage, lifetimes_of
    >>> bound = BoundAggregate("x", TimeWeightedAverage("x"), [pa.float64()])
    >>> lives = Lifetimes(np.array([0, 1]), 2, np.array([1, 8]), head=np.array([3, 4]), tail=np.array([1, 1]))
    >>> partials = bound.accumulate(lives, [pa.array([2.0, 5.0])])
    >>> first, last, ticks = np.array([0, 2]), np.array([2, 3]), np.full(4, 4)
    >>> bound.finish(over_frames(lifetimes_of(bound), partials, first, last, ticks)).to_pylist()
    [2.0, 2.0, 4.4, 5.0]
    """
    frames, clipped = len(ticks), operation.clipped
    several = np.flatnonzero(last > first)
    alive = cover(clipped, operation.part("level", states), first + 1, last - 1, frames)
    edges = join([operation.part("head", states), operation.part("tail", states)])
    rows = np.concatenate([np.arange(len(first)), len(first) + several])
    edges, present = reduced(clipped, edges, rows, np.concatenate([first, last[several]]))
    return clipped.combine(operation.over_ticks(alive, ticks), clipped.scatter(frames, present, edges))


def _by_copies(operation: BoundAggregate, states: State, first: Ints, last: Ints, windows: int) -> State:
    """Copy each state into its windows, some windows at a time, and combine those of each in the order of rows."""
    change = np.bincount(first, minlength=windows) - np.bincount(last + 1, minlength=windows + 1)[:windows]
    counts = np.cumsum(change)
    edges = np.flatnonzero(np.diff(np.cumsum(counts) // MAX_COPIES, prepend=-1))
    chunks = []
    for begin, end in itertools.pairwise([*edges.tolist(), windows]):
        rows = np.flatnonzero((first < end) & (last >= begin))
        left = np.maximum(first[rows], begin)
        lengths = np.minimum(last[rows], end - 1) - left + 1
        place = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        chunks.append(reduced(operation, states, np.repeat(rows, lengths), np.repeat(left, lengths) + place)[0])
    return operation.scatter(windows, np.flatnonzero(counts), join(chunks))
