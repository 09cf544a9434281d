"""Bound operations that are made of others: of one, or of several side by side."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from .aggregate import Bindable, State, StateRanges, TypedOperation
from .bound import BoundAggregate
from .frames import Frames, Values
from .sql_spec import Planes, SqlSpec, side_by_side


class Wrapped(TypedOperation):
    """A bound operation with changed inputs or results; its states are those of the wrapped operation.

    Deduct, order, exactness and the way of sliding follow from the states, so they are inherited too.
    """

    def __init__(self, spec: Bindable, inner: BoundAggregate) -> None:
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


def each_ones(parts: Mapping[str, Bindable | BoundAggregate], of_columns: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Split a flat list, one item a column, into one list an operation."""
    rest = iter(of_columns)
    return {name: list(itertools.islice(rest, len(part.columns))) for name, part in parts.items()}


class Parts(TypedOperation):
    """Bound operations side by side; names of fields are prefixed with the operation's name."""

    def __init__(self, spec: Bindable, parts: Mapping[str, BoundAggregate]) -> None:
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
