"""Aggregates of interval events, each seen only while it lives in the window.

Windows and their frames clip lifetimes. A partial, of events that start in one frame and end in one, has their state in
the frame of their start (head), in that of their end (tail), and in one tick of any frame between (level). From these
follow the states of all frames, over which windows slide as always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ..combinators.mapped import Unfolded
from ..contract.aggregate import StateFunctions
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import require_numbers
from ..contract.operation import AggregateOperation, OneColumn, State
from ..contract.wrapped import Parts, Wrapped
from ..durations import Duration
from ..errors import QueryError
from ..states.arrays import Bools, Index, Ints
from .between_events import MeanBetween, type_of_ticks
from .clipped import ClippedMean, ClippedTicks

__all__ = ["Covered", "TimeWeightedAverage"]

Fill = Literal["last", "linear"]
"""What lies between two events: the last value, or a line from one to the other."""


class Lifetimes(Frames):
    """The rows of a batch of interval events, each assigned to the frames in which it starts and ends.

    Parameters
    ----------
    index, size, ticks, order
        As :class:`~framefold.aggregators.contract.frames.Frames` has them; a group is of one key, one first and one
        last frame.
    head
        The lifetime of each event in the frame in which it starts, in ticks, int64: 1 or more.
    tail
        Its lifetime in the frame in which it ends; 0 where that is the frame in which it starts.

    Examples
    --------
    >>> index, start = np.array([0, 1, 0]), np.array([5, 12, 3])
    >>> frames = Lifetimes(index, 2, start, head=np.array([5, 8, 7]), tail=np.array([1, 0, 2]))
    >>> some, left = frames.where(np.array([True, False, True]))
    >>> some.head, some.tail, left
    (array([5, 7]), array([1, 2]), array([0]))
    """

    def __init__(self, index: Index, size: int, ticks: Ints, head: Ints, tail: Ints, order: Ints | None = None) -> None:
        super().__init__(index, size, ticks, order)
        self.head = head
        self.tail = tail

    def where(self, rows: Bools) -> tuple[Lifetimes, Index]:
        some, left = super().where(rows)
        return Lifetimes(some.index, some.size, some.ticks, self.head[rows], self.tail[rows], some.order), left


class Covered(AggregateOperation):
    """The total lifetime of events within a window; of interval events only.

    A duration where the time is a timestamp, days where it is a date, ticks where it is an integer. An event counts
    with its lifetime clipped to the window; two that live at one time count twice. 0 where there is none.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"start": [0, 8], "end": [8, 13]})
    >>> query = ff.events(events, time="start", until="end").window(ff.tumbling(10))
    >>> query.aggregate(ticks=ff.Covered())["ticks"].to_pylist()
    [10, 3]
    """

    result: Any = pa.int64()
    commutative = True

    def __init__(self) -> None:
        super().__init__()

    @property
    def of_lifetimes(self) -> bool:
        return True

    def at_times(self, duration: Callable[[Duration, str], int]) -> Covered:
        """The operation for a time column: its result is a duration where the time is a timestamp."""
        return self.changed(result=type_of_ticks(duration, f"a lifetime of {self!r}"))

    def bind(self, *types: pa.DataType) -> StateFunctions:
        return OverLifetimes(self, ClippedTicks(self))


class TimeWeightedAverage(OneColumn):
    """The mean of a column of numbers, each weighed by how long its event lives in the window.

    Of interval events, unless ``fill`` says what lies between points.

    The integral of the column over the lifetimes clipped to the window, divided by their total duration; a float64, and
    null where no event with a value lives in the window (StreamInsight's time-weighted average; R. Barga et al.,
    "Consistent streaming through time", 2007, for lifetimes). Products and sums are compensated, except those of values
    beyond 2**896 (5e269).

    Parameters
    ----------
    column
        Integers, floats or decimals.
    fill
        What lies between an event and the next one of its key, where events have no ends: ``"last"``, the last value
        carried forward, or ``"linear"``, a line from value to value. The mean is then that from the first event of a
        window that has a value to the last one: what holds before and after is not known; the last value where no time
        lies between them. It slides by two-stacks, in time order.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"start": [0, 8], "end": [8, 13], "load": [2.0, 7.0]})
    >>> query = ff.events(events, time="start", until="end").window(ff.tumbling(10))
    >>> query.aggregate(load=ff.TimeWeightedAverage("load"))["load"].to_pylist()
    [3.0, 7.0]
    >>> points = ff.events(events, time="start").window(ff.tumbling(10))
    >>> points.aggregate(load=ff.TimeWeightedAverage("load", fill="linear"))["load"].to_pylist()
    [4.5]
    """

    result = pa.float64()

    def __init__(self, column: ColumnLike, *, fill: Fill | None = None) -> None:
        super().__init__(column)
        if fill not in (None, "last", "linear"):
            raise QueryError(f"fill= of {self!r} is {fill!r}; expected 'last', 'linear' or None")
        self.fill = fill
        self.commutative = fill is None

    def __repr__(self) -> str:
        fill = getattr(self, "fill", None)
        return f"TimeWeightedAverage({self.columns[0]!r}{f', fill={fill!r}' if fill else ''})"

    @property
    def of_lifetimes(self) -> bool:
        return self.fill is None

    def bind(self, *types: pa.DataType) -> StateFunctions:
        require_numbers(self, types[0])
        if self.fill is not None:
            return MeanBetween(self, types[0], self.fill == "linear")
        return OverLifetimes(self, ClippedMean(self), *types)


class OverLifetimes(Parts):
    """Partials of lifetimes: heads, tails and levels side by side.

    :func:`framefold.runtime.intervals.coverage.over_frames` makes states of frames of them, which are states of
    ``clipped``, as those of windows are. Events without an end, which only trials have, live for one tick: their
    partials are heads only, which ``finish`` takes too.
    """

    def __init__(self, spec: AggregateOperation, clipped: ClippedTicks, *types: pa.DataType) -> None:
        self.own = clipped
        self.clipped = BoundAggregate("lifetimes", clipped, types)
        super().__init__(spec, dict.fromkeys(("head", "tail", "level"), self.clipped))
        self.result = clipped.result

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        one = np.ones(len(frames.index), np.int64)
        ticks = {"head": one, "tail": one - 1, "level": one}
        if isinstance(frames, Lifetimes):
            ticks |= {"head": frames.head, "tail": frames.tail}
        return self._together({name: self.own.of(frames, columns, each) for name, each in ticks.items()})

    def finish(self, a: State) -> Any:
        return self.own.finish(self.part("head", a) if "head.ticks" in a else a)

    def over_ticks(self, level: State, ticks: Ints) -> State:
        """States of ``clipped`` of events that live for ``ticks``, given those of one tick."""
        return self.own.over_ticks(level, ticks)


def lifetimes_of(bound: BoundAggregate, intervals: bool = True) -> OverLifetimes | None:
    """The operation on lifetimes in an output; None without one.

    Parameters
    ----------
    bound
        The output. Functions of its results, and of its columns before, may be wrapped around it.
    intervals
        Whether the query's events are interval events.

    Raises
    ------
    QueryError
        If it is of lifetimes and the events are not interval events, or it is inside an operation that is not over
        whole windows.
    """
    if not bound.spec.of_lifetimes:
        return None
    within = bound.spec
    while not isinstance(within, (Covered, TimeWeightedAverage)):
        within = next(part for part in within._parts() if part.of_lifetimes)
    if not intervals:
        raise QueryError(
            f"{within!r} is of interval events only; expected ff.events(..., until=) with the column of their ends"
            + (", or fill='last' for values that hold until the next event" if within.columns else "")
        )
    operation = bound.operation
    while isinstance(operation, Wrapped) and not isinstance(operation, Unfolded):
        operation = operation.inner.operation
    if not isinstance(operation, OverLifetimes):
        raise QueryError(f"{bound.spec!r} has {within!r} inside; expected it as an output by itself")
    return operation
