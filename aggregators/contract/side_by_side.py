"""Operations side by side in one, with arithmetic between their results."""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError, QueryError, SumOverflowError, shown
from .bound import BoundAggregate
from .frames import Frames, Values
from .numeric_columns import is_number
from .operation import AggregateOperation, Operation, State, StateRanges, TypedOperation
from .sql_spec import Planes, SqlSpec, side_by_side

Number = int | float | decimal.Decimal


def each_ones(parts: Mapping[str, Operation | BoundAggregate], of_columns: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Split a flat list, one item a column, into one list an operation."""
    rest = iter(of_columns)
    return {name: list(itertools.islice(rest, len(part.columns))) for name, part in parts.items()}


class Parts(TypedOperation):
    """Bound operations side by side; names of fields are prefixed with the operation's name."""

    def __init__(self, spec: Operation, parts: Mapping[str, BoundAggregate]) -> None:
        super().__init__(spec)
        self.parts = parts
        self.state = {
            f"{name}.{key}": kind for name, part in parts.items() for key, kind in part.operation.state.items()
        }
        self.result = pa.struct([pa.field(name, part.result) for name, part in parts.items()])
        self.commutative = all(part.commutative for part in parts.values())
        exact = any(part.operation.exact_deduct for part in parts.values())
        self.exact_deduct = exact and all(part.deducts[0] for part in parts.values())
        self.ufuncs = {f"{name}.{key}": each for name, part in parts.items() for key, each in part.ufuncs.items()}
        answered = [part.operation for part in parts.values() if part.answers_ranges]
        self.range_cost = ", ".join(dict.fromkeys(each.range_cost for each in answered))
        self.answers_nested = all(each.answers_nested for each in answered)

    @property
    def joined_parts(self) -> Mapping[str, BoundAggregate]:
        return self.parts

    def has(self, method: str) -> bool:
        if method == "finish_ranges":  # of those that do not answer, each slides in its own way
            return any(part.answers_ranges for part in self.parts.values())
        return all(part.operation.has(method) for part in self.parts.values())

    def create(self) -> Mapping[str, Any]:
        return self._together({name: part.operation.create() for name, part in self.parts.items()})

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        own = each_ones(self.parts, columns)
        return self._together({name: part.accumulate(frames, own[name]) for name, part in self.parts.items()})

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        found, start = [], 0
        for place, part in enumerate(self.parts.values()):
            own = part.sql_spec
            if own is None:
                return None
            found.append(own.moved(start, f"part{place}_"))
            start += len(part.columns)
        return side_by_side(found, self._read)

    def _read(self, planes: Planes) -> State:
        states = {}
        for place, (name, part) in enumerate(self.parts.items()):
            prefix = f"part{place}_"
            own = {key: plane for key, plane in planes.items() if key.startswith(prefix)}
            states[name] = part.read({key.removeprefix(prefix): plane for key, plane in own.items()})
        return self._together(states)

    def combine(self, a: State, b: State) -> State:
        return self._together({n: part.combine(self.part(n, a), self.part(n, b)) for n, part in self.parts.items()})

    def deduct(self, a: State, b: State) -> State:
        return self._together({n: part.deduct(self.part(n, a), self.part(n, b)) for n, part in self.parts.items()})

    def finish(self, a: State) -> Any:
        return self.joined({name: part.finish(self.part(name, a)) for name, part in self.parts.items()})

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        return self.joined({name: ranges.finish(part, self.part(name, a)) for name, part in self.parts.items()})

    def joined(self, results: Mapping[str, pa.Array]) -> pa.Array:
        """One result of those of all parts."""
        return pa.StructArray.from_arrays(list(results.values()), fields=list(self.result))

    def part(self, name: str, states: State) -> State:
        """The states of one of the operations."""
        return {key: states[f"{name}.{key}"] for key in self.parts[name].fields}

    @staticmethod
    def _together(states: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {f"{name}.{key}": column for name, part in states.items() for key, column in part.items()}


class Arithmetic(Operation):
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

    compares = None
    drops_nulls = False
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

    def bind(self, *types: pa.DataType) -> AggregateOperation:
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
