"""Column expressions as inputs of aggregates, of any library: the engine of the events computes them."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from ..errors import QueryError, shown

PYARROW, POLARS, SPARK, OWN = "a pyarrow expression", "a Polars expression", "a Spark column", "an ff.expr"

STACK = 256 << 20
"""Bytes in which expressions of a hundred thousand parts in one another are shown."""
PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")
"""A part of a dotted name, in backticks or as it is."""
QUOTED = re.compile(rf"(?:{PART.pattern})(?:\.(?:{PART.pattern}))*")


def _without_defaults(value: Any) -> str:
    """An expression of pyarrow as text, where casts have their type and not what else they do by default."""
    return re.sub(r"\{to_type=(.*?), allow_int_overflow=false[^}]*\}", r"\1", text_of(value))


def text_of(value: Any) -> str:
    """An expression as pyarrow shows it, which takes a stack as deep as the expression is."""
    found: list[str] = []
    size = threading.stack_size(STACK)
    try:
        showing = threading.Thread(target=lambda: found.append(str(value)))
        showing.start()
    finally:
        threading.stack_size(size)
    showing.join()
    return found[0]


def text_of_column(column: Any) -> str:
    """A column of Spark's as SQL would have it."""
    return str(column).removeprefix("Column<'").removesuffix("'>")


KINDS = {
    ("pyarrow", "Expression"): PYARROW,
    ("polars", "Expr"): POLARS,
    ("pyspark", "Column"): SPARK,
    ("framefold", "Expr"): OWN,
}
"""By the library and the name of the class of expressions, none of which is imported for it."""
TEXTS: dict[str | None, Callable[[Any], str]] = {PYARROW: _without_defaults, SPARK: text_of_column}
"""How expressions are written where ``str`` says more than they are."""


class Expression(Protocol):
    """An expression of any of these libraries, as a type checker knows it."""

    def cast(self, *arguments: Any, **options: Any) -> Any:
        """The expression as another type."""


ColumnLike: TypeAlias = str | Expression
"""What the inputs of operations are given by: names of columns, or expressions."""


class ColumnExpression(str):
    """An expression as an operation keeps it: its text, which is pickled without it."""

    value: Any

    def __new__(cls, value: Any) -> ColumnExpression:
        made = super().__new__(cls, TEXTS.get(kind_of(value), str)(value))
        made.value = value
        return made

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def kind_of(value: Any) -> str | None:
    """What kind of expression a value is; None where it is none.

    Examples
    --------
    >>> import pyarrow.compute as pc
    >>> kind_of(pc.field("x") * 2), kind_of("x")
    ('a pyarrow expression', None)
    """
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__)
    return next((KINDS[kind] for kind in kinds if kind in KINDS), None)


def column_name(value: Any, taker: str) -> str:
    """The name of a column, or an expression under its text.

    Raises
    ------
    QueryError
        If it is neither.
    """
    if isinstance(value, str):
        return value if isinstance(value, ColumnExpression) else unquoted(value)
    if kind_of(value) is None:
        raise QueryError(f"{taker} takes names of columns; found {shown(value)}{_hint(value)}")
    return plain_name(value) or ColumnExpression(value)


def unquoted(name: Any) -> Any:
    """A name without the backticks that Spark's names may have, part by part; what is no text as it is.

    Examples
    --------
    >>> unquoted("`a.b`"), unquoted("`a`.b"), unquoted("```x```"), unquoted("a`b")
    ('a.b', 'a.b', '`x`', 'a`b')
    """
    if not isinstance(name, str) or "`" not in name or not QUOTED.fullmatch(name):
        return name
    return ".".join((part[1] or part[2]).replace("``", "`") for part in PART.finditer(name))


def plain_name(value: Any) -> str | None:
    """The column that an expression is nothing but; None for others, and where the text does not tell."""
    if kind_of(value) == PYARROW:
        text = text_of(value)
        return text if value.equals(sys.modules["pyarrow.compute"].field(text)) else None
    if kind_of(value) == POLARS and len(names := value.meta.root_names()) == 1:
        return str(names[0]) if value.meta.eq(sys.modules["polars"].col(names[0])) else None
    return value.column if kind_of(value) == OWN else None


def _hint(value: Any) -> str:
    """What to write instead of a column itself."""
    if callable(value) and not isinstance(value, type):
        return "; expected a name, and the function in ff.Mapped or ff.Filtered"
    name = getattr(value, "name", None)
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, str) for each in value):
        return f"; expected each by itself, such as {value[0]!r}"
    if not hasattr(value, "__len__") or isinstance(value, Mapping):
        return ""
    which = f" {name!r}" if isinstance(name, str) and name else ""
    return f"; expected the name{which}, and the column itself in the events"


def same(one: Any, other: Any) -> bool:
    """Whether two expressions are known to be one: of Spark, only an expression and itself."""
    kind = kind_of(one)
    if one is other or kind != kind_of(other):
        return one is other
    if kind == OWN:
        return bool(one == other)
    return bool(one.equals(other)) if kind == PYARROW else kind == POLARS and bool(one.meta.eq(other))
