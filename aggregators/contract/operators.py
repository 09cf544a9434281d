"""Python's operators between operations: ``ff.Sum("x") / ff.Count()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import QueryError

if TYPE_CHECKING:
    from .operation import Operation


SYMBOLS: dict[Any, str] = {np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.power: "**"}
"""The operators that functions of numpy stand for."""


class Operators:
    """The operators ``+ - * / **`` and unary minus, of which `Arithmetic` says what they give; ``abs`` and numpy's."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """``np.log(ff.Sum("x"))``: of one operation, its results passed through the function; of several, operators.

        Raises
        ------
        QueryError
            If it is no function of one operation's results.
        """
        if (symbol := SYMBOLS.get(ufunc)) is not None and method == "__call__" and not options:
            return _between(symbol, *inputs)
        if ufunc is np.negative:
            return -self
        if ufunc is np.absolute:
            return abs(self)
        if method != "__call__" or options or ufunc.nin != 1 or ufunc.nout != 1:
            raise QueryError(
                f"numpy.{ufunc.__name__} is given {self!r}; expected a function of one column for operations, or "
                ".then with a function of results: ff.AllOf(a=..., b=...).then(lambda of: ...) for those of several"
            )
        return cast("Operation", self).then(ufunc)

    def __abs__(self) -> Operation:
        return cast("Operation", self).then(absolute)

    def __pow__(self, other: Any) -> Operation:
        return _between("**", self, other)

    def __rpow__(self, other: Any) -> Operation:
        return _between("**", other, self)

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


def absolute(results: Any) -> Any:
    """Results without their signs; an error where one does not fit."""
    durations = isinstance(results, np.ndarray) and results.dtype.kind == "m"
    return np.abs(results) if durations else pc.abs_checked(pa.array(results))
