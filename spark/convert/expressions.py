"""Expressions as text of Spark SQL, which means the same in every session."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa

from ...runtime.expressions.functions import DATE_TEXT, DOUBLE_TEXT, TIME_TEXT, WHOLE_TEXT
from ...runtime.expressions.text import Expr
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

TYPES = {BOOLEAN: "boolean", WHOLE: "bigint", DOUBLE: "double", TEXT: "string", DATE: "date", NULL: "void"}
TYPES |= {INSTANT: "timestamp_ltz", LOCAL: "timestamp_ntz", DURATION: "interval day to second"}
OF_TEXT = {WHOLE: WHOLE_TEXT, DOUBLE: DOUBLE_TEXT, DATE: DATE_TEXT, INSTANT: TIME_TEXT, LOCAL: TIME_TEXT}
SIGNS = ("=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or")
SUMS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
EXACT, BEYOND = "4503599627370496D", "9223372036854775808D"
"""Doubles from the first on are whole, and those from the second on have more than 64 bits."""
CALLS = {
    "/": "({0} / nullif({1}, 0))",
    "%": "({0} % nullif({1}, 0))",
    "floor": f"if(abs({{0}}) < {EXACT}, cast(floor({{0}}) as double), {{0}})",
    "ceil": f"if(abs({{0}}) < {EXACT}, cast(ceil({{0}}) as double), {{0}})",
    "not": "(not {0})",
    "is null": "({0} is null)",
    "isnan": "if({0} is null, null, isnan({0}))",
    "length": "cast(length({0}) as bigint)",
}


def in_spark(expression: Expr, schema: pa.Schema, user: str, *, of_truth: bool = False) -> str:
    """An expression on the columns of a schema, as SQL; whether or not the session is ANSI's, and in which zone it is.

    Raises
    ------
    ColumnError
        If it does not fit the columns.
    """
    return str(made_by(SparkTarget(), expression, schema, user, of_truth=of_truth).made)


def name_of(kind: pa.DataType) -> str:
    """The name of a type in SQL."""
    return f"decimal({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else TYPES[kind]


def text(value: str) -> str:
    """A literal of text, whatever the session does with backslashes."""
    plain = value.isascii() and value.isprintable() and "\\" not in value and "'" not in value
    return f"'{value}'" if plain else f"decode(unhex('{value.encode().hex()}'), 'utf-8')"


def interval(micros: int | str) -> str:
    """The interval of some microseconds."""
    return f"make_dt_interval(0, 0, 0, cast({micros} as decimal(24, 0)) / 1000000)"


class SparkTarget:
    """Makes SQL."""

    def column(self, path: tuple[str, ...], type: pa.DataType, kind: pa.DataType) -> str:
        named = ".".join("`" + part.replace("`", "``") + "`" for part in path)
        return named if type == kind else f"cast({named} as {name_of(kind)})"

    def literal(self, value: Any, kind: pa.DataType) -> str:
        if value is None:
            return f"cast(null as {name_of(kind)})"
        if kind == TEXT:
            return text(value)
        if kind in (DATE, INSTANT, LOCAL):
            return f"{name_of(kind)} '{value.isoformat(' ') if isinstance(value, datetime.datetime) else value}'"
        if kind == DURATION:
            return interval(value // datetime.timedelta(microseconds=1))
        if kind == BOOLEAN:
            return str(value).lower()
        if kind == DOUBLE:
            return f"({value!r}D)"
        return f"cast('{value:f}' as {name_of(kind)})" if pa.types.is_decimal(kind) else f"({value}L)"

    def cast(self, value: Any, kind: pa.DataType, to: pa.DataType) -> str:
        if kind == TEXT:
            if to in (INSTANT, LOCAL):
                clock = f"if(length(trim({value})) = 10, '00:00:00', substring(trim({value}), 12))"
                parts = f"substring(trim({value}), 1, 10), ' ', {clock}, '{'+00:00' if to == INSTANT else ''}'"
                read = f"try_cast(concat({parts}) as {name_of(to)})"
            else:
                read = f"try_cast(trim({value}) as {name_of(to)})"
            return f"if(trim({value}) rlike {text(OF_TEXT[to])}, {read}, null)"
        if to == BOOLEAN:
            return f"({value} <> 0)"
        if (kind, to) == (DOUBLE, WHOLE):
            return f"if(abs({value}) < {BEYOND}, try_cast({value} as bigint), null)"
        if (kind, to) == (DATE, INSTANT):
            return f"timestamp_micros(unix_date({value}) * {DAY}L)"
        if (kind, to) == (INSTANT, DATE):
            micros = f"unix_micros({value})"
            return f"date_from_unix_date(cast(({micros} - pmod({micros}, {DAY}L)) div {DAY}L as int))"
        return f"{'try_' if pa.types.is_decimal(to) else ''}cast({value} as {name_of(to)})"

    def call(self, name: str, kind: pa.DataType, *values: Any) -> str:
        if name in CALLS:
            return CALLS[name].format(*values)
        if name in SUMS and kind == WHOLE:
            name = SUMS[name]
        if name in SIGNS or name in SUMS:
            return f"({f' {name} '.join(values)})"
        if name == "in":
            return f"({values[0]} in ({', '.join(values[1:])}))"
        if name == "case":
            whens = " ".join(f"when {c} then {v}" for c, v in zip(values[:-1:2], values[1::2], strict=True))
            return f"(case {whens} else {values[-1]} end)"
        if name == "like":
            return f"({values[0]} like {text(values[1])})"
        if name == "shift":
            return self._shifted(kind, *values)
        if name == "elapsed":
            micros = f"try_subtract(unix_micros({values[0]}), unix_micros({values[1]}))"
            return interval(micros) if kind == INSTANT else f"({values[0]} - {values[1]})"
        return f"{name}({', '.join(str(each) for each in values if each is not None)})"

    def _shifted(self, kind: pa.DataType, value: str, micros: int) -> str:
        if kind == DATE:
            return f"date_add({value}, {micros // DAY})"
        if kind == LOCAL:
            return f"({value} + {interval(micros)})"
        return f"timestamp_micros(try_add(unix_micros({value}), {micros}L))"
