"""Which operators are refused where values are computed later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..errors import QueryError, shown

SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "floordiv": "//", "mod": "%", "matmul": "@"},
    **{"lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"},
}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
CALLS = {
    **{f"__{name}__": f"{{0}} {symbol} {{1}}" for name, symbol in (SYMBOLS | COMPARISONS).items()},
    **{f"__r{name}__": f"{{1}} {symbol} {{0}}" for name, symbol in SYMBOLS.items()},
    **{"__neg__": "-{0}", "__pos__": "+{0}", "__invert__": "~{0}", "__abs__": "np.abs({0})"},
    **{"__getitem__": "{0}[{1}]", "__divmod__": "np.divmod({0}, {1})[0]", "__rdivmod__": "np.divmod({1}, {0})[0]"},
    **{"__floor__": "np.floor({0})", "__ceil__": "np.ceil({0})", "__trunc__": "np.trunc({0})"},
    **{"__float__": "np.float64({0})", "__complex__": "np.complex128({0})"},
    **{"__int__": "np.int64({0})", "__index__": "np.int64({0})"},
}
"""By the method that Python calls: the text of a call with whole columns."""


class Unevaluated(ABC):
    """A value that a query computes later, refused where Python or numpy need it now."""

    __hash__ = object.__hash__

    @abstractmethod
    def refuse(self, call: Callable[..., str], operands: Sequence[Any]) -> NoReturn:
        """Raise the QueryError of an operator or a function.

        Parameters
        ----------
        call
            From the texts of the operands to the text of the call.
        operands
            The operands of the call, this value among them.
        """

    def __round__(self, *digits: Any) -> NoReturn:
        self.refuse(_called("np.round"), [self, *digits])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = f"np.{ufunc.__name__}" + f".{method}" * (method != "__call__")
        if out := options.get("out"):
            raise QueryError(f"{name} is given out={shown_operand(out[0])}; expected {name} without out=")
        self.refuse(_called(name, options, "[0]" if ufunc.nout > 1 else ""), [*inputs, *options.values()])

    def __array_function__(self, function: Any, _: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> NoReturn:
        name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
        self.refuse(_called(name, options), [*inputs, *options.values()])


def _called(name: str, options: Mapping[str, Any] = {}, part: str = "") -> Callable[..., str]:
    """The text of a call of a function, with the names of its last arguments."""

    def call(*texts: str) -> str:
        words = [""] * (len(texts) - len(options)) + [f"{option}=" for option in options]
        return f"{name}({', '.join(map(str.__add__, words, texts))}){part}"

    return call


def _refuser(text: str) -> Callable[..., NoReturn]:
    def refused(self: Unevaluated, *others: Any) -> NoReturn:
        self.refuse(text.format, [self, *others])

    return refused


for _method, _text in CALLS.items():
    setattr(Unevaluated, _method, _refuser(_text))


def shown_operand(value: Any) -> str:
    """An operand as a message shows it."""
    return repr(value) if isinstance(value, Unevaluated) else shown(value)
