"""The results of window ranges: of states that slide, or as operations answer them over ranges of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ...aggregators.contract.aggregate import StateRanges
from ...aggregators.contract.bound import BoundAggregate, length
from ...aggregators.contract.operation import State
from ...aggregators.errors import OperationError
from ...aggregators.states import large
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import has_room, is_limited, joined, one_array, runs
from ...aggregators.states.large import take as take_results
from ...aggregators.states.objects import Objects
from ...aggregators.states.ragged import Ragged, RaggedField
from ...aggregators.states.rows import take
from ..sliding.range_facts import RangeFacts
from ..sliding.slide import slide, way_of
from ..tuning import BLOCK_VALUES, BLOCK_WIDTHS, BLOCK_WINDOWS

Column: TypeAlias = pa.Array | pa.ChunkedArray
"""A column of results, in several arrays where one has no room for them."""


Finish: TypeAlias = Callable[[State], Column]
"""What makes results of states."""


def results_over(operation: BoundAggregate, states: State, ranges: RangeFacts, finish: Finish | None = None) -> Column:
    """The results of window ranges; where an operation cannot answer them over its values, their states slide.

    Parameters
    ----------
    operation
        What is computed.
    states, ranges
        As for :func:`~framefold.runtime.sliding.slide.slide`.
    finish
        What makes results of states; the operation where None. Where it cannot answer these ranges, their states slide.

    Examples
    --------
    >>> import framefold as ff
    >>> import numpy as np
    >>> from framefold.aggregators.contract.frames import Frames
    >>> middle = BoundAggregate("middle", ff.Median("x"), [pa.int64()])
    >>> states = middle.accumulate(Frames(np.array([0, 0, 1, 2]), 3, np.arange(4)), [pa.array([3, 1, 4, 5])])
    >>> results_over(middle, states, RangeFacts(np.array([0, 1]), np.array([2, 3]))).to_pylist()
    [3.0, 4.5]
    """
    way, finish = way_of(operation), finish or operation.finish
    if way == "values" and len(ranges.low) and not ranges.of_one_row:  # a window of one state has what that has
        found = joined([answered(operation, states, some, finish) for some in blocks_of(operation, states, ranges)])
        several = isinstance(found, pa.ChunkedArray) and has_room(found, found.type)
        return one_array(found) if several else found
    if len(ranges.low) and ranges.of_one_row and 2 * len(ranges.low) > length(states):
        return take_results(finish(states), pa.array(ranges.low))
    return finish(slide(operation, states, ranges, way))


def finished_in_runs(bound: BoundAggregate, longest: Mapping[str, int], states: State) -> Column:
    """The results of an output's states, in several arrays where one has no room for them.

    Raises
    ------
    OperationError
        If it has none for the result of a single state.
    """
    found: list[Ints] = []
    for key, size in longest.items():
        kind = bound.fields[key]
        assert isinstance(kind, (RaggedField, Objects))
        sizes = kind.sizes(states[key], size)
        found += [] if sizes is None else [sizes]
    if not found:
        return bound.finish(states)
    each = np.maximum.reduce(found)
    if is_limited(bound.result) and int(each.max()) > large.ARRAY_BYTES:
        raise OperationError(
            f"{bound.spec!r} for {bound.name!r} has {int(each.max()):,} items or bytes of text in one window, and a "
            f"value of {bound.result} has room for {large.ARRAY_BYTES:,}; expected shorter windows, or a column of "
            "large strings"
        )
    return joined([bound.finish(take(states, run)) for run in runs(each)])


def answered(operation: BoundAggregate, states: State, ranges: RangeFacts, finish: Finish) -> Column:
    """The results of window ranges over values; where the operation cannot answer them, their states slide."""
    first, last = ranges.span
    if last - first < length(states):
        states, ranges = take(states, slice(first, last)), RangeFacts(ranges.low - first, ranges.high - first)
    found = operation.finish_ranges(states, Slid(ranges))
    if found is None:
        found = slide(operation, states, ranges)
    return finish(found) if isinstance(found, Mapping) else found


def blocks_of(operation: BoundAggregate, states: State, ranges: RangeFacts) -> Iterator[RangeFacts]:
    """Window ranges in blocks, whose values the processor's cache holds as far as windows are not too wide for that.

    Blocks share the values of a window at most, which are few of theirs.
    """
    low, high = ranges.low, ranges.high
    offsets = next((column.offsets for column in states.values() if isinstance(column, Ragged)), None)
    first, last = ranges.span
    size = last - first if offsets is None else int(offsets[last] - offsets[first])
    room = room_taken(operation, states, low, high)
    joins = room is None or room[-1] <= large.ARRAY_BYTES
    begin, end = (low, high) if offsets is None else (offsets[low], offsets[high])
    widest = int((end - begin).max())
    values, windows = max(BLOCK_VALUES, BLOCK_WIDTHS * widest), max(BLOCK_WINDOWS, widest)
    if not ranges.ascending or (joins and size <= values and len(low) <= windows):
        yield ranges
        return
    start = 0
    while start < len(low):
        stop = int(np.searchsorted(end, begin[start] + values, side="right"))
        if room is not None:
            most = (room[start - 1] if start else 0) + large.ARRAY_BYTES
            stop = min(stop, int(np.searchsorted(room, most, side="right")))
        stop = min(max(stop, start + 1), start + windows)
        yield RangeFacts(low[start:stop], high[start:stop])
        start = stop


def room_taken(operation: BoundAggregate, states: State, low: Ints, high: Ints) -> Ints | None:
    """How much of an array's room results up to each range may take; None where an array has room, or it is not known.

    Of operations made of others, which give results and not states: those are put into several arrays one by one.
    """
    if not (operation.spec.is_made_of_others and is_limited(operation.result)):
        return None
    taken = np.zeros(length(states), np.int64)
    for key, kind in operation.fields.items():
        if isinstance(kind, (RaggedField, Objects)):
            sizes = kind.sizes(states[key], large.ARRAY_BYTES)
            taken += 0 if sizes is None else sizes
    before = np.concatenate([[0], np.cumsum(taken)])
    return np.cumsum(before[high] - before[low])


class Slid(StateRanges):
    """Ranges of states, over which other operations are computed as windows slide."""

    def __init__(self, ranges: RangeFacts) -> None:
        super().__init__(ranges.low, ranges.high)
        self.ranges = ranges

    @property
    def ascending(self) -> bool:
        return self.ranges.ascending

    def finish(self, operation: BoundAggregate, states: State) -> pa.Array:
        return one_array(results_over(operation, states, self.ranges))

    def finish_others(self, operation: BoundAggregate, states: State, low: Ints, high: Ints) -> pa.Array:
        return one_array(results_over(operation, states, RangeFacts(low, high)))
