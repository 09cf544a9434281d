"""What the arguments of ``framefold run`` stand for."""

from __future__ import annotations

import inspect
import re
from typing import Any, cast

from .aggregators import Average, Count, First, Last, Max, Min, StdDev, Sum, Variance
from .aggregators.errors import QueryError, nearest
from .aggregators.operation import Operation

OPERATIONS: dict[str, type[Operation]] = {
    "count": Count,
    "sum": Sum,
    "average": Average,
    "avg": Average,
    "mean": Average,
    "min": Min,
    "max": Max,
    "variance": Variance,
    "stddev": StdDev,
    "first": First,
    "last": Last,
}
"""The operations of ``--agg`` by their names."""


def number(duration: str) -> int | str:
    """A duration without a unit as the integer it is, for integer time columns.

    >>> number("60"), number("1 hour")
    (60, '1 hour')
    """
    return int(duration) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", duration) else duration


def split(names: str, known: list[str]) -> list[str]:
    """Columns from a list with commas, unless it is the name of a column as it stands.

    >>> split("a,b", ["a", "b"]), split("a,b", ["a,b"])
    (['a', 'b'], ['a,b'])
    """
    return [names] if names in known else [name.strip() for name in names.split(",")]


def read_aggregates(texts: list[str], known: list[str]) -> dict[str, Operation]:
    """The operations that ``--agg`` asks for.

    Parameters
    ----------
    texts
        ``NAME=OP[:COLUMN,...[:OPTION=VALUE,...]]``.
    known
        The columns there are.

    Raises
    ------
    QueryError
        If one is put wrongly.

    Examples
    --------
    >>> read_aggregates(["n=count", "speed=average:speed"], ["speed"])
    {'n': Count(), 'speed': Average('speed')}
    """
    outputs: dict[str, Operation] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        name, rest = name.strip(), rest.strip()
        if not (name and equals and rest) or ":" in name:
            raise QueryError(
                f"--agg {text!r} is not an output; expected NAME=OP:COLUMN, such as speed=average:speed or n=count"
            )
        if name in outputs:
            raise QueryError(f"--agg names the output {name!r} twice; expected another name for one of them")
        outputs[name] = _operation(text, rest, known)
    return outputs


def _operation(text: str, rest: str, known: list[str]) -> Operation:
    word, _, arguments = rest.partition(":")
    kind = OPERATIONS.get(word.strip().lower())
    if kind is None:
        raise QueryError(f"--agg {text!r} asks for the unknown operation {word!r}; {nearest(word, OPERATIONS)}")
    columns, options = arguments, ""
    if arguments not in known and (found := re.fullmatch(r"(?:(.*):)?(\w+=[^:]*)", arguments)):
        columns, options = found[1] or "", found[2]
    names = split(columns, known) if columns else []
    keywords = {}
    for option in filter(None, options.split(",")):
        key, _, value = option.partition("=")
        keywords[key.strip()] = number(value)
    parameters = inspect.signature(kind).parameters
    allowed = [each.name for each in parameters.values() if each.kind is each.KEYWORD_ONLY or each.name == "ddof"]
    for key in keywords:
        if key not in allowed:
            raise QueryError(
                f"--agg {text!r} gives {word} the unknown option {key!r}; "
                + (nearest(key, allowed) if allowed else "it takes none")
            )
    try:
        inspect.signature(kind).bind(*names, **keywords)
    except TypeError:
        takes = "at most one column" if kind is Count else "one column"
        raise QueryError(
            f"--agg {text!r} gives {word} {len(names)} columns; expected {takes}, as in {word}:COLUMN"
        ) from None
    return cast(Any, kind)(*names, **keywords)  # type: ignore[no-any-return]
