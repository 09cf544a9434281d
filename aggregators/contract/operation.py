"""What a user writes for an aggregate: operations, with operators between them."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain, count
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError, QueryError, SumOverflowError, shown
from .aggregate import Accumulator, Bindable, State, StateFunctions, StateRanges
from .bound import BoundAggregate, named_type
from .column_expressions import ColumnExpression, ColumnLike, same
from .column_functions import apply
from .numeric_columns import is_number, require_numbers
from .unevaluated import Unevaluated, shown_operand
from .wrapped import Parts, Wrapped, each_ones

__all__ = ["AggregateOperation", "State"]

Number = int | float | decimal.Decimal

SYMBOLS: dict[Any, str] = {np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.power: "**"}
"""The operators that functions of numpy stand for."""


class Operation(Unevaluated, Bindable):
    """The base of :class:`AggregateOperation` and :class:`PythonOperation`: columns, with operators between them.

    ``+ - * / **`` and unary minus are :class:`Arithmetic`; ``abs`` and functions of numpy are :meth:`then`. All other
    operators are refused, and so is a truth value.
    """

    result_parameters: ClassVar[Collection[str]] = ()
    """The attributes that results depend on, and states do not: they may be others where kept states are read."""

    def then(self, function: Callable[[Any], Any], *, result: Any = None) -> Operation:
        """The operation with its results passed through a function of whole columns, without nulls.

        One rule says what the function gets, by the type of the results:

        - numbers, booleans, timestamps, dates and durations: a numpy array;
        - text, binary, decimals, lists and all else: an Arrow array;
        - a struct, such as of ``ff.AllOf``: a dict of its fields, each by this rule.

        The result is null where that of the operation is, or any field of a struct. ``result`` is the type of what the
        function returns, an Arrow type or its name; a trial tells it where None.
        """
        return Then(self, function, result)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """``np.log(ff.Sum("x"))``: of one operation, its results passed through the function; of several, operators.

        Raises
        ------
        QueryError
            If it is no function of one operation's results.
        """
        if (symbol := SYMBOLS.get(ufunc)) is not None and method == "__call__" and not options:
            return Arithmetic(symbol, *inputs)
        if method != "__call__" or options or ufunc.nin != 1 or ufunc.nout != 1:
            return super().__array_ufunc__(ufunc, method, *inputs, **options)
        if ufunc is np.negative:
            return -self
        if ufunc is np.absolute:
            return abs(self)
        return self.then(ufunc)

    def refuse(self, call: Callable[..., str], operands: Sequence[Any]) -> NoReturn:
        """Raise a QueryError that has the call as a function of results."""
        names: list[str] = []
        parts: dict[int, str] = {}
        for each in operands:
            if isinstance(each, Operation):
                parts.setdefault(id(each), (*"abcdefgh", f"a{len(parts)}")[min(len(parts), 8)])
            names.append(parts.get(id(each)) or shown(each))
        made = repr(self)
        if len(parts) > 1:
            several = {parts[id(each)]: repr(each) for each in operands if isinstance(each, Operation)}
            made = f"ff.AllOf({', '.join(f'{name}={text}' for name, text in several.items())})"
            names = [f"of[{name!r}]" if name in several else name for name in names]
        raise QueryError(
            f"{call(*map(shown_operand, operands))} is no aggregate; expected a function of whole columns of results: "
            f"{made}.then(lambda {'of' if len(parts) > 1 else 'a'}: {call(*names)})"
        )

    def __bool__(self) -> NoReturn:
        raise QueryError(
            f"{self!r} has no truth value, as and, or, not, if and chains of comparisons need; expected an output of "
            "its own for each operation, or a function of their results: "
            "ff.AllOf(a=..., b=...).then(lambda of: of['a'] & of['b'])"
        )

    def __pos__(self) -> Operation:
        return self

    def __abs__(self) -> Operation:
        return self.then(absolute)

    def __pow__(self, other: Any) -> Operation:
        return Arithmetic("**", self, other)

    def __rpow__(self, other: Any) -> Operation:
        return Arithmetic("**", other, self)

    def __add__(self, other: Any) -> Operation:
        return Arithmetic("+", self, other)

    def __radd__(self, other: Any) -> Operation:
        return Arithmetic("+", other, self)

    def __sub__(self, other: Any) -> Operation:
        return Arithmetic("-", self, other)

    def __rsub__(self, other: Any) -> Operation:
        return Arithmetic("-", other, self)

    def __mul__(self, other: Any) -> Operation:
        return Arithmetic("*", self, other)

    def __rmul__(self, other: Any) -> Operation:
        return Arithmetic("*", other, self)

    def __truediv__(self, other: Any) -> Operation:
        return Arithmetic("/", self, other)

    def __rtruediv__(self, other: Any) -> Operation:
        return Arithmetic("/", other, self)

    def __neg__(self) -> Operation:
        return Arithmetic("*", -1, self)


class AggregateOperation(Accumulator, Operation):
    """An aggregate over whole columns of states at once.

    A subclass declares ``state`` (see :mod:`framefold.aggregators.states.fields` for the types) and writes four
    functions.
    All of them see columns with one element a state and must work element by element, so that one call serves every
    key and every window. ``combine`` is associative; its left operand is the earlier one. ``combine`` and ``deduct``
    neither keep nor change what they are given. Nulls in the input columns are gone before ``accumulate``.

    Where ``combine`` is one numpy function for each field (``a["n"] + b["n"]``, ``np.maximum(a["x"], b["x"])``), a
    subclass may say so: ``ufuncs = {"n": np.add, "x": np.maximum}``. Windows then slide without calling it, which is
    faster, if every field has such a function: ``np.add`` for integers, compensated and exact fields, and the least,
    the greatest, "and" and "or" for any numpy type.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import framefold as ff
    >>> class GeometricMean(ff.AggregateOperation):
    ...     state = {"log_sum": "float64", "count": "int64"}
    ...     def accumulate(self, frames, x):
    ...         return {"log_sum": frames.sum(np.log(x)), "count": frames.count(x)}
    ...     def combine(self, a, b):
    ...         return {"log_sum": a["log_sum"] + b["log_sum"], "count": a["count"] + b["count"]}
    ...     def finish(self, a):
    ...         return np.exp(a["log_sum"] / a["count"])
    >>> events = pa.table({"t": [0, 1, 2], "x": [2.0, 8.0, 1.0]})
    >>> result = ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(mean=GeometricMean("x"))
    >>> [round(mean, 6) for mean in result["mean"].to_pylist()]
    [2.0, 4.0, 2.828427, 1.0]
    """


class OneColumn(AggregateOperation):
    """An aggregate of one column."""

    def __init__(self, column: ColumnLike) -> None:
        super().__init__(column)


class OfNumbers(AggregateOperation):
    """A commutative operation on columns of numbers; its results are float64."""

    result: pa.DataType = pa.float64()
    commutative = True

    def bind(self, *types: pa.DataType) -> StateFunctions:
        require_numbers(self, *types)
        return self


class Sums(AggregateOperation):
    """A commutative operation with a deduct; all fields of its state are sums."""

    commutative = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.combine is Sums.combine and "ufuncs" not in vars(cls):
            cls.ufuncs = dict.fromkeys(cls.state, np.add)

    def combine(self, a: State, b: State) -> State:
        return {field: a[field] + b[field] for field in self.state}

    def deduct(self, a: State, b: State) -> State:
        return {field: a[field] - b[field] for field in self.state}


class OfSums(OfNumbers, Sums):
    """An operation on columns of numbers, with sums for its state, and without a deduct."""

    deduct = AggregateOperation.deduct  # type: ignore[assignment]


class OfOthers(Operation):
    """An operation made of others, each of which takes its columns, nulls and all, in its own way."""

    compares = None
    drops_nulls = False


def require_operation(name: str, operation: object) -> Operation:
    """QueryError unless it is an operation."""
    if not isinstance(operation, Operation):
        hint = f", such as ff.{operation.__name__}(...)" if isinstance(operation, type) else ""
        raise QueryError(f"{name} is given {shown(operation)}; expected an aggregate operation{hint}")
    return operation


class Then(OfOthers):
    """An operation whose results are passed through a function; what :meth:`Operation.then` gives.

    The function sees whole columns of results (numpy arrays, Arrow arrays where numpy has no type for them) without
    nulls: the result is null where that of the operation is. Of a struct it gets a dict of its fields' columns, and
    the result is null where any of them is.

    Parameters
    ----------
    operation
        What is computed.
    function
        From a column of results to a column of as many.
    result
        The type of what it returns, an Arrow type or its name; inferred by a trial where None. Python's decimals then
        have 38 digits and the scale seen in the trial, at most 18, as in Spark.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3.0, 4.0, 9.0]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> parts = ff.AllOf(low=ff.Min("x"), high=ff.Max("x"))
    >>> query.aggregate(
    ...     root=ff.Sum("x").then(np.sqrt), spread=parts.then(lambda of: of["high"] - of["low"])
    ... ).select(["root", "spread"]).to_pylist()
    [{'root': 4.0, 'spread': 6.0}]
    """

    joins_results = True

    def __init__(self, operation: Operation, function: Callable[[Any], Any], result: Any = None) -> None:
        self.operation = require_operation("then", operation)
        if not callable(function):
            raise QueryError(f"then of {operation!r} is given {function!r}; expected a function of its results")
        super().__init__(*operation.columns)
        self.function = function
        self.result = result

    def __repr__(self) -> str:
        return f"{self.operation!r}.then({getattr(self.function, '__name__', repr(self.function))})"

    def bind(self, *types: pa.DataType) -> StateFunctions:
        return Transformed(self, BoundAggregate("then", self.operation, types))


class Transformed(Wrapped):
    """A bound operation with a function after its finish."""

    spec: Then

    def __init__(self, spec: Then, inner: BoundAggregate) -> None:
        super().__init__(spec, inner)
        self.result = named_type(spec, spec.result)

    def finish(self, a: State) -> Any:
        return self._passed(self.inner.finish(a))

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        results = self.inner.finish_ranges(a, ranges)
        return self._passed(results) if isinstance(results, pa.Array) else results

    @property
    def joined_parts(self) -> Mapping[str, BoundAggregate]:
        return {"operation": self.inner}

    def joined(self, results: Mapping[str, pa.Array]) -> pa.Array:
        return self._passed(results["operation"])

    def _passed(self, results: pa.Array) -> pa.Array:
        """What the function makes of results."""
        function, columns = self.spec.function, [results]
        if pa.types.is_struct(results.type):
            names = [field.name for field in results.type]
            function, columns = (
                lambda *fields: self.spec.function(dict(zip(names, fields, strict=True))),
                results.flatten(),
            )
        return apply(self, function, columns, None if self.result is None else [self.result])[0]


class Arithmetic(OfOthers):
    """Two operations, or one and a number, joined by ``+``, ``-``, ``*``, ``/`` or ``**``: what these operators give.

    The result is null where that of an operand is. ``+``, ``-`` and ``*`` keep integers and decimals exact: a result
    that does not fit is an error. ``/`` is true division of floats: by zero it gives an infinity or NaN; ``**`` is a
    power of floats. Results of timestamps and durations can be added and subtracted, as far as Arrow can.

    Parameters
    ----------
    symbol
        The operator.
    left, right
        Operations, or numbers.

    Raises
    ------
    QueryError
        If an operand is neither.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "paid": [3, 4, None], "tax": [1.0, 1.0, 4.0]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(
    ...     each=ff.Sum("paid") / ff.Count(), net=ff.Sum("paid") - ff.Sum("tax"), percent=100 * ff.Max("tax")
    ... ).select(["each", "net", "percent"]).to_pylist()
    [{'each': 2.3333333333333335, 'net': 1.0, 'percent': 400.0}]
    """

    joins_results = True

    def __init__(self, symbol: str, left: Operation | Number, right: Operation | Number) -> None:
        operands = {"left": _operand(symbol, left), "right": _operand(symbol, right)}
        self.symbol = symbol
        self.parts = {name: each for name, each in operands.items() if isinstance(each, Operation)}
        self.numbers = {name: each for name, each in operands.items() if not isinstance(each, Operation)}
        super().__init__(*(column for part in self.parts.values() for column in part.columns))

    def __repr__(self) -> str:
        left, right = (
            f"({each!r})" if isinstance(each, Arithmetic) else repr(each)
            for each in (self.parts.get(name, self.numbers.get(name)) for name in ("left", "right"))
        )
        return f"{left} {self.symbol} {right}"

    def bind(self, *types: pa.DataType) -> StateFunctions:
        own = each_ones(self.parts, types)
        return Computed(self, {name: BoundAggregate(name, part, own[name]) for name, part in self.parts.items()})


def _operand(symbol: str, value: Any) -> Operation | Number:
    """What stands beside an operator, where it can."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Operation) or (isinstance(value, Number) and not isinstance(value, bool)):
        return value
    hint = f", such as ff.{value.__name__}(...)" if isinstance(value, type) and issubclass(value, Operation) else ""
    raise QueryError(
        f"{symbol!r} between aggregates is given {shown(value)}; expected an aggregate operation or a number{hint}"
    )


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0]


class Computed(Parts):
    """Bound operations side by side, whose results are joined by an operator."""

    spec: Arithmetic

    def __init__(self, spec: Arithmetic, parts: Mapping[str, BoundAggregate]) -> None:
        super().__init__(spec, parts)
        for name, part in parts.items():
            if not is_number(part.result) and not (pa.types.is_temporal(part.result) and spec.symbol in "+-"):
                raise ColumnError(f"{spec!r} needs numbers for its operands; {spec.parts[name]!r} gives {part.result}")
        try:
            nothing = {name: pa.array([], part.result) for name, part in parts.items()}
            self.result = self._joined(nothing).type
        except (pa.ArrowException, OverflowError, ValueError) as error:
            given = " and ".join(str(part.result) for part in parts.values())
            raise ColumnError(f"{spec!r} cannot be computed of {given}: {_reason(error)}") from error

    def joined(self, results: Mapping[str, pa.Array]) -> pa.Array:
        try:
            return self._joined(results)
        except pa.ArrowInvalid as error:
            raise SumOverflowError(
                f"{self.spec!r} does not fit {self.result} in some window ({_reason(error)}); expected operands of "
                "a wider type: cast a column to float64"
            ) from error

    def _joined(self, results: Mapping[str, pa.Array]) -> pa.Array:
        numbers = self.spec.numbers
        given = [results[name] if name in results else pa.scalar(numbers[name]) for name in ("left", "right")]
        of_floats = self.spec.symbol in ("/", "**") or any(pa.types.is_floating(each.type) for each in given)
        if of_floats and all(is_number(each.type) for each in given):
            given = [each.cast(pa.float64(), safe=False) for each in given]
        function = FUNCTIONS[self.spec.symbol]
        if not any(pa.types.is_decimal(each.type) for each in given):
            return function(*(each.cast(pa.int64()) if pa.types.is_integer(each.type) else each for each in given))
        # Arrow wants a type that holds any result: it has one for 38 digits and more, but not for products of 76.
        most = 37 if self.spec.symbol == "*" else 38
        found = function(*(each.cast(_of_76_digits(each.type, most)) for each in given))
        return found.cast(pa.decimal128(38, found.type.scale))


def _of_76_digits(type: pa.DataType, most: int) -> pa.DataType:
    """The type of decimals with up to 76 digits for an operand of some digits, or of an integer type."""
    return pa.decimal256(min(type.precision, most), type.scale) if pa.types.is_decimal(type) else pa.decimal256(19, 0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": pc.divide,
    "**": pc.power,
}
"""By operator. Those of integers and decimals fail on what does not fit, and never wrap around."""


def absolute(results: Any) -> Any:
    """Results without their signs; an error where one does not fit."""
    durations = isinstance(results, np.ndarray) and results.dtype.kind == "m"
    return np.abs(results) if durations else pc.abs_checked(pa.array(results))


def without_expressions(outputs: Mapping[str, Any], taken: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Outputs that take names of columns instead of expressions, and these expressions by their names.

    Parameters
    ----------
    outputs
        Operations by name.
    taken
        The names of the columns that the events have.
    """
    known = {name.lower() for name in taken}
    expressions: dict[str, Any] = {}
    by_text: dict[str, list[str]] = {}  # equal expressions have one text

    def name_of(column: ColumnExpression) -> str:
        alike = by_text.setdefault(str(column), [])
        for name in alike:
            if same(expressions[name], column.value):
                return name
        name = next(name for name in chain([str(column)], map(f"{column} #{{}}".format, count(2))) if name not in known)
        known.add(name.lower())
        expressions[name] = column.value
        alike.append(name)
        return name

    return {name: _named(operation, name_of) for name, operation in outputs.items()}, expressions


def _named(value: Any, name_of: Callable[[ColumnExpression], str]) -> Any:
    """An operation, or what it is made of, with names for expressions."""
    if isinstance(value, ColumnExpression):
        return name_of(value)
    if isinstance(value, tuple):
        return tuple(_named(each, name_of) for each in value)
    if isinstance(value, dict):
        return {key: _named(each, name_of) for key, each in value.items()}
    if isinstance(value, Operation) and any(
        isinstance(name, ColumnExpression) for name in getattr(value, "columns", ())
    ):
        made = copy(value)
        vars(made).update(_named(vars(value), name_of))
        return made
    return value
