"""Range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..contract.aggregate import StateFunctions
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import is_decimal, is_number
from ..contract.operation import AggregateOperation, OneColumn, State
from ..errors import ColumnError, SumOverflowError
from .min_max import Max, Min

__all__ = ["Range"]


class Range(OneColumn):
    """The greatest value of a column less the least; null where a window has none.

    The type is int64 for integers (uint64 for uint64), float64 for floats, a decimal with one digit more for decimals,
    and a duration in microseconds for dates, timestamps and durations (in nanoseconds where the column is). A range
    that does not fit is an error, never a wrapped number. NaN is above every other value, as in Spark SQL, so with one
    in it a range is NaN. There is no deduct: it slides by two-stacks.

    Parameters
    ----------
    column
        Integers, floats, decimals, dates, timestamps or durations.

    Examples
    --------
    >>> import datetime, pyarrow as pa, framefold as ff
    >>> days = [datetime.date(2026, 3, 1), datetime.date(2026, 2, 1), None]
    >>> events = pa.table({"t": [0, 1, 2], "x": [3.5, 1.0, 2.0], "day": days})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(x=ff.Range("x"), days=ff.Range("day")).select(["x", "days"]).to_pylist()
    [{'x': 2.5, 'days': datetime.timedelta(days=28)}]
    """

    compares = slice(None)
    commutative = True
    low: AggregateOperation
    high: AggregateOperation

    def bind(self, *types: pa.DataType) -> StateFunctions:
        (column,), (type,) = self.columns, types
        result = difference_type(type)
        if result is None:
            raise ColumnError(
                f"{self!r} needs a column of numbers, dates, timestamps or durations; {column!r} is {type}"
            )
        low, high = Min(column).bind(type), Max(column).bind(type)
        state = {"low": type, "high": type, "seen": "bool"}
        ufuncs = {"low": low.ufuncs["value"], "high": high.ufuncs["value"], "seen": np.logical_or}
        return self.changed(low=low, high=high, result=result, state=state, ufuncs=ufuncs)

    def create(self) -> dict[str, Any]:
        return {"low": self.low.create()["value"], "high": self.high.create()["value"], "seen": False}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return both(self.low.accumulate(frames, *columns), self.high.accumulate(frames, *columns))

    def combine(self, a: State, b: State) -> State:
        return both(self.low.combine(one(a, "low"), one(b, "low")), self.high.combine(one(a, "high"), one(b, "high")))

    def finish(self, a: State) -> Any:
        low, high = self.low.finish(one(a, "low")), self.high.finish(one(a, "high"))
        wide = result = self.result
        if is_decimal(wide):
            if wide.scale < 0:  # Arrow does not compute with these: whole hundreds, say, are numbers as well
                low, high = (each.view(pa.decimal128(each.type.precision, 0)) for each in (low, high))
                result = pa.decimal128(wide.precision, 0)
            wide = pa.decimal256(result.precision + 1, result.scale)
        try:
            if not pa.types.is_duration(wide):
                low, high = low.cast(wide), high.cast(wide)
            found = pc.subtract_checked(high, low).cast(result)
            return found if result == self.result else found.view(self.result)
        except pa.ArrowInvalid as error:
            raise SumOverflowError(
                f"the range of {self.columns[0]!r} does not fit {self.result} in some window; cast the column to "
                "double to go on"
            ) from error


def difference_type(type: pa.DataType) -> pa.DataType | None:
    """The type of differences of values of a type; None where they have none."""
    if is_decimal(type):
        return pa.decimal128(min(38, type.precision + 1), type.scale)
    if pa.types.is_floating(type):
        return pa.float64()
    if is_number(type):
        return pa.uint64() if type == pa.uint64() else pa.int64()
    if pa.types.is_timestamp(type) or pa.types.is_duration(type):
        return pa.duration("ns" if type.unit == "ns" else "us")
    return pa.duration("us") if pa.types.is_date(type) else None


def one(a: State, side: str) -> State:
    """One side of states, as the states of Min or Max."""
    return {"value": a[side], "seen": a["seen"]}


def both(low: State, high: State) -> State:
    """States of both sides."""
    return {"low": low["value"], "high": high["value"], "seen": low["seen"]}
