"""Expressions as those of pyarrow."""

from __future__ import annotations

import functools
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .functions import call
from .text import Expr
from .typed import BOOLEAN, DATE, DAY, DOUBLE, DURATION, INSTANT, LOCAL, TEXT, WHOLE, made_by

COMPARE = {"=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal}
COMPARE |= {">": pc.greater, ">=": pc.greater_equal}
SWAPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
SUMS = {"+": (pc.add, "add"), "-": (pc.subtract, "subtract"), "*": (pc.multiply, "multiply")}
SAME = {
    "sqrt": pc.sqrt, "exp": pc.exp, "floor": pc.floor, "ceil": pc.ceil, "isnan": pc.is_nan, "abs": pc.abs,
    "upper": pc.utf8_upper, "lower": pc.utf8_lower, "like": pc.match_like, "coalesce": pc.coalesce,
    "not": pc.invert,
}  # fmt: skip
"""Functions of pyarrow that give what is meant."""
TRIMS = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}
LOGS = {"ln": pc.ln, "log10": pc.log10}
OF_TEXT = {WHOLE: "whole_of_text", DOUBLE: "double_of_text", DATE: "date_of_text"}
JOINS = {"and": pc.and_kleene, "or": pc.or_kleene}
BEYOND = 2.0**63
CHAINED = 256
"""How many conditions are joined before pyarrow, which makes a list of them, is kept from seeing more."""


def in_arrow(expression: Expr, schema: pa.Schema, user: str, *, of_truth: bool = False) -> pc.Expression:
    """An expression on the columns of a schema, as one of pyarrow's; ``of_truth`` if it must be a boolean.

    Raises
    ------
    ColumnError
        If it does not fit the columns.
    """
    made: pc.Expression = made_by(ArrowTarget(), expression, schema, user, of_truth=of_truth).made
    return made


def constant(value: Any, kind: pa.DataType) -> pc.Expression:
    """A literal of a kind; of None a null."""
    return pc.scalar(pa.scalar(value, kind))


def unless(condition: pc.Expression, value: pc.Expression, kind: pa.DataType) -> pc.Expression:
    """A value, which is null where a condition is true."""
    return pc.if_else(condition, constant(None, kind), value)


class ArrowTarget:
    """Makes expressions of pyarrow.

    Columns are compared with literals as they are, without a cast: only then does pyarrow compare literals with the
    statistics of files.
    """

    def __init__(self) -> None:
        self.columns: dict[int, tuple[Any, pc.Expression, pa.DataType]] = {}
        self.literals: dict[int, tuple[Any, pa.Scalar]] = {}
        self.chains: dict[int, tuple[Any, str, int]] = {}

    def column(self, path: tuple[str, ...], type: pa.DataType, kind: pa.DataType) -> pc.Expression:
        field = pc.field(path[0]) if len(path) == 1 else pc.field(*path)
        made = field
        if type != kind:
            made = field.cast(type.storage_type) if isinstance(type, pa.BaseExtensionType) else field
            made = made.cast(kind, safe=False)
        self.columns[id(made)] = made, field, type
        return made

    def literal(self, value: Any, kind: pa.DataType) -> pc.Expression:
        made = constant(value, kind)
        if value is not None:
            self.literals[id(made)] = made, pa.scalar(value, kind)
        return made

    def cast(self, value: Any, kind: pa.DataType, to: pa.DataType) -> pc.Expression:
        if kind == TEXT and to in (INSTANT, LOCAL):
            return self._at(call("time_of_text", value), to)
        if kind == TEXT:
            return call(OF_TEXT[to], value)
        if to == INSTANT or kind == INSTANT:
            return self._at(value, to) if kind == DATE else self._at(value, LOCAL).cast(to)
        if to == BOOLEAN:
            return pc.not_equal(value, constant(0, WHOLE))
        if (kind, to) == (DOUBLE, WHOLE):
            value = unless(pc.invert(pc.less(pc.abs(value), constant(BEYOND, DOUBLE))), value, DOUBLE)
        if pa.types.is_decimal(to):
            return self._decimal(value, kind, to)
        return value.cast(to, safe=False)

    def _at(self, value: Any, kind: pa.DataType) -> pc.Expression:
        return value.cast(LOCAL).cast(WHOLE).cast(kind)

    def _decimal(self, value: Any, kind: pa.DataType, to: pa.DataType) -> pc.Expression:
        before = 19 if kind == WHOLE else kind.precision - kind.scale
        if before <= to.precision - to.scale:
            return value.cast(to)
        wide = pa.decimal128(min(before + to.scale, 38), to.scale)
        value = value.cast(wide)
        limit = constant(Decimal(10) ** (to.precision - to.scale), wide)
        return unless(pc.greater_equal(pc.abs(value), limit), value, wide).cast(to)

    def call(self, name: str, kind: pa.DataType, *values: Any) -> pc.Expression:
        one, *others = values
        if name in COMPARE:
            return self._compared(name, kind, one, others[0])
        if name in SUMS:
            function, exact = SUMS[name]
            # Of several sums or products in one another pyarrow would compute the constants first: not through a cast.
            return call(exact, *values) if kind == WHOLE else function(*values).cast(kind)
        if name in JOINS:
            return self._joined(name, one, others[0])
        if name in SAME:
            return SAME[name](*values)
        if name in TRIMS:
            return TRIMS[name](one, characters=" ")
        if name in LOGS:
            return LOGS[name](unless(pc.less_equal(one, constant(0.0, DOUBLE)), one, DOUBLE))
        made: pc.Expression = getattr(self, f"_{NAMES.get(name, name)}")(kind, *values)
        return made

    def _joined(self, name: str, left: Any, right: Any) -> pc.Expression:
        """Two conditions as one. pyarrow goes through a chain of them one in another, as deep as it is long."""
        of = [self.chains.get(id(each), (None, "", 1)) for each in (left, right)]
        length = sum(length if sign == name else 1 for _, sign, length in of)
        made: pc.Expression = JOINS[name](left, right)
        if length > CHAINED:
            made, length = made.cast(BOOLEAN), 1
        self.chains[id(made)] = made, name if length > 1 else "", length
        return made

    def _in(self, kind: pa.DataType, value: Any, *literals: Any) -> pc.Expression:
        """Whether a value is among literals; as they are of the type of a column, where it has them."""
        _, field, type = self.columns.get(id(value), (None, value, kind))
        own, others = [], []
        type = kind if kind == DOUBLE else getattr(type, "value_type", type)  # of a dictionary that of its values
        for each in (self.literals[id(literal)][1] for literal in literals):
            try:
                own.append(each.cast(type))
            except (pa.ArrowException, NotImplementedError):
                others.append(each)
        if kind == DOUBLE:
            field = value
        found = [
            pc.is_in(of, value_set=pa.array(values, to))
            for of, values, to in ((field, own, type), (value, others, kind))
            if values
        ]
        found.append(pc.and_kleene(field.is_null(), constant(None, BOOLEAN)))
        return functools.reduce(pc.or_kleene, found)

    def _compared(self, sign: str, kind: pa.DataType, left: Any, right: Any) -> pc.Expression:
        if id(left) in self.literals and id(right) in self.columns:
            return self._compared(SWAPPED[sign], kind, right, left)
        if kind == DOUBLE:
            return self._of_doubles(sign, left, right)
        if id(left) in self.columns and id(right) in self.literals:
            _, field, type = self.columns[id(left)]
            try:
                return COMPARE[sign](field, pc.scalar(self.literals[id(right)][1].cast(type)))
            except (pa.ArrowException, NotImplementedError):
                pass  # the type has no such value, or is a dictionary
        return COMPARE[sign](left, right)

    def _of_doubles(self, sign: str, left: Any, right: Any) -> pc.Expression:
        """NaN equals itself, and is above all numbers."""
        if sign in (">", "<="):
            left, right = right, left
        nans = [constant(False, BOOLEAN) if id(each) in self.literals else pc.is_nan(each) for each in (left, right)]
        if sign in ("=", "<>"):
            found = pc.or_kleene(pc.equal(left, right), pc.and_kleene(*nans))
        else:
            found = pc.or_kleene(pc.less(left, right), pc.and_kleene(pc.invert(nans[0]), nans[1]))
        return pc.invert(found) if sign in ("<>", "<=", ">=") else found

    def _same(self, kind: pa.DataType, left: Any, right: Any) -> pc.Expression:
        both = left.is_null() & right.is_null()
        return pc.coalesce(self._compared("=", kind, left, right), both)

    def _null(self, kind: pa.DataType, value: Any) -> pc.Expression:
        return self.columns.get(id(value), (None, value))[1].is_null()

    def _if(self, kind: pa.DataType, condition: Any, value: Any, other: Any) -> pc.Expression:
        return pc.if_else(pc.coalesce(condition, constant(False, BOOLEAN)), value, other)

    def _case(self, kind: pa.DataType, *values: Any) -> pc.Expression:
        *pairs, found = values
        for condition, value in zip(pairs[-2::-2], pairs[::-2], strict=True):
            found = self._if(kind, condition, value, found)
        return found

    def _divided(self, kind: pa.DataType, left: Any, right: Any) -> pc.Expression:
        return pc.divide(left, unless(pc.equal(right, constant(0.0, DOUBLE)), right, DOUBLE))

    def _remainder(self, kind: pa.DataType, *values: Any) -> pc.Expression:
        return call("whole_remainder" if kind == WHOLE else "remainder", *values)

    def _pow(self, kind: pa.DataType, base: Any, exponent: Any) -> pc.Expression:
        one = pc.and_kleene(pc.is_inf(exponent), pc.equal(pc.abs(base), constant(1.0, DOUBLE)))
        nowhere = pc.or_kleene(pc.is_nan(exponent), one)  # where Java has no number, and C has 1
        return pc.if_else(nowhere, pc.add(constant(float("nan"), DOUBLE), base), pc.power(base, exponent))

    def _round(self, kind: pa.DataType, value: Any) -> pc.Expression:
        return pc.round(value, ndigits=0, round_mode="half_towards_infinity")

    def _shift(self, kind: pa.DataType, value: Any, micros: int) -> pc.Expression:
        if kind == DATE:
            days = value.cast(pa.int32()).cast(WHOLE)
            return call("add", days, constant(micros // DAY, WHOLE)).cast(pa.int32()).cast(DATE)
        return call("add", value.cast(WHOLE), constant(micros, WHOLE)).cast(kind)

    def _elapsed(self, kind: pa.DataType, left: Any, right: Any) -> pc.Expression:
        return call("subtract", left.cast(WHOLE), right.cast(WHOLE)).cast(DURATION)

    def _concat(self, kind: pa.DataType, *values: Any) -> pc.Expression:
        return pc.binary_join_element_wise(*values, constant("", TEXT), null_handling="emit_null")

    def _length(self, kind: pa.DataType, value: Any) -> pc.Expression:
        return pc.utf8_length(value).cast(WHOLE)

    def _substring(self, kind: pa.DataType, value: Any, start: int, length: int | None) -> pc.Expression:
        return pc.utf8_slice_codeunits(value, start - 1, None if length is None else start - 1 + length)


NAMES = {"is null": "null", "<=>": "same", "/": "divided", "%": "remainder"}
"""The methods of functions whose names are no words of Python."""
