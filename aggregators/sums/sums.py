"""The sum of a column, its count, their quotient: Sum, Count, Average."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions, TypedOperation
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import is_decimal, require_summable
from ..contract.operation import AggregateOperation, State, Sums
from ..contract.sql_spec import Planes, SqlSpec
from ..errors import QueryError, SumOverflowError
from ..states.alike import ones
from ..states.arrays import Bools
from ..states.limbs import Exact
from . import sql_floats, sql_integers

__all__ = ["Average", "Count", "Sum", "Mean"]


class Count(Sums):
    """The number of events: of all, or of those whose column is not null.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 1], "x": [5, None, 6]})
    >>> counts = ff.events(events, time="t").window(ff.tumbling(2)).aggregate(rows=ff.Count(), known=ff.Count("x"))
    >>> counts.select(["rows", "known"]).to_pylist()
    [{'rows': 3, 'known': 2}]
    """

    state = {"count": "int64"}
    result = pa.int64()
    takes_empty_frames = True

    def __init__(self, column: ColumnLike | None = None) -> None:
        if isinstance(column, str) and column == "*":
            raise QueryError("Count is given '*'; expected ff.Count(), which counts all rows")
        super().__init__(*() if column is None else (column,))

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"count": frames.counts}

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        counts = {"count": "count({0})" if self.columns else "count(*)"}
        return SqlSpec(counts, lambda planes: {"count": planes["count"].to_numpy()})

    def finish(self, a: State) -> Any:
        return a["count"]


class Sum(AggregateOperation):
    """The sum of a column of numbers or durations; null where a window has none.

    Sums of integers, decimals and durations are exact; one that does not fit its type (int64; 10 digits more than the
    column's for decimals, as in Spark; the column's for durations) is an error, never a wrapped number. Floats are
    summed with compensation.

    Parameters
    ----------
    column
        Integers, floats, decimals, durations, or booleans, of which it counts those that are true, as in pandas.
    empty
        The sum of no values, None (null) unless given, as in SQL; a ``timedelta`` or 0 for durations.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [1e16, 1.0, 1.0]})
    >>> ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(s=ff.Sum("x"))["s"].to_pylist()
    [1e+16, 1e+16, 2.0, 1.0]
    """

    commutative = True
    takes_empty_frames = True
    result_parameters = ("empty",)

    def __init__(self, column: ColumnLike, *, empty: float | datetime.timedelta | None = None) -> None:
        super().__init__(column)
        if empty is not None and (isinstance(empty, bool) or not isinstance(empty, (int, float, datetime.timedelta))):
            raise QueryError(f"empty= of {self!r} is {empty!r}; expected a number, a timedelta or None")
        self.empty = empty

    def bind(self, *types: pa.DataType) -> StateFunctions:
        if pa.types.is_boolean(types[0]):
            return SumOfIntegers(self, pa.int8())
        require_summable(self, types[0])
        if pa.types.is_duration(types[0]):
            return SumOfDurations(self, types[0])
        return (SumOfFloats if pa.types.is_floating(types[0]) else SumOfIntegers)(self, types[0])


class Average(Sum):
    """The arithmetic mean of a column of numbers or durations; null where a window has none.

    A float64, or for decimals, as in Spark, a decimal with 4 digits more after the point. For durations, as in Spark, a
    duration of the column's unit, rounded to the nearest, halves away from 0. For booleans the share that is true.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3, None, 4]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(mean=ff.Average("x"))["mean"].to_pylist()
    [3.5]
    """

    def __init__(self, column: ColumnLike) -> None:
        super().__init__(column)

    def bind(self, *types: pa.DataType) -> StateFunctions:
        if pa.types.is_boolean(types[0]):
            return AverageOfIntegers(self, pa.int8())
        require_summable(self, types[0])
        if pa.types.is_duration(types[0]):
            return AverageOfDurations(self, types[0])
        return (AverageOfFloats if pa.types.is_floating(types[0]) else AverageOfIntegers)(self, types[0])


Mean = Average


class TypedSum(TypedOperation, Sums):
    """A sum or a mean of numbers of one type."""

    takes_empty_frames = True
    spec: Sum

    def value(self, a: State) -> tuple[Any, Bools]:
        """The results, and where there are any values."""
        raise AssertionError("written by every sum")

    def finish(self, a: State) -> Any:
        values, known = self.value(a)
        column = values if isinstance(values, pa.Array) else pa.array(values)
        if known.all():
            return column
        return pa.compute.if_else(pa.array(known), column, self.filler())

    def require_fit(self, what: str, fits: Bools, wider: str) -> None:
        """SumOverflowError unless all results fit their type; ``wider`` is what the column can be cast to."""
        if not fits.all():
            raise SumOverflowError(
                f"the {what} of {self.columns[0]!r} does not fit {self.result} in {np.count_nonzero(~fits)} of "
                f"{len(fits)} windows; cast the column to {wider} to go on"
            )

    def filler(self) -> pa.Scalar:
        """The result of no values."""
        assert not isinstance(self.spec.empty, datetime.timedelta)
        return pa.scalar(self.spec.empty, pa.float64()).cast(self.result, safe=True)


class SumOfIntegers(TypedSum):
    """A sum of integers or decimals, exact."""

    state = {"total": "exact", "count": "int64"}

    def __init__(self, spec: Sum, type: pa.DataType) -> None:
        super().__init__(spec)
        self.result = pa.uint64() if type == pa.uint64() else pa.int64()
        if is_decimal(type):
            self.result = pa.decimal128(min(38, type.precision + 10), type.scale)
            self.state = {"total": "exact128", "count": "int64"}
        if spec.empty is not None:
            require_number(spec)
            try:
                self.filler()
            except pa.ArrowInvalid as error:
                raise QueryError(f"empty= of {spec!r} is {spec.empty!r}, which {self.result} cannot hold") from error

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"total": frames.exact_sum(columns[0]), "count": frames.count()}

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        return sql_integers.sums(types[0])

    def value(self, a: State) -> tuple[Any, Bools]:
        total: Exact = a["total"]
        if isinstance(self.result, pa.Decimal128Type):
            values, fits = total.decimals(self.result)
        else:
            values, fits = total.uint64() if self.result == pa.uint64() else total.int64()
        self.require_fit("sum", fits, wider_than(self.result))
        return values, a["count"] > 0


class SumOfFloats(TypedSum):
    """A sum of floats, compensated, with the number of frames that have a value: quicker to get than that of rows."""

    state = {"total": "compensated", "frames": "int64"}
    rounds: ClassVar[bool] = True
    """Sums of windows may be rounded to one float: they are results."""
    result = pa.float64()

    def __init__(self, spec: Sum, type: pa.DataType) -> None:
        super().__init__(spec)
        require_number(spec)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"total": frames.compensated_sum(columns[0]), "frames": ones(frames.size)}

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        return sql_floats.sql_spec(types[0], self.read_sums)

    def read_sums(self, planes: Planes) -> State:
        """States of the sums of parts."""
        total, known = sql_floats.read(planes)
        return {"total": total, "frames": known.astype(np.int64)}

    def value(self, a: State) -> tuple[Any, Bools]:
        return a["total"].value(), a["frames"] > 0


class AverageOfFloats(SumOfFloats):
    """A mean of floats: their sum and the number of rows."""

    state = {"total": "compensated", "count": "int64"}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"total": frames.compensated_sum(columns[0]), "count": frames.count()}

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        return sql_floats.sql_spec(types[0], self.read_sums, count="count({0})")

    def read_sums(self, planes: Planes) -> State:
        return {"total": sql_floats.read(planes)[0], "count": planes["count"].to_numpy()}

    def value(self, a: State) -> tuple[Any, Bools]:
        return a["total"].value(divisor=np.maximum(a["count"], 1)), a["count"] > 0


class AverageOfIntegers(SumOfIntegers):
    """A mean of integers or decimals."""

    def __init__(self, spec: Sum, type: pa.DataType) -> None:
        super().__init__(spec, type)
        self.digits = 0
        self.result = pa.float64()
        if is_decimal(type):
            self.result = pa.decimal128(min(38, type.precision + 4), min(38, type.scale + 4))
            self.digits = self.result.scale - type.scale

    def value(self, a: State) -> tuple[Any, Bools]:
        total, count = a["total"], a["count"]
        divisor = np.maximum(count, 1)
        if not isinstance(self.result, pa.Decimal128Type):
            return total.quotients(divisor), count > 0
        values, fits = total.times(10**self.digits).divided(divisor).decimals(self.result)
        self.require_fit("mean", fits, wider_than(self.result, self.digits))
        return values, count > 0


class SumOfDurations(TypedSum):
    """A sum of durations, exact, of the column's type."""

    state = {"total": "exact", "count": "int64"}

    def __init__(self, spec: Sum, type: pa.DataType) -> None:
        super().__init__(spec)
        self.result = type
        if spec.empty is None:
            return
        if not isinstance(spec.empty, datetime.timedelta) and spec.empty != 0:
            raise QueryError(
                f"empty= of {spec!r} is {spec.empty!r}, but {spec.columns[0]!r} is {type}; expected a timedelta or 0"
            )
        try:
            self.filler()
        except pa.ArrowInvalid as error:
            raise QueryError(f"empty= of {spec!r} is {spec.empty!r}, which {type} cannot hold") from error

    def filler(self) -> pa.Scalar:
        empty = self.spec.empty
        if empty is None:
            return pa.scalar(None, self.result)
        return pa.scalar(empty or datetime.timedelta(0), pa.duration("us")).cast(self.result, safe=True)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"total": frames.exact_sum(columns[0].view(np.int64)), "count": frames.count()}

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        return sql_integers.sums(types[0])

    def value(self, a: State) -> tuple[Any, Bools]:
        ticks, fits = a["total"].int64()
        self.require_fit("sum", fits, "a coarser unit (duration[s])")
        return pa.array(ticks).view(self.result), a["count"] > 0


class AverageOfDurations(SumOfDurations):
    """A mean of durations, rounded to the column's unit."""

    def value(self, a: State) -> tuple[Any, Bools]:
        count = a["count"]
        ticks, _ = a["total"].divided(np.maximum(count, 1)).int64()
        return pa.array(ticks).view(self.result), count > 0


def require_number(spec: Sum) -> None:
    """QueryError where a sum of numbers is given a duration as that of no values."""
    if isinstance(spec.empty, datetime.timedelta):
        raise QueryError(f"empty= of {spec!r} is {spec.empty!r}, but {spec.columns[0]!r} has numbers; expected one")


def wider_than(result: pa.DataType, added: int = 0) -> str:
    """What a column can be cast to where a result does not fit its type, of whose scale some digits were added."""
    if not isinstance(result, pa.Decimal128Type):
        return "a wider type (decimal(38, 0) or double)"
    if result.precision < 38:
        return f"a wider type (decimal(38, {result.scale - added}) or double)"
    return "fewer digits after the point or to double" if result.scale > added else "double"
