"""Events in time order, where it matters which of two came first."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ..convert.names import column
from ..convert.types import ticks_sql

ARRIVAL = "arrival"
"""The order of the input: partition in the high bits, row in the low ones, taken before any shuffle."""


def in_time_order(
    events: DataFrame, time: str, by: Sequence[str], ties: Sequence[str], block: tuple[int, int] | None
) -> DataFrame:
    """Bring all events of one (key, frame) into one task, sorted by time, then ties, then as the input had them.

    A task gets a block of time of a key, not a key, where blocks are known: one key's events spread over the executors
    too.

    Parameters
    ----------
    events
        Any rows with no column named ``arrival``.
    time
        The column of their times.
    by
        Their keys.
    ties
        The columns that order events of one time.
    block
        (origin, width) in ticks: no frame crosses from one of the blocks of this width to the next; None if unknown.

    Returns
    -------
    pyspark.sql.DataFrame
        The same rows and columns.
    """
    numbered, keys = with_arrival(events), sortable(events, by)
    if block is not None:
        keys.append(block_of(f.expr(ticks_sql(events, time)), *block))
    spread = numbered.repartition(*keys) if keys else numbered.repartition(1)
    return spread.sortWithinPartitions(time, *sortable(events, ties), ARRIVAL).drop(ARRIVAL)


def in_key_order(events: DataFrame, time: str, by: Sequence[str], ties: Sequence[str]) -> DataFrame:
    """Bring all events of a key into one task, sorted by key, time, ties, and then as the input had them.

    Parameters and result are those of :func:`in_time_order`.
    """
    numbered, keys = with_arrival(events), sortable(events, by)
    spread = numbered.repartition(*keys) if keys else numbered.repartition(1)
    return spread.sortWithinPartitions(*keys, f.col(time), *sortable(events, ties), ARRIVAL).drop(ARRIVAL)


def in_row_order(events: DataFrame, time: str, by: Sequence[str], ties: Sequence[str]) -> DataFrame:
    """Sort all events by key, time, ties, and then as the input had them, over all partitions.

    The order of arrival is among what partitions are cut by, so no key and no time is too large for one of them.

    Parameters and result are those of :func:`in_time_order`.
    """
    order = [*sortable(events, by), f.col(time), *sortable(events, ties), f.col(ARRIVAL)]
    return with_arrival(events).repartitionByRange(*order).sortWithinPartitions(*order).drop(ARRIVAL)


def with_arrival(events: DataFrame) -> DataFrame:
    """Events with the column :data:`ARRIVAL`."""
    return events.withColumn(ARRIVAL, f.monotonically_increasing_id())


def sortable(events: DataFrame, names: Sequence[str]) -> list[Column]:
    """Columns that compare as in framefold: nulls first, NaN last, and -0.0 equal to 0.0."""
    return [_sortable(column(name), events.schema[name].dataType) for name in names]


def _sortable(column: Column, kind: t.DataType) -> Column:
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return f.when(column == 0, f.lit(0).cast(kind)).otherwise(column)
    if isinstance(kind, t.StructType) and kind.fields:
        fields = [
            _sortable(column.getField(field.name), field.dataType).alias(f"c{at}")
            for at, field in enumerate(kind.fields)
        ]
        return f.when(column.isNotNull(), f.struct(*fields))
    return column


def block_of(ticks: Column, origin: int, width: int) -> Column:
    """floor((ticks - origin) / width), in steps none of which can overflow or round."""
    start = origin % width
    step = f.lit(width).cast("bigint")
    below = f.when(ticks % step < 0, 1).otherwise(0)
    return f.call_function("div", ticks, step) - below - f.when(f.pmod(ticks, step) < start, 1).otherwise(0)
