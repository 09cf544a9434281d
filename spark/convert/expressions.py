"""Expressions as columns of Spark, which mean the same in every session."""

from __future__ import annotations

import datetime
import re
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...aggregators.errors import QueryError
from ...runtime.expressions.functions import DATE_TEXT, DOUBLE_TEXT, TIME_TEXT, WHOLE_TEXT
from ...runtime.expressions.text import Expr, expr
from ...runtime.expressions.typed import (
    BOOLEAN,
    DATE,
    DAY,
    DOUBLE,
    DURATION,
    INSTANT,
    LOCAL,
    NULL,
    TEXT,
    WHOLE,
    made_by,
)
from .names import column
from .types import to_spark

OF_TEXT = {WHOLE: WHOLE_TEXT, DOUBLE: DOUBLE_TEXT, DATE: DATE_TEXT, INSTANT: TIME_TEXT, LOCAL: TIME_TEXT}
SUMS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
EXACT, BEYOND = 2.0**52, 2.0**63
"""Doubles from the first on are whole, and those from the second on have more than 64 bits."""
CALLS: dict[str, Any] = {
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "<=>": Column.eqNullSafe,
    "and": lambda one, other: one & other,
    "or": lambda one, other: one | other,
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / f.nullif(other, f.lit(0)),
    "%": lambda one, other: one % f.nullif(other, f.lit(0)),
    "floor": lambda of: if_(f.abs(of) < EXACT, f.floor(of).cast("double"), of),
    "ceil": lambda of: if_(f.abs(of) < EXACT, f.ceil(of).cast("double"), of),
    "not": lambda of: ~of,
    "is null": Column.isNull,
    "isnan": lambda of: if_(of.isNull(), None, f.isnan(of)),
    "length": lambda of: f.length(of).cast("bigint"),
    "like": lambda of, pattern: like(of, pattern),
    "in": lambda of, *values: of.isin(*values),
    "case": lambda first, value, *more: case(f.when(first, value), *more),
    "if": lambda condition, one, other: if_(condition, one, other),
}


WILDCARDS = {"%": ".*", "_": "."}


def like(of: Column, pattern: str) -> Column:
    """Whether a text matches a pattern with ``%`` and ``_``."""
    if max(pattern, default="") <= "\uffff":
        return of.like(pattern)
    # Spark 4.0 quotes the two halves of a longer character apart, and so finds none.
    parts = re.findall(r"\\?.", pattern, re.DOTALL)
    written = (WILDCARDS.get(part) or rf"\x{{{ord(part[-1]):x}}}" for part in parts)
    return of.rlike(rf"(?s)\A{''.join(written)}\z")


def in_spark(expression: Expr, schema: pa.Schema, user: str, *, of_truth: bool = False) -> Column:
    """An expression on the columns of a schema; whether or not the session is ANSI's, and in which zone it is.

    It is built of columns, and not as text: in that Spark would put the value of a setting, or of a variable of the
    environment, in place of ``${...}``.

    Raises
    ------
    ColumnError
        If it does not fit the columns.
    """
    made: Column = made_by(SparkTarget(), expression, schema, user, of_truth=of_truth).made
    return made


def parsed(text: str) -> Expr:
    """Text of a user's as an expression, which Spark does not read; QueryError where it is none."""
    try:
        return expr(text)
    except QueryError as error:
        raise QueryError(f"{error}, or a Spark column, such as functions.expr makes of Spark's own SQL") from error


def if_(condition: Column, one: Any, other: Any) -> Column:
    """The first value where a condition is true, else the other one."""
    return f.when(condition, one).otherwise(other)


def case(whens: Column, *more: Column) -> Column:
    """The value of the first condition that is true: conditions, each before its value, and then the value of none."""
    for condition, value in zip(more[:-1:2], more[1::2], strict=True):
        whens = whens.when(condition, value)
    return whens.otherwise(more[-1])


def interval(micros: Column) -> Column:
    """The interval of some microseconds."""
    none = f.lit(0)
    return f.make_dt_interval(none, none, none, micros.cast(t.DecimalType(24, 0)) / f.lit(1_000_000))


class SparkTarget:
    """Makes columns of Spark."""

    def column(self, path: tuple[str, ...], type: pa.DataType, kind: pa.DataType) -> Column:
        found = reduce(Column.getField, path[1:], column(path[0]))
        return found if type == kind else found.cast(kind_of(kind))

    def literal(self, value: Any, kind: pa.DataType) -> Column:
        if kind == DURATION and value is not None:
            return interval(f.lit(value // datetime.timedelta(microseconds=1)))
        if value is None or kind in (BOOLEAN, DOUBLE, TEXT):
            made = f.lit(value)
            return made if value is not None or kind == NULL else made.cast(kind_of(kind))
        if isinstance(value, datetime.datetime):
            value = value.isoformat(" ")
        return f.lit(f"{value:f}" if pa.types.is_decimal(kind) else str(value)).cast(kind_of(kind))

    def cast(self, value: Column, kind: pa.DataType, to: pa.DataType) -> Column:
        if kind == TEXT:
            trimmed = f.trim(value)
            if to in (INSTANT, LOCAL):
                clock = if_(f.length(trimmed) == 10, "00:00:00", f.call_function("substring", trimmed, f.lit(12)))
                zone = f.lit("+00:00" if to == INSTANT else "")
                read = f.concat(f.substring(trimmed, 1, 10), f.lit(" "), clock, zone)
            else:
                read = trimmed
            return if_(trimmed.rlike(OF_TEXT[to]), read.try_cast(kind_of(to)), None)
        if to == BOOLEAN:
            return value != 0
        if (kind, to) == (DOUBLE, WHOLE):
            return if_(f.abs(value) < BEYOND, value.try_cast(kind_of(to)), None)
        if (kind, to) == (DATE, INSTANT):
            return f.timestamp_micros(f.unix_date(value) * f.lit(DAY))
        if (kind, to) == (INSTANT, DATE):
            micros = f.unix_micros(value)
            days = f.call_function("div", micros - f.pmod(micros, f.lit(DAY)), f.lit(DAY))
            return f.date_from_unix_date(days.cast("int"))
        return value.try_cast(kind_of(to)) if pa.types.is_decimal(to) else value.cast(kind_of(to))

    def call(self, name: str, kind: pa.DataType, *values: Any) -> Column:
        if name in SUMS and kind == WHOLE:
            return f.call_function(SUMS[name], *values)
        if name in CALLS:
            made: Column = CALLS[name](*values)
            return made
        if name == "shift":
            return self._shifted(kind, *values)
        if name == "elapsed":
            one, other = values
            return interval(f.try_subtract(*map(f.unix_micros, values))) if kind == INSTANT else one - other
        if name == "substring":
            values = (values[0], *(f.lit(each) for each in values[1:] if each is not None))
        return f.call_function(name, *values)

    def _shifted(self, kind: pa.DataType, value: Column, micros: int) -> Column:
        if kind == DATE:
            return f.date_add(value, micros // DAY)
        if kind == LOCAL:
            return value + interval(f.lit(micros))
        return f.timestamp_micros(f.try_add(f.unix_micros(value), f.lit(micros).cast("bigint")))


def kind_of(kind: pa.DataType) -> t.DataType:
    """The type of a kind."""
    found = to_spark(kind)
    assert found is not None, kind
    return found
