"""Which SQL the text of an expression may have."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn

from ...aggregators.contract.unevaluated import Unevaluated, shown_operand
from ...aggregators.errors import QueryError, excerpt, needing, shown

__all__ = ["Expr", "expr"]

TYPES = {
    "BOOLEAN": "boolean", "INT": "int", "BIGINT": "bigint", "DOUBLE": "double", "DECIMAL": "decimal", "TEXT": "string",
    "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamp", "TIMESTAMPLTZ": "timestamp",
    "TIMESTAMPNTZ": "timestamp_ntz", "VARCHAR": "string", "DATETIME": "timestamp_ntz",
}  # fmt: skip
"""Types of ``CAST``: those of sqlglot, and what they are called here."""

KNOWN = {
    "Column", "Identifier", "Literal", "Boolean", "Null", "Paren", "Interval", "Var", "DataType", "DataTypeParam",
    "Add", "Sub", "Mul", "Div", "Mod", "Neg", "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NullSafeEQ", "NullSafeNEQ",
    "And", "Or", "Not", "Is", "In", "Between", "Like", "Case", "If", "Coalesce", "Nullif", "Cast", "TryCast",
    "Abs", "Round", "Floor", "Ceil", "Ln", "Log", "Exp", "Sqrt", "Pow", "IsNan",
    "Upper", "Lower", "Length", "Trim", "Substring", "Concat", "DPipe",
}  # fmt: skip
"""What expressions are made of, by the names of sqlglot's classes."""

BOUNDS = ("expression", "start", "length")
"""The parts of functions of text that must be literals."""
NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

MOST_NESTED, MOST_DEEP, MOST_CASES, MOST_PARTS = 100, 150, 1_000, 200_000
"""How many brackets or signs an expression nests at most, how deep it is, and how many cases and parts it has."""
FRAMES = 40
"""How many calls of Python a level of an expression takes at most, to be parsed or made."""
PREFIXES = {"NOT", "DASH", "PLUS", "TILDE", "INTERVAL"}
CHAINS = ("And", "Or", "DPipe")
"""A chain of one sign is no deeper, however long it is."""
recursing = threading.RLock()

WORDS = (
    "columns, literals, + - * / %, comparisons, and, or, not, is, in, between, like, case, if, coalesce, nullif, cast, "
    "abs, round, floor, ceil, ln, log10, exp, sqrt, pow, isnan, upper, lower, length, trim, substring, concat, ||"
)
WHOLE = "expected all of it in one text, such as ff.expr('x > 1 and y > 1')"


@cache
def dialect() -> Any:
    """Spark's words, but with one kind of quotes for text and one for names, and no backslashes in text.

    A function may take a table, as ``TABLE trips PARTITION BY zone``, and be called ``SESSION``, or ``window`` after
    ``GROUP BY``.
    """
    from sqlglot import exp, parser, tokens
    from sqlglot.dialects.dialect import Dialect

    logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # errors name the words that it does not know

    words: Any = vars(tokens)["TokenType"]

    class Quoting(tokens.Tokenizer):
        QUOTES = ["'"]
        IDENTIFIERS = ["`", '"']
        STRING_ESCAPES = ["'"]

    def table(parsing: Any) -> Any:
        found = parsing._parse_wrapped(parsing._parse_select, optional=True) or parsing._parse_table_parts()
        if parsing._match(words.PARTITION_BY):  # several are in brackets: a comma ends the argument
            found.set("partition", exp.Partition(expressions=[parsing._parse_disjunction()]))
        return found

    class Parsing(parser.Parser):
        FUNC_TOKENS = {*parser.Parser.FUNC_TOKENS, words.SESSION}
        QUERY_MODIFIER_TOKENS = {*parser.Parser.QUERY_MODIFIER_TOKENS} - {words.WINDOW}
        NO_PAREN_FUNCTION_PARSERS = {**parser.Parser.NO_PAREN_FUNCTION_PARSERS, "TABLE": table}

        def _is_table_query(self) -> bool:
            return False

        def parse(self, *given: Any) -> Any:
            self.no_types: set[Any] = set()
            return super().parse(*given)

        def _parse_types(self, check_func: bool = False, *given: Any, **named: Any) -> Any:
            """A type that a value may begin with; once only, or ``date(date(x))`` would take twice as long a level."""
            at = self._curr and self._curr.start
            if check_func and at in self.no_types:
                return None
            found = super()._parse_types(check_func, *given, **named)
            if check_func and found is None:
                self.no_types.add(at)
            return found

    return type("Framefold", (Dialect,), {"Tokenizer": Quoting, "Parser": Parsing})


@dataclass(frozen=True)
class Expr(Unevaluated):
    """An expression in SQL; made by :func:`expr`."""

    text: str
    tree: Any = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"expr({self.text!r})"

    def refuse(self, call: Callable[..., str], operands: Sequence[Any]) -> NoReturn:
        """Raise a QueryError that asks for one text."""
        raise QueryError(f"{call(*map(shown_operand, operands))} is no expression; {WHOLE}")

    def __bool__(self) -> NoReturn:
        raise QueryError(f"{self!r} has no truth value, as and, or, not and if need; {WHOLE}")

    def cast(self, type: str) -> Expr:
        """The expression as another type, such as ``"bigint"``."""
        return expr(f"cast({self.text} as {type})")

    @property
    def columns(self) -> list[tuple[str, ...]]:
        """The columns that it names, each once: their parts, which are fields of structs after the first."""
        from sqlglot import exp

        return list(dict.fromkeys(map(parts, self.tree.find_all(exp.Column))))

    @property
    def column(self) -> str | None:
        """The column that it is nothing but."""
        return ".".join(parts(self.tree)) if type(self.tree).__name__ == "Column" else None


def parts(column: Any) -> tuple[str, ...]:
    """The parts of the name of a column."""
    return tuple(each.name for each in column.parts)


@contextmanager
def deep() -> Iterator[None]:
    """Python's limit of recursion raised by what an expression of these bounds takes, wherever it is called from."""
    with recursing:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + MOST_DEEP * FRAMES)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


def trees_of(text: str, tokens: list[Any], user: str) -> list[Any]:
    """The statements of a text in SQL and its tokens; QueryError where it nests more than can be parsed."""
    depth = signs = 0
    for each in tokens:
        name = each.token_type.name
        signs = signs + 1 if name in PREFIXES else 0
        depth += (name in ("L_PAREN", "CASE")) - (name in ("R_PAREN", "END"))
        if max(depth, signs) > MOST_NESTED:
            raise QueryError(f"{user} has more than {MOST_NESTED} brackets or signs in one another; expected fewer")
    with deep():
        return [tree for tree in dialect()().parser().parse(tokens, text) if tree is not None]


def require_small(tree: Any, user: str) -> None:
    """QueryError where an expression has more parts than are computed, or is too deep."""
    level, depth, parts = [tree], 0, 0
    while level:
        below = []
        for node in level:
            below += node.flatten() if type(node).__name__ in CHAINS else node.iter_expressions()
            if len(node.args.get("ifs") or ()) > MOST_CASES:
                raise QueryError(f"{user} has a CASE of more than {MOST_CASES:,} WHENs; expected fewer, or a join")
        depth, parts, level = depth + 1, parts + len(level), below
        if depth > MOST_DEEP:
            raise QueryError(f"{user} has operators in more than {MOST_DEEP} levels; expected fewer")
        if parts > MOST_PARTS:
            raise QueryError(f"{user} has more than {MOST_PARTS:,} parts; expected fewer, or a join with a table")


def expr(text: str) -> Expr:
    """An expression in SQL that gives the same on every engine: locally, on Spark and on streams.

    It goes wherever an expression of pyarrow, Polars or Spark goes: as a condition of ``where``, as the input of an
    operation, in :class:`~framefold.Filtered` and :class:`~framefold.Mapped`, as ``time=``. It needs sqlglot, the extra
    ``framefold[sql]``.

    Parameters
    ----------
    text
        SQL with the words of Spark's. Names of columns are spelt as they are, `` `between backticks` `` if they are no
        words; text is between ``'``. Whole numbers have 64 bits, and ``/`` gives a double. Nothing fails: a result
        that there is not is null, such as one of a division by zero, a whole number beyond 64 bits, or a cast of text
        that is no number. NaN equals itself and is above all numbers. Times are in UTC, where they do not say.

    Raises
    ------
    QueryError
        If it is no SQL, or has what not all engines compute alike.
    EngineError
        If sqlglot is not installed.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> sales = pa.table({"t": [0, 1, 2], "price": [2.5, 4.0, 1.0], "amount": [2, 1, None], "zone": ["a", "b", "b"]})
    >>> events = ff.events(sales, time="t").where(ff.expr("zone in ('a', 'b') and price > 2"))
    >>> events.window(ff.tumbling(3)).aggregate(turnover=ff.Sum(ff.expr("price * coalesce(amount, 1)")))["turnover"][0]
    <pyarrow.DoubleScalar: 9.0>
    """
    if not isinstance(text, str):
        raise QueryError(f"expr() is given {shown(text)}; expected SQL as text, such as 'price * amount'")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryError(f"the expression {text!r} has half of a surrogate pair; expected whole characters") from error
    with needing("expr() needs", "sql"):
        import sqlglot
    said = f"the expression {excerpt(text)!r}"
    try:
        tokens = dialect()().tokenize(text)
        quoted = next((each for each in tokens if text[each.start] == '"'), None)
        if quoted is not None:
            raise QueryError(
                f"{said} has {text[quoted.start : quoted.end + 1]}, which is text to some engines and "
                f"a column to others; expected '{quoted.text}' or `{quoted.text}`"
            )
        trees = trees_of(text, tokens, said)
        if len(trees) != 1:
            raise sqlglot.errors.SqlglotError(f"it has {len(trees)} statements")
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise QueryError(f"{said} is no SQL of one value: {why(error)}; expected {WORDS}") from error
    return of_tree(trees[0], text)


def why(error: Exception) -> str:
    """What sqlglot cannot read, by the text at that place."""
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    places = getattr(error, "errors", ())
    if not places:
        single = not str(error).startswith("Error tokenizing")
        return excerpt(str(error)) if single else "a quote in it is not closed"
    before, here = (re.sub(r"\s+", " ", places[0].get(name) or "") for name in ("start_context", "highlight"))
    text = re.sub(r"\s+", " ", before[-20:] + here).strip()
    return f"it cannot be read on after {text!r}"


def of_tree(tree: Any, text: str) -> Expr:
    """The expression that is parsed already, and its text; QueryError where it has what not all engines compute."""
    require_small(tree, f"the expression {excerpt(text)!r}")
    with deep():
        found = next(filter(None, map(unknown, tree.walk())), None)
    if found is not None:
        raise QueryError(
            f"the expression {excerpt(text)!r} has {excerpt(found)}, which not all engines know alike; expected {WORDS}"
        )
    return Expr(text, tree)


def unknown(node: Any) -> str | None:
    """What part of an expression is not known here, as it is written; None where it is."""
    name, given = type(node).__name__, node.args
    if name not in KNOWN or any(given.get(each) for each in ("query", "unnest", "field", "is_global")):
        return str(node.sql())
    if name == "DataType":
        return None if node.this.name in TYPES else f"the type {node.sql()}"
    if name == "Round" and given.get("decimals") is not None:
        return f"{node.sql()} (round(x * 100) / 100 is two digits)"
    if name in ("Like", "Substring") and not all(map(is_literal, (given.get(each) for each in BOUNDS))):
        return f"{node.sql()} of no literal"
    odd = (
        (name == "Literal" and not node.is_string and not NUMBER.fullmatch(node.this))
        or (name == "Log" and given.get("expression") is not None and node.this.sql() != "10")
        or (name == "Trim" and given.get("expression") is not None)
        or (name == "Is" and type(node.expression).__name__ not in ("Null", "Boolean"))
        or (name == "Substring" and (given.get("start") is None or given["start"].sql() == "0"))
    )
    return str(node.sql()) if odd else None


def is_literal(node: Any) -> bool:
    """Whether a part of a function is a literal, or not there."""
    return node is None or type(node).__name__ == "Literal"
