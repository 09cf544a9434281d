"""The windows of ``framefold run``: a length, or a kind of windows with its options, as operations are written."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from ...aggregators.errors import QueryError, nearest
from ...runtime import windows as of
from ...runtime.windows.spec import Spec
from .arguments import READERS, number, read_options, reader_of, split_options, value

KINDS: dict[str, Callable[..., Spec]] = {
    each.__name__: each
    for each in (
        of.sliding,
        of.tumbling,
        of.cumulating,
        of.landmark,
        of.session,
        of.last_rows,
        of.around,
        of.policy,
        of.snapshot,
    )
}
"""The kinds of windows, by the names that they have in Python."""

FIRST = {"sliding": "size", "tumbling": "size", "cumulating": "size", "session": "gap", "last_rows": "n"}
"""The parameter that a value without a name is for."""

RULES: dict[str, Callable[..., Any]] = {"count": of.by_count, "time": of.by_time, "delta": of.by_delta}


def pair(text: str) -> Any:
    """Two values with a comma between them, such as ``-1 hour,0 seconds``."""
    return tuple(number(each.strip()) for each in text.split(","))


def rule(text: str) -> Any:
    """A rule of eviction or of a trigger: ``count 3``, ``time 5 minutes``, or ``delta COLUMN 0.5``.

    >>> print(rule("count 3"), rule("delta price 0.5"))
    count(3) delta(price, 0.5)
    """
    word, _, rest = text.strip().partition(" ")
    column, _, delta = rest.strip().rpartition(" ")
    if word not in RULES or not rest.strip() or (word == "delta" and not column):
        raise QueryError(f"a rule is {text!r}; expected 'count N', 'time LENGTH' or 'delta COLUMN N'")
    return of.by_delta(column, value(delta)) if word == "delta" else RULES[word](number(rest.strip()))


OF_WINDOWS = READERS | {"Sequence": pair, "Rule": rule, "Instant": value, "Offset": number}
"""The readers of options, by a word in the type of a parameter."""


def read_windows(text: str, options: Mapping[str, str | None]) -> Spec:
    """The windows of ``--window``.

    Parameters
    ----------
    text
        ``LENGTH`` or ``KIND[:VALUE][:OPTION=VALUE,...]``.
    options
        The options of the command line that windows have, such as ``every``; None where one is not given.

    Raises
    ------
    QueryError
        If the kind is unknown, or has no such option, or has it twice.

    Examples
    --------
    >>> print(read_windows("1 hour", {"every": "1 minute"}))
    windows of 1 hour every 1 minute
    >>> print(read_windows("session:30 minutes", {}))
    sessions that end after 30 minutes without an event
    """
    kind, given = _read(text)
    parameters = parameters_of(kind)
    for name, said in options.items():
        if said is None:
            continue
        if name in given:
            raise QueryError(f"--window {text!r} has {name}=, and --{name} is given too; expected one of them")
        if name not in parameters:
            raise QueryError(f"--{name} is {said!r}, but windows of the kind {kind!r} have no {name}")
        given[name] = said
    if kind == "sliding":
        given.setdefault("every", given.get("size", ""))
    for name, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            raise QueryError(f"--window {text!r} has no {name}; expected {usage(kind)}")
    # Choices are text, whatever their types are.
    read = {name: (reader_of(parameters[name], OF_WINDOWS) or str)(said) for name, said in given.items()}
    return KINDS[kind](**read)


def _read(text: str) -> tuple[str, dict[str, str]]:
    """The kind of windows, and their options as they are written."""
    word, _, rest = text.partition(":")
    kind = word.strip().lower().replace("-", "_")
    if not re.match(r"[a-z]", kind):
        return "sliding", {"size": text}
    if kind not in KINDS:
        raise QueryError(f"--window {text!r} is of the unknown kind {word!r}; {nearest(kind, KINDS)}")
    first, options = split_options(rest)
    if first.strip():
        if kind not in FIRST:
            raise QueryError(f"--window {text!r} has {first!r} without a name; expected {usage(kind)}")
        options.insert(0, (FIRST[kind], first))
    given = read_options(options, parameters_of(kind), f"--window {text!r} has")
    return kind, {name: said.strip() for name, said in given.items()}


def parameters_of(kind: str) -> dict[str, inspect.Parameter]:
    """The parameters of a kind of windows that text can give: tables, for one, cannot be written."""
    named = inspect.signature(KINDS[kind]).parameters
    return {name: each for name, each in named.items() if each.annotation != "Any"}


def usage(kind: str) -> str:
    """How windows of a kind are written.

    >>> usage("session"), usage("snapshot")
    ('session:GAP[:merge_touching=...,longest=...,stamp=...]', 'snapshot[:emit=...]')
    """
    names = [name for name in parameters_of(kind) if name != FIRST.get(kind)]
    first = f":{FIRST[kind].upper()}" if kind in FIRST else ""
    return f"{kind}{first}[:{','.join(f'{name}=...' for name in names)}]"
