"""Operations made of operations: several in one struct, one with another finish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from ..contract.bound import BoundAggregate
from ..contract.column_functions import apply, require_operation
from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, Operation, State
from ..contract.sql_spec import Planes, SqlSpec, side_by_side
from ..contract.trial import named_type
from ..errors import QueryError


class Wrapped(AggregateOperation):
    """A bound operation with something done to its input or its results; its states are those of what it wraps.

    Deduct, order, exactness and the way of sliding follow from the states, so they are inherited too.
    """

    def __init__(self, spec: Operation, inner: BoundAggregate) -> None:
        super().__init__(*spec.columns)
        self.spec = spec
        self.inner = inner
        self.state = inner.operation.state  # type: ignore[misc]  # by what it wraps
        self.result = inner.result
        self.commutative = inner.commutative
        self.exact_deduct = inner.operation.exact_deduct
        self.ufuncs = inner.ufuncs

    def __repr__(self) -> str:
        return repr(self.spec)

    def has(self, method: str) -> bool:
        return self.inner.operation.has(method)

    def create(self) -> Mapping[str, Any]:
        return self.inner.operation.create()

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return self.inner.accumulate(frames, columns)

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        return self.inner.sql_spec

    def combine(self, a: State, b: State) -> State:
        return self.inner.combine(a, b)

    def deduct(self, a: State, b: State) -> State:
        return self.inner.deduct(a, b)

    def finish(self, a: State) -> Any:
        return self.inner.finish(a)


class AllOf(Operation):
    """Several operations in one output: a struct of their results.

    Each leaves out nulls of its own columns only. A window slides by deduct where all of them can.

    Parameters
    ----------
    **parts
        The operations, under the names of the struct's fields.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3, None, 4]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(x=ff.AllOf(sum=ff.Sum("x"), rows=ff.Count()))["x"].to_pylist()
    [{'sum': 7, 'rows': 3}]
    """

    drops_nulls = False

    def __init__(self, **parts: Operation) -> None:
        if not parts:
            raise QueryError("AllOf is given no operations; expected some by name, such as mean=ff.Average('x')")
        for name, part in parts.items():
            require_operation(f"AllOf's {name}=", part)
            if "." in name:
                raise QueryError(f"AllOf names a part {name!r}; expected a name without a dot")
        self.parts = parts
        super().__init__(*(column for part in parts.values() for column in part.columns))

    def __repr__(self) -> str:
        return f"AllOf({', '.join(f'{name}={part!r}' for name, part in self.parts.items())})"

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        parts, start = {}, 0
        for name, part in self.parts.items():
            stop = start + len(part.columns)
            parts[name] = BoundAggregate(name, part, types[start:stop])
            start = stop
        return Parts(self, parts)


class Parts(AggregateOperation):
    """Bound operations side by side: the fields of each have its name before theirs."""

    def __init__(self, spec: AllOf, parts: Mapping[str, BoundAggregate]) -> None:
        super().__init__(*spec.columns)
        self.spec = spec
        self.parts = parts
        self.state = {  # type: ignore[misc]  # by what it is made of
            f"{name}.{key}": kind for name, part in parts.items() for key, kind in part.operation.state.items()
        }
        self.result = pa.struct([pa.field(name, part.result) for name, part in parts.items()])
        self.commutative = all(part.commutative for part in parts.values())
        exact = any(part.operation.exact_deduct for part in parts.values())
        self.exact_deduct = exact and all(part.deducts[0] for part in parts.values())
        self.ufuncs = {f"{name}.{key}": each for name, part in parts.items() for key, each in part.ufuncs.items()}

    def __repr__(self) -> str:
        return repr(self.spec)

    def has(self, method: str) -> bool:
        return all(part.operation.has(method) for part in self.parts.values())

    def create(self) -> Mapping[str, Any]:
        return self._together({name: part.operation.create() for name, part in self.parts.items()})

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        states, start = {}, 0
        for name, part in self.parts.items():
            stop = start + len(part.columns)
            states[name] = part.accumulate(frames, columns[start:stop])
            start = stop
        return self._together(states)

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
        return self._together({n: part.combine(self._of(n, a), self._of(n, b)) for n, part in self.parts.items()})

    def deduct(self, a: State, b: State) -> State:
        return self._together({n: part.deduct(self._of(n, a), self._of(n, b)) for n, part in self.parts.items()})

    def finish(self, a: State) -> Any:
        results = [part.finish(self._of(name, a)) for name, part in self.parts.items()]
        return pa.StructArray.from_arrays(results, fields=list(self.result))

    def _of(self, name: str, states: State) -> State:
        return {key: states[f"{name}.{key}"] for key in self.parts[name].fields}

    @staticmethod
    def _together(states: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {f"{name}.{key}": column for name, part in states.items() for key, column in part.items()}


class Then(Operation):
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
        The type of what it returns, an Arrow type or its name; found out by a trial where None. Python's decimals are
        then kept in 38 digits, with as many after the point as the trial showed, but at most 18, as in Spark.

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

    drops_nulls = False

    def __init__(self, operation: Operation, function: Callable[[Any], Any], result: Any = None) -> None:
        self.operation = require_operation("then", operation)
        if not callable(function):
            raise QueryError(f"then of {operation!r} is given {function!r}; expected a function of its results")
        super().__init__(*operation.columns)
        self.function = function
        self.result = result

    def __repr__(self) -> str:
        return f"{self.operation!r}.then({getattr(self.function, '__name__', repr(self.function))})"

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        return Transformed(self, BoundAggregate("then", self.operation, types))


class Transformed(Wrapped):
    """A bound operation with a function after its finish."""

    spec: Then

    def __init__(self, spec: Then, inner: BoundAggregate) -> None:
        super().__init__(spec, inner)
        self.result = named_type(spec, spec.result)

    def finish(self, a: State) -> Any:
        results = self.inner.finish(a)
        function, columns = self.spec.function, [results]
        if pa.types.is_struct(results.type):
            names = [field.name for field in results.type]
            function, columns = (
                lambda *fields: self.spec.function(dict(zip(names, fields, strict=True))),
                results.flatten(),
            )
        return apply(self, function, columns, None if self.result is None else [self.result])[0]
