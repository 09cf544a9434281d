"""The exceptions of framefold; each message is one sentence that a user can act on."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "CalendarWarning",
    "ColumnError",
    "DroppedEventsWarning",
    "DurationError",
    "EngineError",
    "FarTimesWarning",
    "FramefoldError",
    "GapsWarning",
    "JavaError",
    "LawError",
    "NullTimeError",
    "OperationError",
    "QueryError",
    "SumOverflowError",
]

# A user and a password before the host, where what follows a colon is no port; and the values after a question mark.
_LOGIN = re.compile(r"(\w://)[^\s'\"/:@]*:(?!\d*/)[^\s'\"]*@")
_VALUES = re.compile(r"(?<=[?&;])([\w.-]+=)[^\s'\"&]+")
_ADDRESS = re.compile(r"\w://[^\s'\"]+")


def without_secrets(text: str) -> str:
    """A text, in which addresses have neither logins nor values of their own.

    Examples
    --------
    >>> without_secrets("'s3://key:pass/word@bucket/a' and hdfs://host:8020/b?token=abc&user=ann")
    "'s3://***@bucket/a' and hdfs://host:8020/b?token=***&user=***"
    """
    return _ADDRESS.sub(lambda found: _VALUES.sub(r"\1***", _LOGIN.sub(r"\1***@", found[0])), text)


class FramefoldError(Exception):
    """The base of all exceptions of framefold. Their messages have no secrets in addresses."""

    def __init__(self, *sentence: object) -> None:
        super().__init__(*(without_secrets(each) if isinstance(each, str) else each for each in sentence))


class QueryError(FramefoldError, ValueError):
    """A query is invalid: the message names the argument, what was found and what was expected."""


class ColumnError(QueryError):
    """A column does not exist, or has a type that cannot be used where it is named."""


class DurationError(QueryError):
    """A duration does not parse, or does not fit the time column."""


class NullTimeError(FramefoldError):
    """Events without a time were found where every event must have one."""


class SumOverflowError(FramefoldError, ArithmeticError):
    """A sum does not fit the type of its result. A wrapped number is never returned instead."""


class OperationError(FramefoldError):
    """An aggregate operation broke its contract: a missing method, a state of the wrong shape or type."""


class ImpureError(OperationError):
    """A function of an aggregate operation changes its arguments in place."""


class LawError(FramefoldError, AssertionError):
    """An aggregate operation breaks one of the laws that sliding relies on."""


class JavaError(FramefoldError):
    """No Java that Spark can run on was found."""


class EngineError(FramefoldError):
    """An engine cannot run the query: Spark is not installed, or lacks something framefold needs."""


class DroppedEventsWarning(UserWarning):
    """Events were left out because the query said so; the message has their number."""


class GapsWarning(UserWarning):
    """The windows of a query leave out some of the time, or of the rows; the message says how much of it."""


class CalendarWarning(UserWarning):
    """Windows of days, weeks or months lie elsewhere than in earlier versions; the message says where, and why."""


class FarTimesWarning(UserWarning):
    """Windows lie beyond the year 9999, where Python and pandas have no times."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """A half sentence that offers the known name closest to a misspelt one, or lists what there is.

    >>> nearest("sped", ["speed", "driver"])
    "did you mean 'speed'?"
    >>> nearest("x", ["speed", "driver"])
    "there are 'speed', 'driver'"
    """
    names = list(choices)
    folded = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    if not names:
        return "there are none"
    listed = ", ".join(repr(candidate) for candidate in names[:12])
    return f"there are {listed}" + (", ..." if len(names) > 12 else "")


def installing(extra: str) -> str:
    """The command that brings an extra, as README's section on installing has it.

    >>> installing("sql")
    "pip install '.[sql]' in a clone of framefold"
    """
    return f"pip install '.[{extra}]' in a clone of framefold"


@contextmanager
def needing(who: str, extra: str) -> Iterator[None]:
    """An EngineError where a package that the body imports, and that an extra brings, is not installed."""
    try:
        yield
    except ImportError as error:
        raise EngineError(f"{who} {error.name}; expected it installed: {installing(extra)}") from error


def excerpt(text: object) -> str:
    """A text as a message shows it: the beginning of a long one, and its length.

    >>> excerpt("x > 1"), len(excerpt("x > 1 or " * 10_000))
    ('x > 1', 224)
    """
    said = str(text)
    return said if len(said) <= 240 else f"{said[:200]} ... ({len(said):,} characters)"


def require_text(what: str, given: str) -> None:
    """QueryError where a name or a text has half of a surrogate pair, which no table, file or parser takes."""
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise QueryError(
            f"{what} is {given!r:.200}, which is no text in Unicode; expected one without surrogates"
        ) from error


def shown(value: Any) -> str:
    """A value as a message shows it: its type where its text is long, as that of a table or a column is.

    >>> shown(3), shown(range(10)), shown([0] * 100)
    ('3', 'range(0, 10)', 'a list')
    """
    if isinstance(value, type):
        return value.__name__
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    text = repr(value) if module in ("builtins", "decimal", "datetime", "fractions", __name__.partition(".")[0]) else ""
    if text and len(text) <= 60 and "\n" not in text and " at 0x" not in text:
        return text
    return f"a {kind.__name__}" if module == "builtins" else f"a {module} {kind.__name__}"
