"""What ``finish_ranges`` is given: ranges of states, and how other operations are computed over ranges."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from ..states.arrays import Ints
from .bound import BoundAggregate
from .operation import State


class StateRanges(Protocol):
    """Half-open ranges of states that follow one another; each window is one.

    Attributes
    ----------
    low, high
        The first state of each range, and the one after its last, int64 of shape (ranges,), in any order.
    """

    low: Ints
    high: Ints

    def finish(self, operation: BoundAggregate, states: State) -> pa.Array:
        """The results of another operation over the same ranges of its own states."""

    def finish_others(self, operation: BoundAggregate, states: State, low: Ints, high: Ints) -> pa.Array:
        """The results of another operation over other ranges of other states."""
