"""What a part of SQL is, as sqlglot has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...aggregators.errors import QueryError, needing, require_text, shown
from ...runtime.expressions.text import Expr, deep, dialect, of_tree, parts, trees_of, why

TAKE_TIMES = ("TUMBLE", "HOP", "CUMULATE", "SESSION", "DESCRIPTOR", "TIMECOL")
"""Functions of windows, and what is around a time in them: BigQuery has it between quotes."""

FEW = 32
"""How many conditions are applied one after another."""


def kind(node: Any) -> str:
    """The name of a part's class."""
    return type(node).__name__


def text_of(node: Any) -> str:
    """A part as it can be written."""
    with deep():
        return str(node.sql(dialect=dialect(), normalize_functions="lower"))


def expression(node: Any) -> Expr:
    """A part as an expression; QueryError where it has what not all engines compute."""
    return of_tree(node, text_of(node))


def column(*path: str) -> Any:
    """The column of a name, or the field of a struct."""
    from sqlglot import exp

    names = [exp.to_identifier(name, quoted=not name.isidentifier()) for name in reversed(path)]
    return exp.Column(**dict(zip(("this", "table", "db", "catalog"), names, strict=False)))


def path_of(node: Any) -> tuple[str, ...] | None:
    """The parts of the name that a part is nothing but."""
    return parts(node) if kind(node) == "Column" and kind(node.this) != "Star" else None


def replaced(node: Any, by: Callable[[Any], Any]) -> Any:
    """A part in which a function has replaced others, the outermost first; None leaves one to look into it."""
    return node.transform(lambda each: each if (found := by(each)) is None else found)


def conjuncts(node: Any) -> Sequence[Any]:
    """The conditions that "and" joins to one."""
    node = node.unnest()
    return [*node.flatten()] if kind(node) == "And" else [node]


def as_few(conditions: Sequence[Any]) -> Sequence[Any]:
    """Conditions one by one, so that a message names the wrong one; many are joined into one."""
    from sqlglot import exp

    return conditions if len(conditions) <= FEW else [exp.and_(*conditions, copy=False)]


def parsed(query: str) -> Any:
    """The one ``SELECT`` of a query.

    Raises
    ------
    QueryError
        If it is no SQL, or no ``SELECT``, or several.
    EngineError
        If sqlglot is not installed.
    """
    if not isinstance(query, str):
        raise QueryError(f"sql() is given {shown(query)}; expected a query as text, such as 'SELECT ...'")
    require_text("the query", query)
    with needing("sql() needs", "sql"):
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
    try:
        trees = trees_of(query, dialect()().tokenize(query), "the query")
    except (SqlglotError, RecursionError) as error:
        raise QueryError(f"the query is no SQL that is known here: {why(error)}") from error
    if len(trees) != 1:
        raise QueryError(f"the query has {len(trees)} statements; expected one SELECT")
    if kind(trees[0]) != "Select":
        raise QueryError(f"the query is of the kind {kind(trees[0]).upper()}; expected one SELECT")
    free = {id(each.args["alias"]) for each in trees[0].find_all(exp.Alias)}
    free |= {id(each.this) for each in trees[0].find_all(exp.TableAlias)}
    for each in trees[0].find_all(exp.Identifier):
        start, of = each.meta.get("start"), getattr(each.parent, "parent", None)
        times = kind(of) in ("Anonymous", "Kwarg") and str(getattr(of, "name", "")).upper() in TAKE_TIMES
        if start is not None and query[start] == '"' and id(each) not in free and not times:
            raise QueryError(
                f'the query has "{each.name}", which is text to some engines and a column to others; expected '
                f"'{each.name}' or `{each.name}`"
            )
    return trees[0]
