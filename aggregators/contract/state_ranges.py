"""What ``finish_ranges`` is given: ranges of states."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from ..states.arrays import Ints
from .bound import BoundAggregate
from .operation import State


class StateRanges(Protocol):
    """Half-open ranges of states that follow one another, in any order; each window is one."""

    @property
    def low(self) -> Ints:
        """The first state of each range, shape (ranges,)."""

    @property
    def high(self) -> Ints:
        """The state after the last one of each range, shape (ranges,)."""

    @property
    def ascending(self) -> bool:
        """Whether no end of a range is below that of the range before it."""

    def finish(self, operation: BoundAggregate, states: State) -> pa.Array:
        """The results of another operation over the same ranges of its own states."""

    def finish_others(self, operation: BoundAggregate, states: State, low: Ints, high: Ints) -> pa.Array:
        """The results of another operation over other ranges of other states."""
