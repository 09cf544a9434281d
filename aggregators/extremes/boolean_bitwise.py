"""Boolean or bitwise reductions: CountIf, BitAnd, BitOr, BitXor, BoolAnd, BoolOr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Never

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions
from ..contract.column_expressions import ColumnLike, kind_of
from ..contract.frames import Frames, Values
from ..contract.operation import OneColumn, State, Sums
from ..errors import ColumnError, QueryError, shown
from ..states.fields import numpy_type

__all__ = ["BitAnd", "BitOr", "BitXor", "BoolAnd", "BoolOr", "CountIf"]


class BoolAnd(OneColumn, Sums):
    """Whether a column of booleans is true in all rows; null where a window has none. As Spark's ``bool_and``.

    States count the rows and those that are true, so that they deduct exactly.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "ok": [True, None, False, True]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(ok=ff.BoolAnd("ok"))["ok"].to_pylist()
    [True, False]
    """

    state = {"true": "int64", "count": "int64"}
    sql = {"true": "count_if({0})", "count": "count({0})"}
    result: pa.DataType = pa.bool_()

    def bind(self, *types: pa.DataType) -> StateFunctions:
        if not pa.types.is_boolean(types[0]):
            raise ColumnError(f"{self!r} needs a column of booleans; {self.columns[0]!r} is {types[0]}")
        return self

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"true": frames.sum(columns[0]), "count": frames.count()}

    def finish(self, a: State) -> Any:
        count = a["count"]
        return pa.array(a["true"] == count, mask=count == 0)


class BoolOr(BoolAnd):
    """Whether a column of booleans is true in any row; null where a window has none. As Spark's ``bool_or``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "late": [False, True, False, None]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(late=ff.BoolOr("late"))["late"].to_pylist()
    [True, False]
    """

    def finish(self, a: State) -> Any:
        return pa.array(a["true"] > 0, mask=a["count"] == 0)


class CountIf(BoolAnd):
    """The number of rows where a column of booleans is true; 0 where there are none. As Spark's ``count_if``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "late": [True, True, False, None]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(late=ff.CountIf("late"))["late"].to_pylist()
    [2, 0]
    """

    state = {"true": "int64"}
    sql = {"true": "count_if({0})"}
    result = pa.int64()

    def __init__(self, column: ColumnLike, *more: Never) -> None:
        if any(callable(each) and kind_of(each) is None for each in (column, *more)):
            names = [repr(each) for each in (column, *more) if isinstance(each, str)] or ["'x'"]
            raise QueryError(
                "CountIf is given a function; expected a column of booleans, or ff.Filtered(ff.Count(), function, "
                f"{', '.join(names)})"
            )
        if more:
            raise QueryError(
                f"CountIf takes one column; found {1 + len(more)}: {', '.join(map(shown, (column, *more)))}"
            )
        super().__init__(column)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"true": frames.sum(columns[0])}

    def finish(self, a: State) -> Any:
        return a["true"]


class Bits(OneColumn):
    """Integers joined bit by bit."""

    commutative = True
    join: ClassVar[np.ufunc]

    def bind(self, *types: pa.DataType) -> StateFunctions:
        if not pa.types.is_integer(types[0]):
            raise ColumnError(f"{self!r} needs a column of integers; {self.columns[0]!r} is {types[0]}")
        state = {"bits": types[0], "count": "int64"}
        return self.changed(result=types[0], state=state, ufuncs={"bits": self.join, "count": np.add})

    def create(self) -> Mapping[str, Any]:
        neutral = self.join.identity or 0
        return {"bits": np.array(neutral).astype(numpy_type(self.result))[()], "count": 0}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        joined = np.full(frames.size, self.create()["bits"])
        self.join.at(joined, frames.index, columns[0])
        return {"bits": joined, "count": frames.count()}

    @property
    def sql(self) -> Mapping[str, str]:  # type: ignore[override]  # by how bits are joined
        """Spark's aggregate of the same name."""
        return {"bits": f"bit_{self.join.__name__.removeprefix('bitwise_')}({{0}})", "count": "count({0})"}

    def combine(self, a: State, b: State) -> State:
        return {"bits": self.join(a["bits"], b["bits"]), "count": a["count"] + b["count"]}

    def finish(self, a: State) -> Any:
        return pa.array(a["bits"], mask=a["count"] == 0)


class BitAnd(Bits):
    """The bits that all integers of a column have; null where a window has none. As Spark's ``bit_and``.

    There is no deduct: it slides by two-stacks.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1], "flags": [0b110, 0b011]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(x=ff.BitAnd("flags"))["x"].to_pylist()
    [2]
    """

    join = np.bitwise_and


class BitOr(Bits):
    """The bits that any integer of a column has; null where a window has none. As Spark's ``bit_or``.

    There is no deduct: it slides by two-stacks.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1], "flags": [0b100, 0b001]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(x=ff.BitOr("flags"))["x"].to_pylist()
    [5]
    """

    join = np.bitwise_or


class BitXor(Bits):
    """The bits that an odd number of integers of a column have; null where a window has none. As Spark's ``bit_xor``.

    It deducts exactly: xor is its own inverse.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [6, 3, 3]})
    >>> ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(x=ff.BitXor("x"))["x"].to_pylist()
    [6, 5, 0, 3]
    """

    join = np.bitwise_xor

    def deduct(self, a: State, b: State) -> State:
        return {"bits": self.join(a["bits"], b["bits"]), "count": a["count"] - b["count"]}
