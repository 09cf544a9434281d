"""Which operation a call in SQL is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from ...aggregators import operations as ops
from ...aggregators.contract.operation import Operation
from ...aggregators.errors import QueryError, nearest
from ...named import NAMED
from ...runtime.expressions.text import KNOWN
from .trees import expression, kind, text_of

OF_OPERATIONS = ("all_of", "element_wise", "filtered", "flat_mapped", "grouped_by", "mapped", "reducing")
"""Operations that are made of others, or of functions."""

CALLS: dict[str, Callable[..., Operation]] = {
    **{name: kind for name, kind in NAMED.items() if name not in OF_OPERATIONS},
    "approx_distinct": ops.ApproxCountDistinct, "any_value": ops.First, "arbitrary": ops.First,
    "first_value": ops.First, "last_value": ops.Last, "array_agg": ops.CollectList, "list": ops.CollectList,
    "array_unique_agg": ops.CollectSet, "avg": ops.Average, "mean": ops.Average, "max_by": ops.ArgMax,
    "min_by": ops.ArgMin, "logical_and": ops.BoolAnd, "every": ops.BoolAnd, "logical_or": ops.BoolOr,
    "some": ops.BoolOr, "bitwise_and_agg": ops.BitAnd, "bitwise_or_agg": ops.BitOr, "bitwise_xor_agg": ops.BitXor,
    "corr": ops.Correlation, "covar_samp": ops.Covariance, "covar_pop": partial(ops.Covariance, ddof=0),
    "stddev": ops.StdDev, "stddev_samp": ops.StdDev, "stddev_pop": partial(ops.StdDev, ddof=0),
    "var_samp": ops.Variance, "var_pop": partial(ops.Variance, ddof=0),
    "variance_pop": partial(ops.Variance, ddof=0),
    "quantile_cont": ops.Quantile, "percentile": ops.Quantile, "percentile_cont": ops.Quantile,
    "quantile_disc": partial(ops.Quantile, method="discrete"),
    "percentile_disc": partial(ops.Quantile, method="discrete"),
}  # fmt: skip
"""By the words of SQL, those of sqlglot's classes for them, and the names of the operations here."""

DISTINCT = {"count": ops.CountDistinct, "sum": ops.DistinctSum, "array_agg": ops.CollectSet}
DISTINCT |= {name: NAMED[name] for name in ("min", "max", "count_distinct", "collect_set", "bool_and", "bool_or")}
"""Of different values only."""

COUNTS = ("count", "count_if", "count_distinct", "approx_distinct", "approx_count_distinct")
JOINED = ("group_concat", "string_agg", "listagg")
RANKED = {"percentile_cont", "percentile_disc", "mode", *JOINED}
"""What may be ``WITHIN GROUP``."""
BY_TIME = {"array_agg", "list", "collect_list", "first_value", "last_value", "first", "last", "any_value", *JOINED}
"""What may have an ``ORDER BY``, which is that of the events."""


def name_of(node: Any) -> str:
    """The word that a function is called by, in small letters."""
    return str(node.this if kind(node) == "Anonymous" else type(node).sql_names()[0]).lower()


def is_call(node: Any) -> bool:
    """Whether a part of SQL is the call of an aggregate."""
    from sqlglot import exp

    if kind(node) in ("Filter", "WithinGroup", "IgnoreNulls", "RespectNulls"):
        return True
    return isinstance(node, exp.Func) and kind(node) not in KNOWN and (name_of(node) in {*CALLS, *JOINED})


def operation(node: Any, time: Any, *, over: bool = False) -> Operation:
    """The operation that a call is.

    Parameters
    ----------
    node
        The call, as sqlglot has it, on columns of the events.
    time
        What their times are: an ``ORDER BY`` inside of the call is of it.
    over
        Whether the call has a frame of rows: only then a standard says that the first value may be null.

    Raises
    ------
    QueryError
        If it is none that has the same values here.
    """
    word = kind(node)
    if word == "Filter":
        return ops.Filtered(operation(node.this, time, over=over), expression(node.expression.this))
    if word == "IgnoreNulls":
        return operation(node.this, time)
    if word == "RespectNulls":
        raise refused(node, "values that are not null: IGNORE NULLS")
    if word == "WithinGroup":
        return _within_group(node, time)
    name, arguments = name_of(node), _arguments(node)
    if over and name in ("first_value", "last_value"):
        raise refused(node, f"{text_of(node)} IGNORE NULLS, since nulls are left out here")
    first: Any = arguments[0] if arguments else None
    if kind(first) in ("IgnoreNulls", "RespectNulls"):
        if kind(first) == "RespectNulls":
            raise refused(node, "values that are not null: IGNORE NULLS")
        arguments[0] = first = first.this
    if kind(first) == "Order":
        if name not in BY_TIME or len(first.expressions) > 1 or not ascends(first.expressions[0], time):
            raise refused(node, f"ORDER BY {text_of(time)}, the time of the events")
        arguments[0] = first = first.this
    if kind(first) == "Distinct":
        if name not in DISTINCT:
            raise refused(node, f"DISTINCT in one of {', '.join(DISTINCT)}")
        return _made(node, DISTINCT[name], [*first.expressions, *arguments[1:]])
    if name == "count" and kind(first) == "Star":
        return ops.Count()
    if name in JOINED:
        if len(arguments) == 2 and not arguments[1].is_string:
            raise refused(node, "a delimiter that is a literal")
        delimiter = arguments[1].this if len(arguments) == 2 else ","
        return _made(node, partial(ops.Concat, delimiter=delimiter), arguments[:1])
    return _made(node, CALLS[name], arguments)


def or_none(node: Any, value: Any) -> Any:
    """The value of a call over frames of rows; a count of a frame without rows, which has no window, is 0."""
    from sqlglot import exp

    call = node.this if kind(node) in ("Filter", "IgnoreNulls", "WithinGroup") else node
    return exp.Coalesce(this=value, expressions=[exp.Literal.number(0)]) if name_of(call) in COUNTS else value


def ascends(ordered: Any, by: Any) -> bool:
    """Whether a part of an ``ORDER BY`` is something, upwards."""
    return ordered.this == by and not ordered.args.get("desc")


def refused(node: Any, expected: str) -> QueryError:
    """The error for a part of a query that has no meaning here."""
    return QueryError(f"the query has {text_of(node)}; expected {expected}")


def _arguments(node: Any) -> list[Any]:
    """The arguments of a call, without flags of sqlglot's."""
    return [each for each in node.iter_expressions() if each.arg_key != "this" or kind(node) != "Anonymous"]


def _within_group(node: Any, time: Any) -> Operation:
    call, ordered = node.this, node.expression.expressions
    name, arguments = name_of(call), _arguments(call)
    if name not in RANKED or len(ordered) != 1:
        raise refused(node, f"WITHIN GROUP (ORDER BY x) of one of {', '.join(sorted(RANKED))}")
    down = bool(ordered[0].args.get("desc"))
    if name == "mode":
        return _made(node, ops.Mode, [ordered[0].this])
    if name in JOINED:
        if not ascends(ordered[0], time):
            raise refused(node, f"ORDER BY {text_of(time)}, the time of the events")
        return operation(call, time)
    if len(arguments) != 1 or kind(arguments[0]) != "Literal" or (down and name == "percentile_disc"):
        raise refused(node, "a number from 0 to 1, and ORDER BY of what goes up")
    q = float(arguments[0].this)
    return _made(node, partial(CALLS[name], q=1 - q if down else q), [ordered[0].this])


def _made(node: Any, kind_of: Callable[..., Operation], arguments: Sequence[Any]) -> Operation:
    """An operation of columns and expressions, with the literals that its other parameters are."""
    placed, named = [], {}
    for at, each in enumerate(arguments):
        if kind(each) == "Kwarg":
            named[each.this.name] = literal(each.expression)
        else:
            placed.append(literal(each) if at and is_literal(each) else expression(each))
    try:
        return kind_of(*placed, **named)
    except TypeError as error:
        raise refused(node, f"the arguments that it takes: {error}") from error


def is_literal(node: Any) -> bool:
    """Whether a part is a constant, or an array of constants."""
    if kind(node) in ("Array", "Tuple"):
        return all(map(is_literal, node.expressions))
    return kind(node) == "Boolean" or node.is_string or node.is_number


def literal(node: Any) -> Any:
    """A constant as Python has it."""
    if kind(node) in ("Array", "Tuple"):
        return [literal(each) for each in node.expressions]
    if not is_literal(node):
        raise refused(node, "a literal")
    value = node.to_py()
    return float(value) if isinstance(value, Decimal) else value


def unknown_call(node: Any) -> QueryError:
    """The error for a function that is neither an aggregate nor one of expressions."""
    name = name_of(node)
    way = WAYS.get(name, "")
    if not way and name in RANKS:
        way = "an aggregate: ask another engine for places in an order, of the result"
    hint = f"expected {way}" if way else nearest(name, CALLS)
    return QueryError(f"the query has {text_of(node)}, and {name} is no aggregate; {hint}")


WAYS = {
    "lag": "last_value(x) IGNORE NULLS OVER (... ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING)",
    "lead": "first_value(x) IGNORE NULLS OVER (... ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)",
    "row_number": "count(*) OVER (... ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
}
"""What gives the same as functions of SQL that are no aggregates."""
RANKS = {"rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "nth_value"}
