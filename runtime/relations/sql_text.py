"""SQL text of conditions or computed columns, as pyarrow expressions.

Columns, numbers, text, ``timestamp '...'`` and ``date '...'``; ``+ - * / %``, comparisons, ``is [not] null``,
``[not] in (...)``, ``[not] between``, ``and``, ``or``, ``not``, parentheses.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import QueryError
from ..columns.ticks import LIMIT

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<text>'(?:[^']|'')*')|(?P<quoted>`(?:[^`]|``)+`)"
    r"|(?P<word>[^\W\d]\w*)|(?P<sign><=>|<=|>=|<>|!=|==|[-+*/%=<>(),]))"
)
BINARY: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "or": (1, lambda a, b: a | b),
    "and": (2, lambda a, b: a & b),
    "=": (4, lambda a, b: a == b), "==": (4, lambda a, b: a == b),
    "!=": (4, lambda a, b: a != b), "<>": (4, lambda a, b: a != b),
    "<": (4, lambda a, b: a < b), "<=": (4, lambda a, b: a <= b),
    ">": (4, lambda a, b: a > b), ">=": (4, lambda a, b: a >= b),
    "+": (5, lambda a, b: a + b), "-": (5, lambda a, b: a - b),
    "*": (6, lambda a, b: a * b), "/": (6, lambda a, b: a.cast(pa.float64()) / b.cast(pa.float64())),
    "%": (6, lambda a, b: a - b * pc.divide(a, b).cast(pa.int64(), safe=False)),
}  # fmt: skip
"""How strongly each operator binds, and what it does."""


def expression(text: str) -> pc.Expression:
    """The pyarrow expression of some SQL; QueryError where it is none that is known here.

    Examples
    --------
    >>> str(expression("x > 3 and (k = 'a' or not y < 2)"))
    '((x > 3) and ((k == "a") or invert((y < 2))))'
    """
    return _Parser(text).whole()


class _Parser:
    """A parser by precedence (V. Pratt, "Top down operator precedence", 1973)."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.tokens = text, 0, []
        end = 0
        while text[end:].strip():
            if (found := TOKEN.match(text, end)) is None:
                raise self._error(text[end:].strip())
            self.tokens.append((str(found.lastgroup), found[found.lastgroup or 0]))
            end = found.end()

    def whole(self) -> pc.Expression:
        found = self._binary(0)
        if self.at < len(self.tokens):
            raise self._error(self.tokens[self.at][1])
        return found

    def _error(self, found: str) -> QueryError:
        return QueryError(
            f"the SQL {self.text!r} has {found or 'its end'!r} where something else must be; expected columns, "
            "numbers, 'text', comparisons, arithmetic, and, or, not, is null, in (...), between; or an expression"
        )

    def _word(self) -> str:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        return text.lower() if kind in ("word", "sign") else ""

    def _take(self, *words: str) -> bool:
        """Whether the next tokens are some words, which are taken then."""
        start = self.at
        for word in words:
            if self._word() != word:
                self.at = start
                return False
            self.at += 1
        return True

    def _must(self, word: str) -> None:
        if not self._take(word):
            raise self._error(self.tokens[self.at][1] if self.at < len(self.tokens) else "")

    def _binary(self, least: int) -> Any:
        if least <= 3 and self._take("not"):
            left = ~self._binary(3)
        else:
            left = self._unary()
        while True:
            if least <= 4 and (tested := self._tested(left)) is not None:
                left = tested
                continue
            strength, function = BINARY.get(self._word(), (-1, None))
            if function is None or strength <= least:
                return left
            self.at += 1
            left = function(left, self._binary(strength))

    def _tested(self, left: Any) -> Any:
        """A test that follows an operand; None where there is none."""
        if self._take("is"):
            negated = self._take("not")
            self._must("null")
            return ~left.is_null() if negated else left.is_null()
        negated = self._word() == "not" and self.at + 1 < len(self.tokens)
        self.at += negated
        if self._take("in"):
            self._must("(")
            found = left == self._binary(4)
            while self._take(","):
                found = found | (left == self._binary(4))
            self._must(")")
        elif self._take("between"):
            low = self._binary(4)
            self._must("and")
            found = (left >= low) & (left <= self._binary(4))
        else:
            self.at -= negated
            return None
        return ~found if negated else found

    def _unary(self) -> Any:
        if self._take("-"):
            return pc.negate(self._unary())
        if self._take("("):
            found = self._binary(0)
            self._must(")")
            return found
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        self.at += 1
        if kind == "number":
            if text.isdigit() and int(text) >= LIMIT:
                raise self._error(text)
            return pc.scalar(int(text) if text.isdigit() else float(text))
        if kind == "text":
            return pc.scalar(text[1:-1].replace("''", "'"))
        if kind == "quoted":
            return pc.field(text[1:-1].replace("``", "`"))
        if kind != "word" or text.lower() in ("and", "or", "is", "in", "between"):
            raise self._error(text)
        following = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        if text.lower() in ("timestamp", "date") and following[0] == "text":
            self.at += 1
            return pc.scalar(self._time(text.lower(), following[1][1:-1]))
        constants = {"true": True, "false": False, "null": None}
        return pc.scalar(constants[text.lower()]) if text.lower() in constants else pc.field(text)

    def _time(self, kind: str, text: str) -> datetime.date:
        try:
            return (datetime.datetime if kind == "timestamp" else datetime.date).fromisoformat(text)
        except ValueError:
            raise self._error(text) from None
