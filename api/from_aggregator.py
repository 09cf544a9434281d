"""from_aggregator: Spark's Aggregator, or an object with its methods, as an operation."""

from __future__ import annotations

from typing import Any

from .aggregators.combinators.from_aggregator import of_aggregator
from .aggregators.contract.column_expressions import ColumnLike
from .aggregators.contract.python_operation import PythonOperation
from .aggregators.errors import OperationError

__all__ = ["from_aggregator"]


def from_aggregator(aggregator: Any, *columns: ColumnLike, result: Any = None) -> PythonOperation:
    """An operation of any object with ``zero``, ``reduce``, ``merge`` and ``finish``.

    Such as an object of ``pyspark.sql.aggregator.Aggregator`` of Spark 4.4, which is not needed for it. What Spark asks
    of these methods is what sliding asks: ``zero`` is neutral for ``merge``, ``merge`` is associative, and ``reduce``
    of further values is ``merge`` with what they reduce to. A query tries the first two on a few made-up events,
    :func:`check_laws` all three. ``merge`` returns a new buffer, or one of its arguments unchanged; it need not
    commute, and gets the earlier buffer first. Values are Python objects, in time order.

    Parameters
    ----------
    aggregator
        The object, which travels to Spark's tasks as a pickle; so do buffers, which may be of any kind.
    *columns
        What ``reduce(buffer, value)`` is given for each row: of one column its value, of several a tuple of them. Rows
        with a null are left out. Where the aggregator has a ``bufferSchema``, as Spark's have, ``value`` is what Spark
        gives it: always a tuple, and with nulls as None.
    result
        The type of what ``finish`` returns, an Arrow type or its name; unless given that of the aggregator's
        ``outputType``, if it has one, else inferred by a trial.

    Raises
    ------
    OperationError
        If the object lacks one of the methods, or no column is named.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> class Mean:
    ...     def zero(self):
    ...         return (0.0, 0)
    ...     def reduce(self, buffer, value):
    ...         return buffer[0] + value, buffer[1] + 1
    ...     def merge(self, buffer1, buffer2):
    ...         return buffer1[0] + buffer2[0], buffer1[1] + buffer2[1]
    ...     def finish(self, buffer):
    ...         return buffer[0] / buffer[1] if buffer[1] else None
    >>> events = pa.table({"t": [0, 1, 2], "x": [1.0, 2.0, 6.0]})
    >>> query = ff.events(events, time="t").window(ff.sliding(2, every=1))
    >>> query.aggregate(mean=ff.from_aggregator(Mean(), "x"))["mean"].to_pylist()
    [1.0, 1.5, 4.0, 6.0]
    """
    if result is None:
        result = getattr(aggregator, "outputType", None)
        if type(result).__module__.startswith("pyspark."):
            from .spark.convert.types import to_arrow

            if (arrow := to_arrow(result)) is None:
                raise OperationError(
                    f"the outputType of {type(aggregator).__name__} is {result.simpleString()}, which framefold has no "
                    "type for; expected another one"
                )
            result = arrow
    return of_aggregator(aggregator, *columns, result=result)
