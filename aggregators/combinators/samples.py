"""The number of events that an operation is given, for windows that must have some of them."""

from __future__ import annotations

import pyarrow as pa

from ..contract.operation import Operation, Then
from ..contract.sql_spec import SqlSpec
from ..sums.sums import Count
from .filtered import Filtered


class Samples(Count):
    """The number of events without a null in the columns; of all events if no columns are given."""

    def __init__(self, *columns: str) -> None:
        super().__init__()
        self.columns = columns

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        count = f"count({', '.join(f'{{{at}}}' for at in range(len(types)))})" if types else "count(*)"
        return SqlSpec({"count": count}, lambda planes: {"count": planes["count"].to_numpy()})


def samples_of(operation: Operation) -> Operation:
    """What counts the events of an operation: those in which none of its columns is null, and which pass its test.

    Of a Count those with a null count too, as in pandas.

    >>> from framefold.aggregators import Average
    >>> samples_of(Average("x")), samples_of(Count("x"))
    (Samples('x'), Samples())
    """
    while isinstance(operation, Then):
        operation = operation.operation.changed(columns=operation.columns)
    if isinstance(operation, Filtered):
        own = len(operation.operation.columns)
        counts = samples_of(operation.operation.changed(columns=operation.columns[:own]))
        return operation.changed(operation=counts, columns=(*counts.columns, *operation.columns[own:]))
    return Samples() if type(operation) is Count else Samples(*operation.columns)
