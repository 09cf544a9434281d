"""What the parts of an expression mean, by their types."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa

from ...aggregators.durations import length_of
from ...aggregators.errors import ColumnError, excerpt, nearest
from ...aggregators.states.categories import Categories, UnknownCategories
from ..columns.field_types import type_of_values
from ..columns.plain import plain_type
from .text import TYPES, Expr, deep, parts

BOOLEAN, WHOLE, DOUBLE, TEXT, DATE = pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.date32()
INSTANT, LOCAL, DURATION, NULL = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.duration("us"), pa.null()
KINDS = {"boolean": BOOLEAN, "bigint": WHOLE, "int": WHOLE, "double": DOUBLE, "string": TEXT, "date": DATE}
KINDS |= {"timestamp": INSTANT, "timestamp_ntz": LOCAL}
DAY = 86_400_000_000
MOST_DIGITS, LEAST_WHOLE = 38, -(1 << 63)
COMPARED = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "NullSafeEQ": "<=>"}
SUMS, QUOTIENTS, JOINED = {"Add": "+", "Sub": "-", "Mul": "*"}, {"Div": "/", "Pow": "pow"}, {"And": "and", "Or": "or"}
OF_DOUBLES = {
    "Round": "round", "Floor": "floor", "Ceil": "ceil", "Ln": "ln", "Exp": "exp", "Sqrt": "sqrt", "IsNan": "isnan",
}  # fmt: skip
OF_TEXT = {"Upper": "upper", "Lower": "lower", "Length": "length"}
CASTS = {
    (WHOLE, BOOLEAN), (BOOLEAN, WHOLE), (DOUBLE, WHOLE), (WHOLE, TEXT), (BOOLEAN, TEXT), (DATE, TEXT), (TEXT, WHOLE),
    (TEXT, DOUBLE), (TEXT, DATE), (TEXT, INSTANT), (TEXT, LOCAL), (DATE, INSTANT), (DATE, LOCAL), (INSTANT, DATE),
    (LOCAL, DATE), (WHOLE, DOUBLE),
}  # fmt: skip
"""From which types to which ``CAST`` goes, beside decimals."""


class Target(Protocol):
    """What an engine makes of the parts of expressions; all values of a call are of one kind."""

    def column(self, path: tuple[str, ...], type: pa.DataType, kind: pa.DataType) -> Any:
        """A column, of a kind."""

    def literal(self, value: Any, kind: pa.DataType) -> Any:
        """A constant; None is a null of a kind."""

    def cast(self, value: Any, kind: pa.DataType, to: pa.DataType) -> Any:
        """A value of one kind as of another."""

    def call(self, name: str, kind: pa.DataType, *values: Any) -> Any:
        """What a function gives of values of a kind; literal arguments are as Python has them.

        "in" takes a value, and then literals of the kind without a null.
        """


@dataclass(frozen=True)
class Typed:
    """A part of an expression: its kind, the one type that all types of its sort have here, and what is made of it.

    ``literal`` is the value of a constant, which takes the kind of what it is put beside, and ``ordered`` says that it
    is a column of ordered categories.
    """

    kind: pa.DataType
    made: Any
    literal: Any = None
    ordered: bool = False


def made_by(target: Target, expression: Expr, schema: pa.Schema, user: str, *, of_truth: bool = False) -> Typed:
    """What an engine makes of an expression on the columns of a schema.

    Parameters
    ----------
    target
        The engine's.
    expression
        On columns of these names.
    schema
        The columns.
    user
        Whose expression it is, for messages.
    of_truth
        Whether it must be a boolean.

    Raises
    ------
    ColumnError
        If a column is unknown, or the types of columns do not fit.
    """
    with deep():
        found = Maker(target, expression, schema, user).typed(expression.tree)
    if of_truth and found.kind not in (BOOLEAN, NULL):
        raise ColumnError(f"{user} {excerpt(expression.text)!r} is of type {found.kind}; expected a boolean")
    return found


def kind_of_type(type: pa.DataType) -> pa.DataType | None:
    """The kind of a type of columns; None where expressions compute nothing of it.

    >>> kind_of_type(pa.int8()), kind_of_type(pa.timestamp("ns", "Europe/Berlin")), kind_of_type(pa.list_(pa.int8()))
    (DataType(int64), TimestampType(timestamp[us, tz=UTC]), None)
    """
    type = plain_type(type)
    if pa.types.is_timestamp(type):
        return LOCAL if type.tz is None else INSTANT
    if pa.types.is_decimal(type):
        return type if type.precision <= MOST_DIGITS else None
    found = (
        (pa.types.is_boolean, BOOLEAN), (pa.types.is_uint64, pa.decimal128(20, 0)), (pa.types.is_integer, WHOLE),
        (pa.types.is_floating, DOUBLE), (pa.types.is_string, TEXT), (pa.types.is_large_string, TEXT),
        (pa.types.is_date, DATE), (pa.types.is_duration, DURATION), (pa.types.is_null, NULL),
    )  # fmt: skip
    return next((kind for test, kind in found if test(type)), None)


def is_number(kind: pa.DataType) -> bool:
    """Whether a kind is one of numbers."""
    return kind in (WHOLE, DOUBLE) or pa.types.is_decimal(kind)


class Maker:
    """Makes what an engine computes of the parts of an expression, by their names in sqlglot."""

    def __init__(self, target: Target, expression: Expr, schema: pa.Schema, user: str) -> None:
        self.target, self.schema = target, schema
        self.named = f"{user} {excerpt(expression.text)!r}"

    def typed(self, node: Any) -> Typed:
        """What is made of a part."""
        name = type(node).__name__
        if name in COMPARED:
            return self.compared(COMPARED[name], node, *self.both(node))
        if name in SUMS:
            return self.sum(SUMS[name], node, *self.both(node))
        if name in QUOTIENTS:
            return self.of_numbers(QUOTIENTS[name], node, *self.both(node))
        if name in JOINED:
            return self.logical(JOINED[name], node)
        if name in OF_DOUBLES:
            return self.of_double(OF_DOUBLES[name], node)
        if name in OF_TEXT:
            return self.of_text(OF_TEXT[name], node.this, kind=WHOLE if name == "Length" else TEXT)
        made: Typed = getattr(self, f"_{name.lower()}")(node)
        return made

    def both(self, node: Any) -> tuple[Typed, Typed]:
        """What is made of the two sides of an operator."""
        return self.typed(node.this), self.typed(node.expression)

    def wrong(self, node: Any, what: str, expected: str) -> ColumnError:
        return ColumnError(f"{self.named} has {excerpt(node.sql())}, and {what}; expected {expected}")

    def as_kind(self, node: Any, kind: pa.DataType) -> Any:
        """A part that must be of a kind."""
        found = self.typed(node)
        if found.kind not in (kind, NULL):
            raise self.wrong(node.parent, f"{excerpt(node.sql())} is of type {found.kind}", str(kind))
        return self.to(found, kind).made

    def to(self, value: Typed, kind: pa.DataType) -> Typed:
        """A value as of another kind, which holds it."""
        if value.kind == kind:
            return value
        if value.kind == NULL:
            return Typed(kind, self.target.literal(None, kind))
        if value.literal is not None:
            literal = converted(value.literal, kind)
            return Typed(kind, self.target.literal(literal, kind), literal)
        return Typed(kind, self.target.cast(value.made, value.kind, kind))

    def alike(self, node: Any, values: Sequence[Typed]) -> tuple[list[Any], pa.DataType]:
        """Values as of one kind."""
        kind = self.common(node, [value for value in values if value.kind != NULL])
        return [self.to(value, kind).made for value in values], kind

    def common(self, node: Any, values: Sequence[Typed]) -> pa.DataType:
        """The kind that holds some values, which are no nulls."""
        kinds = list(dict.fromkeys(value.kind for value in values))
        if len(kinds) < 2:
            return kinds[0] if kinds else NULL
        if all(map(is_number, kinds)):
            columns = [value.kind for value in values if value.literal is None]
            decimals = any(map(pa.types.is_decimal, columns)) or (not columns and DOUBLE not in kinds)
            whole = all(value.kind != DOUBLE or isinstance(value.literal, Decimal) for value in values)
            return self.decimals(node, [digits(value) for value in values]) if decimals and whole else DOUBLE
        fixed = list(
            dict.fromkeys(value.kind for value in values if not isinstance(value.literal, (str, datetime.date)))
        )
        fixed = fixed or [kind for kind in kinds if kind != TEXT]
        times = [kind for kind in fixed if kind in (INSTANT, LOCAL)]
        if {*fixed} <= {DATE, INSTANT, LOCAL} and len(times) < 2:
            kind = times[0] if times else DATE
            texts = [value.literal for value in values if value.literal is not None]
            if kind == DATE and any(isinstance(each, datetime.datetime) for each in texts):
                kind = LOCAL
            try:
                for each in texts:
                    converted(each, kind)
            except ValueError:
                pass
            else:
                return kind
        found = " and ".join(map(str, kinds))
        raise self.wrong(node, f"{found} are not of one type", "values of one type, such as those of a cast")

    def decimals(self, node: Any, of: Sequence[tuple[int, int]], more: int = 0) -> pa.DataType:
        """The decimals that hold those of some digits before and after the point."""
        before, after = max(each for each, _ in of) + more, max(each for _, each in of)
        if before + after > MOST_DIGITS:
            raise self.wrong(node, f"it has {before + after} digits", f"at most {MOST_DIGITS}: a cast to double")
        return pa.decimal128(max(before + after, 1), after)

    def compared(self, sign: str, node: Any, left: Typed, right: Typed) -> Typed:
        values, kind = self.alike(node, [left, right])
        if sign not in ("=", "<>", "<=>") and (left.ordered or right.ordered):
            raise self.wrong(
                node, "engines compare the categories of an ordered dictionary as text",
                "= or in of some categories, or the column cast to string in the events",
            )  # fmt: skip
        return Typed(BOOLEAN, self.target.call(sign, kind, *values))

    def of_double(self, name: str, node: Any) -> Typed:
        found = self.typed(node.this)
        if name in ("round", "floor", "ceil") and found.kind == WHOLE:
            return found
        if pa.types.is_decimal(found.kind) and name in ("round", "floor", "ceil"):
            raise self.wrong(node, f"{excerpt(node.this.sql())} is of type {found.kind}", "a cast to double")
        if not is_number(found.kind) and found.kind != NULL:
            raise self.wrong(node, f"{excerpt(node.this.sql())} is of type {found.kind}", "a number")
        kind = BOOLEAN if name == "isnan" else DOUBLE
        return Typed(kind, self.target.call(name, DOUBLE, self.to(found, DOUBLE).made))

    def of_numbers(self, name: str, node: Any, *values: Typed) -> Typed:
        """The double that a function gives of numbers."""
        self.numbers(node, *values)
        return Typed(DOUBLE, self.target.call(name, DOUBLE, *(self.to(each, DOUBLE).made for each in values)))

    def of_text(self, name: str, *nodes: Any, kind: pa.DataType = TEXT) -> Typed:
        """What a function gives of text."""
        return Typed(kind, self.target.call(name, TEXT, *(self.as_kind(each, TEXT) for each in nodes)))

    def _column(self, node: Any) -> Typed:
        path = parts(node)
        for cut in range(len(path), 0, -1):
            name = ".".join(path[:cut])
            if self.schema.get_all_field_indices(name):
                path = (name, *path[cut:])
                break
        else:
            raise ColumnError(f"{self.named} names the unknown column {'.'.join(path)!r}; "
                              f"{nearest('.'.join(path), self.schema.names)}")  # fmt: skip
        field = self.schema.field(path[0])
        for part in path[1:]:
            at = field.type.get_field_index(part) if pa.types.is_struct(field.type) else -1
            if at < 0:
                raise ColumnError(f"{self.named} names {part!r} of {path[0]!r}, which has no such field")
            field = field.type.field(at)
        kind = kind_of_type(field.type)
        ordered = isinstance(type_of_values(field), (Categories, UnknownCategories))
        return Typed(kind or field.type, self.target.column(path, field.type, kind or field.type), None, ordered)

    def _literal(self, node: Any, sign: int = 1) -> Typed:
        text = node.this
        if node.is_string:
            return self.constant(text, TEXT)
        if "e" in text.lower():
            return self.constant(self.double(node, sign), DOUBLE)
        value = Decimal(text).copy_sign(sign)  # a product would have 28 digits
        if "." in text:
            return Typed(DOUBLE, self.target.literal(self.double(node, sign), DOUBLE), value)
        if LEAST_WHOLE <= value < -LEAST_WHOLE:
            return self.constant(int(value), WHOLE)
        return self.constant(value, self.decimals(node, [(len(text.lstrip("0")), 0)]))

    def double(self, node: Any, sign: int) -> float:
        value = sign * float(node.this)
        if math.isinf(value):
            raise self.wrong(node, "no double is as large", f"at most {sys.float_info.max!r}")
        return value

    def constant(self, value: Any, kind: pa.DataType) -> Typed:
        return Typed(kind, self.target.literal(value, kind), value)

    def _boolean(self, node: Any) -> Typed:
        return Typed(BOOLEAN, self.target.literal(bool(node.this), BOOLEAN))

    def _null(self, node: Any) -> Typed:
        return Typed(NULL, self.target.literal(None, NULL))

    def _paren(self, node: Any) -> Typed:
        return self.typed(node.this)

    def _interval(self, node: Any) -> Typed:
        words = f"{node.this.name} {node.args['unit'].sql() if node.args.get('unit') else ''}"
        length = length_of(words.strip(), self.named)
        if length.calendar:
            raise self.wrong(node, "months and years have no fixed length", "days, hours, minutes or seconds")
        return self.constant(datetime.timedelta(microseconds=length.microseconds), DURATION)

    def _neg(self, node: Any) -> Typed:
        if type(node.this).__name__ == "Literal" and not node.this.is_string:
            return self._literal(node.this, -1)
        found = self.typed(node.this)
        return self.sum("-", node, Typed(WHOLE, self.target.literal(0, WHOLE), 0), found)

    def sum(self, sign: str, node: Any, left: Typed, right: Typed) -> Typed:
        """A sum, a difference or a product."""
        times = (DATE, INSTANT, LOCAL)
        if sign == "+" and left.kind == DURATION:
            left, right = right, left
        if sign != "*" and left.kind in times and right.kind == DURATION and right.literal is not None:
            micros = right.literal // datetime.timedelta(microseconds=1) * (1 if sign == "+" else -1)
            if left.kind == DATE and micros % DAY:
                raise self.wrong(node, "a date has no time of day", "whole days, or the date cast to timestamp")
            return Typed(left.kind, self.target.call("shift", left.kind, left.made, micros))
        if sign == "-" and left.kind in times and right.kind in times:
            values, kind = self.alike(node, [left, right])
            if kind == DATE:
                values, kind = [self.target.cast(each, DATE, LOCAL) for each in values], LOCAL
            return Typed(DURATION, self.target.call("elapsed", kind, *values))
        self.numbers(node, left, right)
        values, kind = self.alike(node, [left, right])
        if pa.types.is_decimal(kind):
            pair = [digits(left), digits(right)]
            kinds = [pa.decimal128(max(sum(of), 1), of[1]) for of in pair]
            values = [self.to(each, of).made for each, of in zip((left, right), kinds, strict=True)]
            if sign == "*":
                after = sum(each.scale for each in kinds)
                pair = [(sum(each.precision for each in kinds) - after, after)]
            kind = self.decimals(node, pair, 1)
        return Typed(kind, self.target.call(sign, kind, *values))

    def numbers(self, node: Any, *values: Typed) -> None:
        """ColumnError unless some values are numbers."""
        for value in values:
            if not is_number(value.kind) and value.kind != NULL:
                raise self.wrong(node, f"a part of it is of type {value.kind}", "numbers")

    def _mod(self, node: Any) -> Typed:
        values = self.both(node)
        self.numbers(node, *values)
        made, kind = self.alike(node, values)
        if pa.types.is_decimal(kind):
            raise self.wrong(node, f"a part of it is of type {kind}", "whole numbers, or a cast to double")
        return Typed(kind, self.target.call("%", kind, *made))

    def _nullsafeneq(self, node: Any) -> Typed:
        same = self.compared("<=>", node, *self.both(node))
        return Typed(BOOLEAN, self.target.call("not", BOOLEAN, same.made))

    def logical(self, name: str, node: Any) -> Typed:
        """Conditions joined by "and" or "or", however many, as a tree that is not deep."""
        flat = [*node.flatten()] if hasattr(node, "flatten") else [node.this, node.expression]
        return Typed(BOOLEAN, self.joined(name, [self.as_kind(each, BOOLEAN) for each in flat]))

    def joined(self, name: str, values: Sequence[Any]) -> Any:
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        return self.target.call(name, BOOLEAN, self.joined(name, values[:half]), self.joined(name, values[half:]))

    def _not(self, node: Any) -> Typed:
        return Typed(BOOLEAN, self.target.call("not", BOOLEAN, self.as_kind(node.this, BOOLEAN)))

    def _is(self, node: Any) -> Typed:
        found = self.typed(node.this)
        if type(node.expression).__name__ == "Null":
            return Typed(BOOLEAN, self.target.call("is null", found.kind, found.made))
        return self.compared("<=>", node, Typed(BOOLEAN, self.as_kind(node.this, BOOLEAN)), self.typed(node.expression))

    def _in(self, node: Any) -> Typed:
        others = [self.typed(each) for each in node.expressions]
        (value, *made), kind = self.alike(node, [self.typed(node.this), *others])
        constants: dict[Any, Any] = {}
        rest: dict[Any, Any] = {}
        for at, (other, each) in enumerate(zip(others, made, strict=True)):
            if other.literal is not None:
                constants[other.literal if kind == TEXT else converted(other.literal, kind)] = each
            else:
                rest["null" if other.kind == NULL else at] = each
        if kind == DOUBLE and 0.0 in constants:  # engines that look numbers up know two zeros
            del constants[0.0]
            constants |= {repr(zero): self.target.literal(zero, DOUBLE) for zero in (0.0, -0.0)}
        alike = [*constants.values()]
        if len(alike) == 1:
            rest, alike = {None: alike[0], **rest}, []
        found = [self.target.call("=", kind, value, each) for each in rest.values()]
        return Typed(
            BOOLEAN, self.joined("or", [*found, *([self.target.call("in", kind, value, *alike)] if alike else [])])
        )

    def _between(self, node: Any) -> Typed:
        value = self.typed(node.this)
        low = self.compared(">=", node, value, self.typed(node.args["low"]))
        high = self.compared("<=", node, value, self.typed(node.args["high"]))
        return Typed(BOOLEAN, self.target.call("and", BOOLEAN, low.made, high.made))

    def _like(self, node: Any) -> Typed:
        pattern = node.expression.this
        if "\\" in pattern.replace("\\\\", "").replace("\\%", "").replace("\\_", ""):
            raise self.wrong(node, "a backslash is before none of % _ \\", "it twice")
        made = self.target.call("like", TEXT, self.as_kind(node.this, TEXT), pattern)
        return Typed(BOOLEAN, self.target.call("not", BOOLEAN, made) if node.args.get("negate") else made)

    def _case(self, node: Any) -> Typed:
        return self.cases(node, node.args["ifs"], node.args.get("default"), node.args.get("this"))

    def _if(self, node: Any) -> Typed:
        return self.cases(node, [node], node.args.get("false"), None)

    def cases(self, node: Any, ifs: Sequence[Any], other: Any, value: Any) -> Typed:
        """What the first of some cases gives whose condition is true, or which is for a value."""
        conditions = [
            self.as_kind(each.this, BOOLEAN) if value is None
            else self.compared("=", node, self.typed(value), self.typed(each.this)).made
            for each in ifs
        ]  # fmt: skip
        last = self._null(node) if other is None else self.typed(other)
        return self.chosen(node, conditions, [*(self.typed(each.args["true"]) for each in ifs), last])

    def chosen(self, node: Any, conditions: Sequence[Any], values: Sequence[Typed]) -> Typed:
        """The value of the first condition that is true, or the last one."""
        made, kind = self.alike(node, values)
        if len(conditions) == 1:
            return Typed(kind, self.target.call("if", kind, *conditions, *made))
        pairs = [each for pair in zip(conditions, made[:-1], strict=True) for each in pair]
        return Typed(kind, self.target.call("case", kind, *pairs, made[-1]))

    def _coalesce(self, node: Any) -> Typed:
        made, kind = self.alike(node, [self.typed(each) for each in (node.this, *node.expressions)])
        return Typed(kind, self.target.call("coalesce", kind, *made))

    def _nullif(self, node: Any) -> Typed:
        value, other = self.both(node)
        same = self.compared("=", node, value, other)
        return self.chosen(node, [same.made], [self._null(node), value])

    def _concat(self, node: Any) -> Typed:
        return self.of_text("concat", *node.expressions)

    def _dpipe(self, node: Any) -> Typed:
        return self.of_text("concat", *node.flatten())

    def _trim(self, node: Any) -> Typed:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), "trim")
        return self.of_text(name, node.this)

    def _substring(self, node: Any) -> Typed:
        start, length = node.args["start"], node.args.get("length")
        bounds = int(start.this), None if length is None else int(length.this)
        return Typed(TEXT, self.target.call("substring", TEXT, self.as_kind(node.this, TEXT), *bounds))

    def _abs(self, node: Any) -> Typed:
        found = self.typed(node.this)
        self.numbers(node, found)
        if found.kind != WHOLE:
            return Typed(found.kind, self.target.call("abs", found.kind, found.made))
        zero = Typed(WHOLE, self.target.literal(0, WHOLE), 0)
        below = self.compared("<", node, found, zero)
        return self.chosen(node, [below.made], [self.sum("-", node, zero, found), found])

    def _log(self, node: Any) -> Typed:
        of, name = (node.this, "ln") if node.args.get("expression") is None else (node.expression, "log10")
        return self.of_numbers(name, node, self.typed(of))

    def _cast(self, node: Any) -> Typed:
        found, named = self.typed(node.this), TYPES[node.args["to"].this.name]
        if named == "decimal":
            given = [int(each.name) for each in node.args["to"].expressions]
            precision, scale = [*given, *[10, 0][len(given) :]]
            if not 0 <= scale <= precision <= MOST_DIGITS or not precision:
                raise self.wrong(node, f"it has {precision} digits, {scale} of them after the point",
                                 f"at most {MOST_DIGITS}")  # fmt: skip
            kind = pa.decimal128(precision, scale)
        else:
            kind = KINDS[named]
        if isinstance(found.literal, str) and kind in (DATE, INSTANT, LOCAL):
            try:
                value = converted(found.literal, kind)
            except ValueError as error:
                raise self.wrong(
                    node, f"{found.literal!r} is no {named}", "one such as '2026-05-01 12:00:00'"
                ) from error
            return self.constant(value, kind)
        if found.kind in (kind, NULL):
            made = self.to(found, kind)
        elif self.casts(found.kind, kind):
            made = Typed(kind, self.target.cast(found.made, found.kind, kind))
        else:
            raise self.wrong(node, f"{found.kind} as {named} is not the same on all engines", "another type")
        if named != "int":
            return made
        low, high = (Typed(WHOLE, self.target.literal(each, WHOLE), each) for each in (-(1 << 31), (1 << 31) - 1))
        fits = [self.compared(sign, node, made, end).made for sign, end in ((">=", low), ("<=", high))]
        return self.chosen(node, [self.joined("and", fits)], [made, self._null(node)])

    _trycast = _cast

    @staticmethod
    def casts(kind: pa.DataType, to: pa.DataType) -> bool:
        if pa.types.is_decimal(to):
            before, after = digits(Typed(kind, None)) if is_number(kind) and kind != DOUBLE else (99, 0)
            return bool(before + to.scale <= MOST_DIGITS and after <= to.scale)
        return (kind, to) in CASTS or (bool(pa.types.is_decimal(kind)) and to == DOUBLE)


def digits(value: Typed) -> tuple[int, int]:
    """How many digits a number has at most before the point, and after it."""
    if (value.literal is not None and value.kind != DOUBLE) or isinstance(value.literal, Decimal):
        _, each, exponent = Decimal(value.literal).as_tuple()
        after = max(-int(exponent), 0)
        return max(len(each) + int(exponent), 0), after
    if pa.types.is_decimal(value.kind):
        return value.kind.precision - value.kind.scale, value.kind.scale
    return (19, 0) if value.kind == WHOLE else (0, 0)


def converted(value: Any, kind: pa.DataType) -> Any:
    """A literal as a value of another kind; ValueError where text is no time."""
    if kind == DOUBLE:
        return float(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if kind == DATE:
        return datetime.date.fromisoformat(value.strip()) if isinstance(value, str) else value
    if kind in (INSTANT, LOCAL):
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value.strip())
        elif not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        zoned = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
        return zoned if kind == INSTANT else zoned.replace(tzinfo=None)
    return value
