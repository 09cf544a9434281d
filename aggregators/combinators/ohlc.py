"""OHLC: the first, the greatest, the least, the last value of a column in one struct."""

from __future__ import annotations

from ..contract.column_expressions import ColumnLike
from ..extremes.min_max import Max, Min
from ..ordered.first_last import First, Last
from .all_of import AllOf

__all__ = ["OHLC"]


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
