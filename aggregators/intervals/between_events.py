"""Sums over what lies between neighbouring events: increases of counters, time in a state, means by time.

A window's events know nothing of those outside: its sums run from its first event with a value to its last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..contract.aggregate import StateFunctions, TypedOperation
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats, in_pairs, require_numbers
from ..contract.operation import OneColumn, Operation, State
from ..durations import Duration
from ..errors import ColumnError, DurationError, SumOverflowError, shown
from ..ordered.sorted_merge import rows_by_frame
from ..states.arrays import Ints
from ..states.fields import Compensated
from ..states.limbs import Exact
from .clipped import sum_of_pairs, times_ticks

__all__ = ["Delta", "Rate", "TimeInState"]

SECONDS_OF_A_DAY = 86_400


def ticks_of_a_day(duration: Callable[[Duration, str], int], what: str) -> int | None:
    """The ticks of a day of a time column; None where it has integers, which are no days."""
    try:
        return duration("1 day", what)
    except DurationError:
        return None


def type_of_ticks(duration: Callable[[Duration, str], int], what: str) -> pa.DataType:
    """A duration where the time is a timestamp, else int64: days where it is a date, or ticks."""
    return pa.duration("us") if (ticks_of_a_day(duration, what) or 1) > 1 else pa.int64()


def kept_of(type: pa.DataType) -> str:
    """What states keep numbers of a type as."""
    return "uint64" if pa.types.is_unsigned_integer(type) else "int64" if pa.types.is_integer(type) else "float64"


class BetweenEvents(TypedOperation):
    """The sum, over each two neighbouring events of a key, of what :meth:`between` gives for them.

    States have the first and the last value, their times, and the sum between them; two are combined with what lies
    between the last event of the one and the first of the other. So they are merged in time order. There is no
    deduct: without its first events a state would not know which one is the first.
    """

    commutative = False

    def __init__(self, spec: Operation, value: str, total: str) -> None:
        super().__init__(spec)
        self.state = {
            "first_time": "int64", "last_time": "int64", "first": value, "last": value, "seen": "bool", "total": total,
        }  # fmt: skip

    def values(self, column: Values) -> NDArray[Any]:
        """What states keep of a column."""
        kept: str = self.state["first"]
        return floats(column) if kept == "float64" else cast(NDArray[Any], column).astype(kept, copy=False)

    def between(self, before: NDArray[Any], after: NDArray[Any], ticks: Ints) -> Any:
        """What lies between two events, given their values and the time between them; 0 for zeros."""
        raise AssertionError("written by each of them")

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        rows = rows_by_frame(frames, frames.order)
        index, ticks, values = frames.index[rows], frames.ticks[rows], self.values(columns[0])[rows]
        ordered = Frames(index, frames.size, ticks, np.arange(len(rows)))
        follows = np.r_[False, index[1:] == index[:-1]]
        before, after = np.zeros_like(values), np.where(follows, values, np.zeros_like(values))
        before[1:] = np.where(follows[1:], values[:-1], before[1:])
        parts = self.between(before, after, np.where(follows, np.diff(ticks, prepend=ticks[:1]), 0))
        first, last = ordered.first_row, ordered.last_row
        return {
            "first_time": ticks[first], "last_time": ticks[last], "first": values[first], "last": values[last],
            "seen": np.ones(frames.size, bool), "total": self._sum(ordered, parts),
        }  # fmt: skip

    def _sum(self, frames: Frames, parts: Any) -> Any:
        if isinstance(parts, Compensated):
            return sum_of_pairs(frames, parts)
        return {"exact": frames.exact_sum, "compensated": frames.compensated_sum, "int64": frames.sum}[
            self.state["total"]
        ](parts)

    def combine(self, a: State, b: State) -> State:
        both = a["seen"] & b["seen"]
        nothing = np.zeros_like(a["first"])
        before, after = (np.where(both, each, nothing) for each in (a["last"], b["first"]))
        parts = self.between(before, after, np.where(both, b["first_time"] - a["last_time"], 0))
        if self.state["total"] == "exact":
            parts = Exact.of(parts)
        elif self.state["total"] == "compensated" and not isinstance(parts, Compensated):
            parts = Compensated.of(parts)
        ends = {
            f"{end}{kind}": np.where(of["seen"], of[f"{end}{kind}"], other[f"{end}{kind}"])
            for end, of, other in (("first", a, b), ("last", b, a))
            for kind in ("", "_time")
        }
        return {**ends, "seen": a["seen"] | b["seen"], "total": a["total"] + b["total"] + parts}


class Delta(OneColumn):
    """How much a counter has risen within a window: its last value minus its first one, and what resets have taken.

    A value below the one before it is a reset: the counter is taken to have started again from 0, as Prometheus'
    ``increase`` does, without its extrapolation. 0 where a window has one value, null where it has none; NaN with NaN.
    What has been counted between the last event before a window and the first one in it is in neither. For a column
    that may fall, take ``ff.Last("x") - ff.First("x")``.

    Parameters
    ----------
    column
        Integers (the result is an int64, or an uint64), floats or decimals (a float64).

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 10, 20, 30], "requests": [100, 130, 5, 25]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(40))
    >>> query.aggregate(served=ff.Delta("requests"))["served"].to_pylist()
    [55]
    """

    def bind(self, *types: pa.DataType) -> StateFunctions:
        require_numbers(self, types[0])
        return Increase(self, types[0])


class Increase(BetweenEvents):
    """The increase of a counter of one type; what is summed are the values before each reset."""

    def __init__(self, spec: Operation, type: pa.DataType) -> None:
        kept, whole = kept_of(type), pa.types.is_integer(type)
        super().__init__(spec, kept, "exact" if whole else "compensated")
        self.result = pa.type_for_alias(kept)
        self.of = Exact.of if whole else Compensated.of

    def between(self, before: NDArray[Any], after: NDArray[Any], ticks: Ints) -> Any:
        return np.where(after < before, before, np.zeros_like(before)) + (after - after)  # NaN where one is

    def increase(self, a: State) -> Any:
        """The increase of each state, exact or compensated."""
        return a["total"] + self.of(a["last"]) - self.of(a["first"])

    def finish(self, a: State) -> Any:
        found = self.increase(a)
        if isinstance(found, Compensated):
            return pa.array(found.value(), mask=~a["seen"])
        values, fits = found.uint64() if self.result == pa.uint64() else found.int64()
        if not fits.all():
            raise SumOverflowError(
                f"{self!r} does not fit {self.result} in some window; expected smaller values: cast it to float64"
            )
        return pa.array(values, mask=~a["seen"])


class Rate(OneColumn):
    """How fast a counter has risen within a window, per second: :class:`Delta` over the time from first to last value.

    Prometheus' ``rate`` without its extrapolation. Per unit where the time is an integer. A float64; null where no time
    lies between the values of a window, or it has fewer than two.

    Parameters
    ----------
    column
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": pa.array([0, 10, 20, 30], pa.timestamp("s")), "requests": [100, 130, 5, 25]})
    >>> query = ff.events(events, time="t").window(ff.tumbling("1 minute"))
    >>> [round(rate, 3) for rate in query.aggregate(rate=ff.Rate("requests"))["rate"].to_pylist()]
    [1.833]
    """

    per: float = 1.0
    """The ticks of a second."""

    def at_times(self, duration: Callable[[Duration, str], int]) -> Self:
        """The operation for a time column, whose ticks of a second it knows."""
        day = ticks_of_a_day(duration, f"a second of {self!r}")
        return self if day is None else self.changed(per=day / SECONDS_OF_A_DAY)

    def bind(self, *types: pa.DataType) -> StateFunctions:
        require_numbers(self, types[0])
        return RateOfIncrease(self, types[0])


class RateOfIncrease(Increase):
    """The increase of a counter over the time that it took."""

    spec: Rate

    def __init__(self, spec: Rate, type: pa.DataType) -> None:
        super().__init__(spec, type)
        self.result = pa.float64()

    def finish(self, a: State) -> Any:
        found, ticks = self.increase(a), a["last_time"] - a["first_time"]
        values = found.value() if isinstance(found, Compensated) else found.floats()
        return pa.array(values / ticks * self.spec.per, mask=ticks == 0)


class TimeInState(OneColumn):
    """For how long a column has a value within a window, each value lasting until the next event of its key.

    A duration where the time is a timestamp, days where it is a date, ticks where it is an integer; 0 where the value
    does not occur. From the first event of the window that has a value to the last: how long the last one lasts is not
    known. With interval events, ``ff.Filtered(ff.Covered(), ...)`` takes windows as a whole.

    Parameters
    ----------
    column
        Any type but lists, maps, structs.
    value
        The value, such as ``"on"``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 10, 25, 30], "valve": ["open", "shut", "open", "shut"]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(40))
    >>> query.aggregate(open=ff.TimeInState("valve", "open"))["open"].to_pylist()
    [15]
    """

    result: Any = pa.int64()

    def __init__(self, column: ColumnLike, value: object) -> None:
        super().__init__(column)
        self.value = value

    def __repr__(self) -> str:
        return f"TimeInState({self.columns[0]!r}, {self.value!r})"

    def at_times(self, duration: Callable[[Duration, str], int]) -> Self:
        """The operation for a time column: its result is a duration where the time is a timestamp."""
        return self.changed(result=type_of_ticks(duration, f"a time of {self!r}"))

    def bind(self, *types: pa.DataType) -> StateFunctions:
        return TimeAtValue(self, types[0])


class TimeAtValue(BetweenEvents):
    """The time for which a column of one type has a value."""

    spec: TimeInState

    def __init__(self, spec: TimeInState, type: pa.DataType) -> None:
        super().__init__(spec, "bool", "int64")
        self.result = spec.result
        self.type = type
        try:
            self.value = pa.scalar(spec.value, type)
            pc.equal(pa.array([], type), self.value)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            self.value = None
        if self.value is None or spec.value is None:
            raise ColumnError(
                f"{spec!r} needs a value of the column; {spec.columns[0]!r} is {type}, found {shown(spec.value)}"
            )

    def values(self, column: Values) -> NDArray[Any]:
        column = column if isinstance(column, pa.Array) else pa.array(column, self.type)
        return cast(NDArray[Any], pc.equal(column, self.value).to_numpy(zero_copy_only=False))

    def between(self, before: NDArray[Any], after: NDArray[Any], ticks: Ints) -> Any:
        return np.where(before, ticks, 0)

    def finish(self, a: State) -> Any:
        return pa.array(a["total"]).view(self.result)


class MeanBetween(BetweenEvents):
    """The mean of a column by time, where each value holds until the next event, or changes to it in a line."""

    def __init__(self, spec: Operation, type: pa.DataType, linear: bool) -> None:
        super().__init__(spec, kept_of(type), "compensated")
        self.linear = linear
        self.result = pa.float64()

    def between(self, before: NDArray[Any], after: NDArray[Any], ticks: Ints) -> Any:
        before, after = (np.where(ticks > 0, each, np.zeros_like(each)) for each in (before, after))
        held = in_pairs(before)
        return times_ticks(held + in_pairs(after) if self.linear else held, ticks)

    def finish(self, a: State) -> Any:
        ticks = (a["last_time"] - a["first_time"]).astype(np.float64) * (2 if self.linear else 1)
        mean = a["total"].value(divisor=np.maximum(ticks, 1.0))
        return pa.array(np.where(ticks > 0, mean, floats(a["last"])), mask=~a["seen"])
