"""AllOf: several operations in one output."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..contract.bound import BoundAggregate
from ..contract.column_functions import require_operation
from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, Operation, State, TypedOperation
from ..contract.sql_spec import Planes, SqlSpec, side_by_side
from ..errors import QueryError


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
        own = each_ones(self.parts, types)
        return Parts(self, {name: BoundAggregate(name, part, own[name]) for name, part in self.parts.items()})


def each_ones(parts: Mapping[str, Operation | BoundAggregate], of_columns: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """The values of each operation's columns, given one value for each column of all operations."""
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

    def has(self, method: str) -> bool:
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
        results = [part.finish(self.part(name, a)) for name, part in self.parts.items()]
        return pa.StructArray.from_arrays(results, fields=list(self.result))

    def part(self, name: str, states: State) -> State:
        """The states of one of the operations."""
        return {key: states[f"{name}.{key}"] for key in self.parts[name].fields}

    @staticmethod
    def _together(states: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {f"{name}.{key}": column for name, part in states.items() for key, column in part.items()}
