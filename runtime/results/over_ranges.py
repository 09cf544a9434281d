"""The results of window ranges: of states that slide, or as operations answer them over ranges of their values."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ..sliding.range_blocks import Ints, RangeFacts
from ..sliding.slide import Way, slide, way_of


def results_over(
    operation: BoundAggregate,
    states: State,
    low: Ints,
    high: Ints,
    way: Way | None = None,
    facts: RangeFacts | None = None,
) -> pa.Array:
    """The results of window ranges.

    Parameters
    ----------
    operation
        What is computed.
    states, low, high, facts
        As for :func:`~framefold.runtime.sliding.slide.slide`.
    way
        What :func:`~framefold.runtime.sliding.slide.choose` says, or :func:`~framefold.runtime.sliding.slide.way_of`
        where None. Where an operation cannot answer these ranges, their states slide.

    Examples
    --------
    >>> import framefold as ff
    >>> import numpy as np
    >>> from framefold.aggregators.contract.frames import Frames
    >>> middle = BoundAggregate("middle", ff.Median("x"), [pa.int64()])
    >>> states = middle.accumulate(Frames(np.array([0, 0, 1, 2]), 3, np.arange(4)), [pa.array([3, 1, 4, 5])])
    >>> results_over(middle, states, np.array([0, 1]), np.array([2, 3])).to_pylist()
    [3.0, 4.5]
    """
    way = way_of(operation) if way is None else way
    if way == "values":
        facts = RangeFacts(low, high) if facts is None else facts
        if len(low) and (found := operation.finish_ranges(states, Slid(low, high, facts))) is not None:
            return found
        way = None
    return operation.finish(slide(operation, states, low, high, way, facts))


@dataclass(frozen=True)
class Slid:
    """The ranges that ``finish_ranges`` is given, and how other operations are computed over ranges.

    See :class:`~framefold.aggregators.contract.state_ranges.StateRanges`.
    """

    low: Ints
    high: Ints
    facts: RangeFacts

    def finish(self, operation: BoundAggregate, states: State) -> pa.Array:
        """The results of another operation over the same ranges."""
        return results_over(operation, states, self.low, self.high, None, self.facts)

    def finish_others(self, operation: BoundAggregate, states: State, low: Ints, high: Ints) -> pa.Array:
        """The results of another operation over other ranges of other states."""
        return results_over(operation, states, low, high)
