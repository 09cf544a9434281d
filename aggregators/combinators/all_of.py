"""Several operations in one output: AllOf, OHLC."""

from __future__ import annotations

import pyarrow as pa

from ..contract.aggregate import StateFunctions
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike
from ..contract.operation import OfOthers, Operation, require_operation
from ..contract.wrapped import Parts, each_ones
from ..errors import QueryError
from ..extremes.min_max import Max, Min
from ..ordered.first_last import First, Last

__all__ = ["OHLC", "AllOf"]


class AllOf(OfOthers):
    """Several operations in one output: a struct of their results.

    Each leaves out nulls of its own columns only. A window slides by deduct where all of them can.

    Parameters
    ----------
    **parts
        The operations, under the names of the struct's fields.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3, None, 4]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(x=ff.AllOf(sum=ff.Sum("x"), rows=ff.Count()))["x"].to_pylist()
    [{'sum': 7, 'rows': 3}]
    """

    joins_results = True

    def __init__(self, **parts: Operation) -> None:
        if not parts:
            raise QueryError("AllOf is given no operations; expected some by name, such as mean=ff.Average('x')")
        for name, part in parts.items():
            require_operation(f"AllOf's {name}=", part)
            if "." in name:
                raise QueryError(f"AllOf names a part {name!r}; expected a name without a dot")
        self.parts = parts
        super().__init__(*(column for part in parts.values() for column in part.columns))

    def __repr__(self) -> str:
        return f"AllOf({', '.join(f'{name}={part!r}' for name, part in self.parts.items())})"

    def bind(self, *types: pa.DataType) -> StateFunctions:
        own = each_ones(self.parts, types)
        return Parts(self, {name: BoundAggregate(name, part, own[name]) for name, part in self.parts.items()})


class OHLC(AllOf):
    """Open, high, low, close of a column: its first, greatest, least, last value in a window, as a struct.

    Each is as :class:`First`, :class:`Max`, :class:`Min`, :class:`Last` give it.

    Parameters
    ----------
    column
        Any type but lists, maps, structs; usually a price.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "price": [10.0, 12.5, 9.0, 11.0]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(4))
    >>> query.aggregate(bar=ff.OHLC("price"))["bar"].to_pylist()
    [{'open': 10.0, 'high': 12.5, 'low': 9.0, 'close': 11.0}]
    """

    def __init__(self, column: ColumnLike) -> None:
        super().__init__(open=First(column), high=Max(column), low=Min(column), close=Last(column))

    def __repr__(self) -> str:
        return f"OHLC({self.columns[0]!r})"
