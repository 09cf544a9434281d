"""Instants of relations as integers of Spark, or back."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ....runtime.columns.ticks import LIMIT, NEVER
from ....spark.convert.names import column, type_in
from ..names import FROM, TO

EPOCH, MICROSECOND = "timestamp_ntz'1970-01-01 00:00:00'", "interval '0.000001' second"
"""Of times without a zone: a cast to those with one would go through the session's."""
ALWAYS = -LIMIT
"""The tick from which on what has no beginning is valid."""


def ticks(df: DataFrame, name: str, null: int | None = None) -> Column:
    """A time as ticks; ``null`` is what a null becomes."""
    kind, found = type_in(df, name), column(name)
    if isinstance(kind, t.TimestampType):
        found = f.unix_micros(found)
    elif isinstance(kind, t.TimestampNTZType):
        found = f.call_function("div", found - f.expr(EPOCH), f.expr(MICROSECOND))
    else:
        found = (f.unix_date(found) if isinstance(kind, t.DateType) else found).cast("bigint")
    return found if null is None else f.coalesce(found, f.lit(null))


def validity(df: DataFrame) -> tuple[Column, Column]:
    """From which tick on rows are valid, and up to which."""
    return ticks(df, FROM), ticks(df, TO, NEVER)


def instant(kind: t.DataType, tick: Column) -> Column:
    """Ticks as instants of a type, whatever the session's zone; :data:`NEVER` as a null."""
    tick = f.when(tick < NEVER, tick)
    if isinstance(kind, t.TimestampType):
        return f.timestamp_micros(tick)
    if isinstance(kind, t.TimestampNTZType):
        return f.expr(EPOCH) + tick * f.expr(MICROSECOND)
    return f.date_from_unix_date(tick.cast("int")) if isinstance(kind, t.DateType) else tick


def kind_of(df: DataFrame, name: str = FROM) -> t.DataType:
    """The type of the instants of a relation."""
    found = type_in(df, name)
    return t.LongType() if isinstance(found, t.IntegralType) else found
