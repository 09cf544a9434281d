"""Events in time order, for operations that care which of two events came first."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t


def in_time_order(events: DataFrame, time: str, by: Sequence[str], block: tuple[int, int]) -> DataFrame:
    """Bring all events of one (key, frame) into one task, sorted by time; ties stay as the input had them.

    A task gets a block of time of a key, not a key: one key's events spread over the executors too.

    Parameters
    ----------
    events
        Any rows with no column named ``arrival``.
    time
        The column of their times.
    by
        Their keys.
    block
        (origin, width) in ticks: no frame crosses from one of the blocks of this width to the next.

    Returns
    -------
    pyspark.sql.DataFrame
        The same rows and columns.
    """
    ticks = in_ticks(f.col(time), events.schema[time].dataType)
    # Taken before the shuffle: partition in the high bits, row in the low ones, so it is the order of the input.
    numbered = events.withColumn("arrival", f.monotonically_increasing_id())
    spread = numbered.repartition(*map(f.col, by), block_of(ticks, *block))
    return spread.sortWithinPartitions(time, "arrival").drop("arrival")


def column(name: str) -> Column:
    """A column by its exact name, whatever characters it has."""
    return f.col("`" + name.replace("`", "``") + "`")


def in_ticks(time: Column, kind: t.DataType) -> Column:
    """A time as an integer: microseconds, days, or what it is, without a look at the session's zone."""
    if isinstance(kind, t.TimestampType):
        return f.unix_micros(time)
    if isinstance(kind, t.TimestampNTZType):
        # Its fields are read as they stand. Casting to a timestamp would go through the session's zone, where an
        # hour may be missing or come twice.
        days = f.unix_date(f.to_date(time)).cast("bigint")
        minutes = (f.hour(time) * 60 + f.minute(time)).cast("bigint")
        micros = (f.extract(f.lit("SECOND"), time) * 1_000_000).cast("bigint")
        return days * 86_400_000_000 + minutes * 60_000_000 + micros
    if isinstance(kind, t.DateType):
        return f.unix_date(time).cast("bigint")
    return time.cast("bigint")


def block_of(ticks: Column, origin: int, width: int) -> Column:
    """floor((ticks - origin) / width), in steps none of which can overflow or round."""
    start = origin % width
    step = f.lit(width).cast("bigint")
    quotient = f.call_function("div", ticks, step)
    rest = ticks % step
    below = f.when(rest < 0, 1).otherwise(0)
    rest = f.when(rest < 0, rest + step).otherwise(rest)
    return quotient - below - f.when(rest < start, 1).otherwise(0)
