"""Wrappers of operations that change inputs or results; Then, a function of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from ..errors import QueryError
from .bound import BoundAggregate
from .column_functions import apply, require_operation
from .frames import Frames, Values
from .operation import AggregateOperation, Operation, State, StateRanges, TypedOperation
from .sql_spec import SqlSpec
from .trial import named_type


class Wrapped(TypedOperation):
    """A bound operation with changed inputs or results; its states are those of the wrapped operation.

    Deduct, order, exactness and the way of sliding follow from the states, so they are inherited too.
    """

    def __init__(self, spec: Operation, inner: BoundAggregate) -> None:
        super().__init__(spec)
        self.inner = inner
        self.state = inner.operation.state
        self.result = inner.result
        self.commutative = inner.commutative
        self.exact_deduct = inner.operation.exact_deduct
        self.ufuncs = inner.ufuncs
        self.range_cost, self.answers_nested = inner.operation.range_cost, inner.operation.answers_nested

    def has(self, method: str) -> bool:
        return self.inner.answers_ranges if method == "finish_ranges" else self.inner.operation.has(method)

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

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        return self.inner.finish_ranges(a, ranges)


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

    compares = None
    drops_nulls = False
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

    def bind(self, *types: pa.DataType) -> AggregateOperation:
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
