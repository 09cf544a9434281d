"""Check that an operation keeps the laws that sliding relies on."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa

from .binding import Bound
from .errors import ColumnError, LawError, QueryError, SumOverflowError, nearest
from .fields import Column, concatenate
from .frames import Frames
from .operation import Operation, State

Rows = list[int]
Law = Callable[[Rows, Rows, Rows], None]

TOLERANCE = 1e-9
"""Floats may differ by rounding: by so much of the largest result at hand."""


def check_laws(operation: Operation, table: Any, *, examples: int = 100) -> None:
    """Try the laws of aggregation on an operation, with events from a table.

    Groups of rows are drawn from the table; where a law breaks, the smallest groups that break it are looked for
    (D. MacIver et al., "Hypothesis: a new approach to property-based testing", 2019).

    =============  ==================================================================================================
    law            what must hold, compared by ``finish``
    =============  ==================================================================================================
    identity       ``combine(create, a)`` and ``combine(a, create)`` are ``a``
    associativity  ``combine(combine(a, b), c)`` is ``combine(a, combine(b, c))``
    split          accumulating all rows at once is accumulating them in two parts and combining
    elements       whole columns of states give what the states give one by one
    deduct         ``deduct(combine(a, b), a)`` is ``b``; to the last digit where windows slide by it
    commutativity  ``combine(a, b)`` is ``combine(b, a)``, where the operation says so
    purity         no function changes the states it is given, now or in a later call; ``finish`` can be called again
    travel         a state is the same after it went over the wire
    =============  ==================================================================================================

    Parameters
    ----------
    operation
        The operation, with the names of its columns.
    table
        Events: anything that speaks Arrow. Values that are typical and those that are awkward are both of use.
    examples
        How many examples to try.

    Raises
    ------
    LawError
        If a law breaks; the message says which, and shows the smallest example.
    QueryError
        If the table lacks a column, or has no row without nulls in them.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> ff.check_laws(ff.Average("x"), pa.table({"x": [1.0, 2.5, -3.0]}))
    >>> class Total(ff.AggregateOperation):
    ...     state = {"total": "int64"}
    ...     def accumulate(self, frames, x):
    ...         return {"total": frames.sum(x)}
    ...     def combine(self, a, b):
    ...         return {"total": a["total"] - b["total"]}
    ...     def finish(self, a):
    ...         return a["total"]
    >>> ff.check_laws(Total("x"), pa.table({"x": [0, 1]}))
    Traceback (most recent call last):
    ...
    framefold.aggregators.errors.LawError: identity: combine(create, a) is -1, not a, which is 1; a: x=[1]
    """
    if not isinstance(operation, Operation):
        raise QueryError(f"check_laws is given {operation!r}; expected an aggregate operation")
    laws = Laws(operation, _columns(operation, table))
    for law in laws.all():
        _try(law, laws.rows, examples)


def _try(law: Law, rows: int, examples: int) -> None:
    """Try a law on groups of rows; what it raises comes with the smallest groups that make it."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    group = st.lists(st.integers(0, rows - 1), min_size=1, max_size=6)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(group, group, group)
    def example(a: Rows, b: Rows, c: Rows) -> None:
        with suppress(SumOverflowError):  # no result, nothing to compare
            law(a, b, c)

    try:
        example()
    except LawError as error:  # without the notes on how to find the example again
        raise LawError(str(error)) from None


def _columns(operation: Operation, table: Any) -> dict[str, pa.Array]:
    """The operation's columns of a table, without rows that have a null in one."""
    events = table if isinstance(table, pa.Table) else pa.table(table)
    for name in operation.columns:
        if name not in events.column_names:
            raise ColumnError(f"{operation!r} names the unknown column {name!r}; {nearest(name, events.column_names)}")
    if not operation.columns:
        return {"": pa.nulls(max(len(events), 1))}
    known = events.select(list(dict.fromkeys(operation.columns))).drop_null().combine_chunks()
    if not len(known):
        raise QueryError(f"the table has no row without nulls in {list(operation.columns)}; expected at least one")
    return {name: _plain(pa.concat_arrays(known.column(name).chunks)) for name in known.column_names}


def _plain(column: pa.Array) -> pa.Array:
    """A column with dictionaries and views unpacked, as queries unpack them."""
    if isinstance(column, pa.DictionaryArray):
        return _plain(column.dictionary).take(column.indices)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return column.cast(views.get(column.type, column.type))


class Laws:
    """The laws of one operation, each a function of three groups of rows."""

    def __init__(self, operation: Operation, columns: Mapping[str, pa.Array]) -> None:
        self.columns = columns
        self.rows = len(next(iter(columns.values())))
        self.bound = Bound("check_laws", operation, [columns[name].type for name in operation.columns])

    def all(self) -> list[Law]:
        """The laws that apply."""
        laws: list[Law] = [self.identity, self.associativity, self.split, self.elements, self.purity, self.travel]
        if self.bound.operation.has("deduct"):
            laws.append(self.deduct)
        if self.bound.asked.commutative or self.bound.operation.commutative:
            laws.append(self.commutativity)
        return laws

    def identity(self, a: Rows, b: Rows, c: Rows) -> None:
        state = self.state(a)
        create = self.bound.identity
        self.equal("identity: combine(create, a)", self.bound.combine(create, state), "a", state, a=a)
        self.equal("identity: combine(a, create)", self.bound.combine(state, create), "a", state, a=a)

    def associativity(self, a: Rows, b: Rows, c: Rows) -> None:
        combine = self.bound.combine
        x, y, z = self.state(a), self.state(b, len(a)), self.state(c, len(a) + len(b))
        left, right = combine(combine(x, y), z), combine(x, combine(y, z))
        scale = (x, y, z)
        self.equal("associativity: (a b) c", left, "a (b c)", right, scale, a=a, b=b, c=c)

    def split(self, a: Rows, b: Rows, c: Rows) -> None:
        x, y = self.state(a), self.state(b, len(a))
        at_once, joined = self.state(a + b), self.bound.combine(x, y)
        self.equal(
            "split: combine(accumulate(a), accumulate(b))", joined, "accumulate(a + b)", at_once, (x, y), a=a, b=b
        )

    def elements(self, a: Rows, b: Rows, c: Rows) -> None:
        x, y, z = self.state(a), self.state(b), self.state(c)
        together = self.states([a, b, c])
        self.equal("elements: accumulate of three frames", together, "one by one", _stack([x, y, z]), a=a, b=b, c=c)
        columns = self.bound.combine(_stack([x, y]), _stack([y, z]))
        singles = _stack([self.bound.combine(x, y), self.bound.combine(y, z)])
        self.equal("elements: combine of columns", columns, "one by one", singles, a=a, b=b, c=c)

    def deduct(self, a: Rows, b: Rows, c: Rows) -> None:
        x, y = self.state(a), self.state(b, len(a))
        rest = self.bound.deduct(self.bound.combine(x, y), x)
        exact = self.bound.deducts[0] and not self.bound.compensated
        self.equal("deduct: deduct(combine(a, b), a)", rest, "b", y, None if exact else (x, y), a=a, b=b)

    def commutativity(self, a: Rows, b: Rows, c: Rows) -> None:
        x, y = self.state(a), self.state(b, len(a))
        one, other = self.bound.combine(x, y), self.bound.combine(y, x)
        self.equal("commutativity: combine(a, b)", one, "combine(b, a)", other, (x, y), a=a, b=b)

    def purity(self, a: Rows, b: Rows, c: Rows) -> None:
        x, y, z = self.state(a), self.state(b, len(a)), self.state(c, len(a) + len(b))
        before = [_frozen(state) for state in (x, y, z)]
        joined = self.bound.combine(x, y)
        kept, first = _frozen(joined), self.finished(joined)
        self.bound.combine(joined, z)
        if self.bound.operation.has("deduct"):
            self.bound.deduct(joined, x)
        for name, state, frozen in zip("abc", (x, y, z), before, strict=True):
            if _frozen(state) != frozen:
                raise LawError(
                    f"purity: a combine, deduct or finish changed its argument {name}; {self.shown(a=a, b=b, c=c)}"
                )
        if _frozen(joined) != kept or not _close(self.finished(joined), first, 0.0):
            raise LawError(f"purity: a state changed after it was combined or finished; {self.shown(a=a, b=b, c=c)}")

    def travel(self, a: Rows, b: Rows, c: Rows) -> None:
        state = self.states([a, b])
        back = {key: field.from_arrow(field.to_arrow(state[key])) for key, field in self.bound.fields.items()}
        self.equal("travel: states that went over the wire", back, "those sent", state, a=a, b=b)

    def states(self, groups: Sequence[Rows], start: int = 0) -> State:
        """The states of groups of rows, each group one frame, in time order from a tick on."""
        rows = np.array([row for group in groups for row in group])
        index = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        frames = Frames(index, len(groups), np.arange(start, start + len(rows)))
        return self.bound.accumulate(frames, [self.columns[name].take(pa.array(rows)) for name in self.bound.columns])

    def state(self, group: Rows, start: int = 0) -> State:
        """The state of one group of rows."""
        return self.states([group], start)

    def finished(self, state: State) -> list[Any]:
        """The results of states as Python values."""
        results: list[Any] = self.bound.finish(state).to_pylist()
        return results

    def equal(
        self, law: str, found: State, named: str, expected: State, scale: Sequence[State] | None = (), **groups: Rows
    ) -> None:
        """LawError unless states finish alike; floats may round by the size of ``scale``, or not at all (None)."""
        one, other = self.finished(found), self.finished(expected)
        size = None
        if scale is not None:
            size = max((_size(value) for state in scale for value in self.finished(state)), default=0.0)
        if not _close(one, other, size):
            x, y = (values[0] if len(values) == 1 else values for values in (one, other))
            raise LawError(f"{law} is {x!r}, not {named}, which is {y!r}; {self.shown(**groups)}")

    def shown(self, **groups: Rows) -> str:
        """Groups of rows in words."""
        of = self.bound.columns
        return "; ".join(
            f"{name}: "
            + (", ".join(f"{c}={self.columns[c].take(pa.array(rows)).to_pylist()}" for c in of) or f"{len(rows)} rows")
            for name, rows in groups.items()
        )


def _stack(states: Sequence[State]) -> State:
    return {key: concatenate([state[key] for state in states]) for key in states[0]}


def _frozen(state: State) -> bytes:
    """Something that differs as soon as a state does."""
    columns: dict[str, Column] = {key: copy.deepcopy(column) for key, column in state.items()}
    frozen: bytes = cloudpickle.dumps({key: _parts(column) for key, column in columns.items()})
    return frozen


def _parts(column: Column) -> Any:
    if isinstance(column, np.ndarray):
        return [pickle.loads(cloudpickle.dumps(value)) for value in column.tolist()]
    return [np.asarray(getattr(column, slot)).tolist() for slot in type(column).__slots__]


def _size(value: Any) -> float:
    """How large the numbers in a result are."""
    if isinstance(value, (list, tuple)):
        return max(map(_size, value), default=0.0)
    if isinstance(value, dict):
        return max(map(_size, value.values()), default=0.0)
    return abs(value) if isinstance(value, float) and math.isfinite(value) else 0.0


def _close(a: Any, b: Any, size: float | None) -> bool:
    """Whether results are equal, floats up to rounding."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_close(x, y, size) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key], size) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        if size is None:  # to the last digit
            return a == b or (a != a and b != b)
        return (a != a and b != b) or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE * size)
    return bool(a == b)
