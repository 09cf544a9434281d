"""The extremes of a column: Min, Max."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions
from ..contract.frames import Frames, Values
from ..contract.operation import OneColumn, State
from ..contract.sql_spec import SqlSpec
from ..errors import ColumnError
from ..numeric.grouped import canonical
from ..states.fields import numpy_type

__all__ = ["Max", "Min"]


class Min(OneColumn):
    """The least value of a column; null where a window has none.

    Works on numbers, booleans, dates, times, timestamps, durations, strings (by their bytes, as Spark orders them) and
    binaries. NaN is above every other value, as in Spark SQL, and of both zeros the result is 0.0. There is no deduct:
    it slides by two-stacks.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3.0, float("nan"), 4.0], "name": ["b", "a", None]})
    >>> query = ff.events(events, time="t").window(ff.sliding(2, every=1))
    >>> query.aggregate(low=ff.Min("x"), name=ff.Min("name")).select(["low", "name"]).to_pydict()
    {'low': [3.0, 3.0, 4.0, 4.0], 'name': ['b', 'a', 'a', None]}
    """

    compares = slice(None)
    commutative = True
    takes_empty_frames = True
    least: ClassVar[bool] = True
    neutral: Any = None
    """The placeholder for no value, for types that numpy lacks; None for others."""

    def bind(self, *types: pa.DataType) -> StateFunctions:
        (type,), dtype = types, numpy_type(types[0])
        neutral = neutral_value(type) if dtype is None else None
        if dtype is None and neutral is None:
            raise ColumnError(f"{self!r} needs a column whose values have an order; {self.columns[0]!r} is {type}")
        # NaN is above all values, NaT is none.
        most = np.maximum if dtype is not None and dtype.kind == "f" else np.fmax
        ufuncs = {"value": np.fmin if self.least else most, "seen": np.logical_or}
        return self.changed(result=type, neutral=neutral, state={"value": type, "seen": "bool"}, ufuncs=ufuncs)

    def create(self) -> Mapping[str, Any]:
        """NaN and NaT, which fmin and fmax leave aside; -inf, below all floats; the least or greatest integer."""
        if self.neutral is not None:
            return {"value": self.neutral, "seen": False}
        dtype = cast(np.dtype[Any], numpy_type(self.result))
        value: Any
        if dtype.kind in "mM":
            value = np.array("NaT", dtype)[()]
        elif dtype.kind == "f":
            value = np.nan if self.least else -np.inf
        elif dtype.kind == "b":
            value = self.least
        else:
            limits = np.iinfo(dtype)
            value = limits.max if self.least else limits.min
        return {"value": value, "seen": False}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        value = frames.min(columns[0]) if self.least else frames.max(columns[0])
        return {"value": value, "seen": np.ones(frames.size, bool)}

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        """None for types of variable width: Spark's hash aggregate does not take them, and would sort the events."""
        fits = numpy_type(self.result) is not None or pa.types.is_decimal(self.result)
        return super().sql_spec(*types) if fits else None

    @property
    def sql(self) -> Mapping[str, str]:  # type: ignore[override]  # by least or greatest
        """The extreme, which is null where there is no value."""
        extreme = f"{'min' if self.least else 'max'}({{0}})"
        return {"value": extreme, "seen": f"{extreme} is not null"}

    def combine(self, a: State, b: State) -> State:
        if self.neutral is None:
            return {field: function(a[field], b[field]) for field, function in self.ufuncs.items()}
        x, y = a["value"], b["value"]
        a_seen, b_seen = a["seen"], b["seen"]
        better = (x <= y if self.least else x >= y).astype(bool)
        return {"value": np.where(a_seen & (better | ~b_seen), x, y), "seen": a_seen | b_seen}

    def finish(self, a: State) -> Any:
        if self.neutral is None:
            return pa.array(canonical(a["value"]), mask=~a["seen"])
        return pa.array(a["value"].tolist(), type=self.result, mask=~a["seen"])


class Max(Min):
    """The greatest value of a column; null where a window has none.

    Works on the types that :class:`Min` works on, and orders them alike.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3, 9, None]})
    >>> ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(x=ff.Max("x"))["x"].to_pylist()
    [3, 9, 9, None]
    """

    least = False


def neutral_value(type: pa.DataType) -> Any:
    """A placeholder value of an ordered type that numpy lacks; None where the type has no order."""
    if pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return ""
    if pa.types.is_decimal(type):
        return decimal.Decimal(0)
    if pa.types.is_time(type):
        return datetime.time()
    if pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type):
        return bytes(type.byte_width) if pa.types.is_fixed_size_binary(type) else b""
    return None
