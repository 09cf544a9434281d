"""Python's operators between operations: ``ff.Sum("x") / ff.Count()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .operation import Operation


class Operators:
    """The operators ``+ - * /`` and unary minus; `Arithmetic` says what they give."""

    __array_ufunc__ = None
    """A number of numpy's on the left leaves the operator to the operation."""

    def __add__(self, other: Any) -> Operation:
        return _between("+", self, other)

    def __radd__(self, other: Any) -> Operation:
        return _between("+", other, self)

    def __sub__(self, other: Any) -> Operation:
        return _between("-", self, other)

    def __rsub__(self, other: Any) -> Operation:
        return _between("-", other, self)

    def __mul__(self, other: Any) -> Operation:
        return _between("*", self, other)

    def __rmul__(self, other: Any) -> Operation:
        return _between("*", other, self)

    def __truediv__(self, other: Any) -> Operation:
        return _between("/", self, other)

    def __rtruediv__(self, other: Any) -> Operation:
        return _between("/", other, self)

    def __neg__(self) -> Operation:
        return _between("*", -1, self)


def _between(symbol: str, left: Any, right: Any) -> Operation:
    from .side_by_side import Arithmetic

    return Arithmetic(symbol, left, right)
