"""ArgMin and ArgMax: the value of one column where another is least or greatest."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from .operation import AggregateOperation
from .order import Order
from .picks import TIME, Pick


class ArgMin(AggregateOperation):
    """The value of a column at the event where another column is least; null where that one has no values.

    Of several such events the earliest is taken, of those at one time the one that came first. Events whose ``by`` is
    null are left out; the value of the one taken may be null. As ``min_by`` in Spark SQL, with NaN above every other
    value.

    Parameters
    ----------
    column
        What is returned: any type.
    by
        What is compared: any type that has an order.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "who": ["a", "b", "c"], "x": [3, 2, 2]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(who=ff.ArgMin("who", "x"))["who"].to_pylist()
    ['b']
    """

    drops_nulls = False  # of the column; those of ``by`` are left out here
    commutative = True
    greatest: ClassVar[bool] = False

    def __init__(self, column: str, by: str) -> None:
        super().__init__(column, by)

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        by = ((Order(self, self.columns[1], types[1]), self.greatest), (TIME, False))
        return Pick(self, types[0], by, last=False)


class ArgMax(ArgMin):
    """The value of a column at the event where another column is greatest; null where that one has no values.

    Parameters and ties as for :class:`ArgMin`. As ``max_by`` in Spark SQL.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "who": ["a", "b", "c"], "x": [3, 9, 9]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(who=ff.ArgMax("who", "x"))["who"].to_pylist()
    ['b']
    """

    greatest = True
