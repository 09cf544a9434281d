"""An operation that changes what it is given is refused before a query, by the law of purity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.toys import Total

EVENTS = pa.table(
    {"t": pa.array(range(8), pa.timestamp("us", "UTC")), "x": [1, 2, 3, 4, 5, 6, 7, 8], "g": ["a", "b"] * 4}
)
SHARED: set[int] = set()


class Distinct(ff.PythonOperation):
    """The number of distinct values, as it should be."""

    result: Any = "int64"

    def create(self) -> Any:
        return set()

    def accumulate(self, state: Any, value: Any) -> Any:
        state.add(value)
        return state

    def combine(self, a: Any, b: Any) -> Any:
        return a | b

    def finish(self, state: Any) -> Any:
        return len(state)


def changing(name: str, base: type = Distinct, **methods: Any) -> Any:
    """A class with other methods."""
    return type(name, (base,), methods)


def emptied(self: Any, state: Any) -> Any:
    count = len(state)
    state.clear()
    return count


ChangesLeft = changing("ChangesLeft", combine=lambda self, a, b: a.__ior__(b))
ChangesRight = changing("ChangesRight", combine=lambda self, a, b: b.__ior__(a))
EmptiesAtTheEnd = changing("EmptiesAtTheEnd", finish=emptied)
SharedState = changing("SharedState", create=lambda self: SHARED)


class OneBuffer(Distinct):
    """Every result of ``combine`` is the same object."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.buffer: set[int] = set()

    def combine(self, a: Any, b: Any) -> Any:
        both = a | b
        self.buffer.clear()
        self.buffer.update(both)
        return self.buffer


class ChangesInDeduct(Distinct):
    exact_deduct = True

    def create(self) -> Any:
        return [0]

    def accumulate(self, state: Any, value: Any) -> Any:
        return [state[0] + value]

    def combine(self, a: Any, b: Any) -> Any:
        return [a[0] + b[0]]

    def deduct(self, a: Any, b: Any) -> Any:
        a[0] -= b[0]
        return a

    def finish(self, state: Any) -> Any:
        return state[0]


SharedInside = changing(
    "SharedInside",
    create=lambda self: {"values": SHARED},
    accumulate=lambda self, state, value: state["values"].add(value) or state,
    combine=lambda self, a, b: {"values": a["values"] | b["values"]},
    finish=lambda self, state: len(state["values"]),
)
# Of two columns, and not of numbers.
SharedTexts = changing("SharedTexts", SharedState, accumulate=lambda self, state, *values: state.add(values) or state)


class Totals(Total):
    def combine(self, a: Any, b: Any) -> Any:
        total = a["total"]
        total += b["total"]
        return {"total": total}


class PairsInPlace(Totals):
    state: Any = {"total": "exact"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": frames.exact_sum(x)}

    def combine(self, a: Any, b: Any) -> Any:
        for mine, theirs in zip(a["total"].limbs, b["total"].limbs, strict=True):
            np.add(mine, theirs, out=mine)
        return a


class ObjectsInPlace(Totals):
    state: Any = {"total": "object"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": [list(values) for values in frames.group(x)]}

    def combine(self, a: Any, b: Any) -> Any:
        for mine, theirs in zip(a["total"], b["total"], strict=True):
            mine.extend(theirs)
        return {"total": a["total"]}

    def finish(self, a: Any) -> Any:
        return [sum(values) for values in a["total"]]


class ChangesItsColumn(Totals):
    def accumulate(self, frames: Any, x: Any) -> Any:
        x -= 1
        return {"total": frames.sum(x)}


IMPURE: dict[str, Any] = {
    "left": ChangesLeft("x"), "right": ChangesRight("x"), "end": EmptiesAtTheEnd("x"), "buffer": OneBuffer("x"),
    "deduct": ChangesInDeduct("x"), "shared": SharedState("x"), "shared inside": SharedInside("x"),
    "shared texts": SharedTexts("x", "g"), "columns": Totals("x"), "pairs": PairsInPlace("x"),
    "objects": ObjectsInPlace("x"), "input": ChangesItsColumn("x"),
    "in all of": ff.AllOf(n=ff.Count(), d=ChangesRight("x")), "in groups": ff.GroupedBy(SharedState("x"), "g"),
}  # fmt: skip


def refused(events: Any, operation: Any, words: str = "law of purity") -> str:
    """The sentence by which a query is refused."""
    with pytest.raises(ff.OperationError, match=words) as caught:
        ff.events(events, time="t").window(ff.sliding("3 microseconds", every="1 microsecond")).aggregate(n=operation)
    return str(caught.value)


@pytest.mark.parametrize("name", IMPURE)
def test_each_is_refused_and_again(name: str) -> None:
    """The first query leaves nothing behind that would hide it from the second."""
    for _ in range(2):
        assert "\n" not in refused(EVENTS, IMPURE[name])
    assert not SHARED


def test_the_sentences() -> None:
    assert refused(EVENTS, ChangesLeft("x")).startswith(
        "on made-up events ChangesLeft('x') for 'n' breaks the law of purity: a combine, deduct or finish changed its "
        "argument a; a: x=["
    )
    assert refused(EVENTS, SharedState("x")) == (
        "SharedState('x') for 'n' breaks the law of purity: create gives the same object each time, which accumulate "
        "changes; expected a new one"
    )
    assert refused(EVENTS, Totals("x")) == (
        "combine of 'n' (Totals('x')) failed: ValueError: output array is read-only; by the law of purity it leaves "
        "its arguments as they are, and gives new columns"
    )


def test_check_laws_finds_what_is_shared() -> None:
    for operation in (SharedState("x"), SharedInside("x")):
        with pytest.raises(ff.LawError, match=r"^purity: create gives the same object each time"):
            ff.check_laws(operation, EVENTS)


def test_what_changes_nothing_that_it_is_given_is_taken() -> None:
    frozen = changing("Frozen", create=lambda self: frozenset(), accumulate=lambda self, state, value: state | {value})
    ignores = changing("Ignores", create=lambda self: SHARED, accumulate=lambda self, state, value: state or {value})
    query = ff.events(EVENTS, time="t").window(ff.tumbling("4 microseconds"))
    found = query.aggregate(a=Distinct("x"), b=frozen("x"), c=ignores("x")).select(["a", "b", "c"]).to_pylist()
    assert found == [{"a": 4, "b": 4, "c": 1}] * 2
