"""Aggregates whose state is any Python object: the easiest to write, but slower."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa

from ..errors import OperationError
from ..states.objects import Objects
from .aggregate import State, StateFunctions, TypedOperation, check_arity
from .frames import Frames, Values
from .operation import Operation

__all__ = ["PythonOperation"]


class PythonOperation(Operation):
    """An aggregate of one state and one value at a time.

    Write ``create``, ``accumulate``, ``combine``, ``finish`` and, where there is an exact inverse, ``deduct`` (used
    with ``exact_deduct = True``). The state may be any object that cloudpickle serializes. Values are Python objects,
    in time order. ``combine`` and ``deduct`` must return a new state or one of their arguments unchanged;
    ``accumulate`` may change the state it is given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import framefold as ff
    >>> class Words(ff.PythonOperation):
    ...     result = "list<string>"
    ...     def create(self):
    ...         return frozenset()
    ...     def accumulate(self, state, word):
    ...         return state | {word}
    ...     def combine(self, a, b):
    ...         return a | b
    ...     def finish(self, state):
    ...         return sorted(state)
    >>> events = pa.table({"t": [0, 1, 2], "word": ["b", "a", "b"]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(words=Words("word"))["words"].to_pylist()
    [['a', 'b'], ['b']]
    """

    def create(self) -> Any:
        """The identity: the state of no values."""
        raise OperationError(f"{type(self).__name__} has no create: write create(self)")

    def accumulate(self, state: Any, /, *values: Any, **named: Any) -> Any:
        """The state with one more value, which is later than those in it."""
        raise OperationError(f"{type(self).__name__} has no accumulate: write accumulate(self, state, value)")

    def combine(self, a: Any, b: Any, /) -> Any:
        """Two states to one; ``a`` is the earlier."""
        raise OperationError(f"{type(self).__name__} has no combine: write combine(self, a, b)")

    def deduct(self, a: Any, b: Any, /) -> Any:
        """Remove ``b`` from the left end of ``a``. Optional."""
        raise OperationError(f"{type(self).__name__} has no deduct")

    def finish(self, state: Any, /) -> Any:
        """The result of a state; None for null. The state itself unless a subclass says otherwise."""
        return state

    def bind(self, *types: pa.DataType) -> StateFunctions:
        """The operation as one over columns of states."""
        for method in ("create", "accumulate", "combine"):
            if getattr(type(self), method) is getattr(PythonOperation, method):
                raise OperationError(f"{self!r} has no {method}, which every PythonOperation must have")
        if not self.columns:
            raise OperationError(f"{self!r} names no column; expected at least one to accumulate")
        check_arity(repr(self), self.accumulate, self.columns)
        deducts = type(self).deduct is not PythonOperation.deduct
        return (InvertibleColumns if deducts else ObjectColumns)(self)


def folded(add: Callable[[Any, Any], Any], state: Any, values: Iterable[Any]) -> Any:
    """A state with values added one by one: Python calls its functions faster than ``functools.reduce`` does."""
    for value in values:
        state = add(state, value)
    return state


def folded_rows(add: Callable[..., Any], state: Any, rows: Iterable[tuple[Any, ...]]) -> Any:
    """A state with rows of several values added one by one."""
    for row in rows:
        state = add(state, *row)
    return state


class ObjectColumns(TypedOperation):
    """A :class:`PythonOperation` over columns of objects: one call of a user's function an element operation."""

    state = {"state": "object"}
    spec: PythonOperation

    def __init__(self, spec: PythonOperation) -> None:
        super().__init__(spec)
        self.result = spec.result
        self.exact_deduct = spec.exact_deduct
        self.commutative = spec.commutative

    def create(self) -> Mapping[str, Any]:
        return {"state": self.spec.create()}

    def changes_created(self, rows: Sequence[tuple[Any, ...]]) -> bool:
        create = self.spec.create
        try:
            # Together by pickle: what they share they still share, and what create gives stays as it is.
            one, other = pickle.loads(cloudpickle.dumps((create(), create())))
            before = cloudpickle.dumps(other)
            folded_rows(self.spec.accumulate, one, rows)
            return bool(cloudpickle.dumps(other) != before)
        except Exception:  # of a user's functions on made-up events, or of pickling
            return False

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        add, create = self.spec.accumulate, self.spec.create
        if len(columns) == 1:
            states = [folded(add, create(), values) for values in frames.group_lists(columns[0])]
        else:
            groups = zip(*map(frames.group_lists, columns), strict=True)
            states = [folded_rows(add, create(), zip(*group, strict=True)) for group in groups]
        return {"state": Objects().column(states)}

    def combine(self, a: State, b: State) -> State:
        return {"state": np.frompyfunc(self.spec.combine, 2, 1)(a["state"], b["state"])}

    def finish(self, a: State) -> Any:
        return [self.spec.finish(state) for state in a["state"].tolist()]


class InvertibleColumns(ObjectColumns):
    """Columns of objects for an operation that has a deduct."""

    def deduct(self, a: State, b: State) -> State:
        return {"state": np.frompyfunc(self.spec.deduct, 2, 1)(a["state"], b["state"])}
