"""Operations of one state and one value at a time: any object may be the state."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold import OperationError
from framefold.aggregators.contract.bound import BoundAggregate
from framefold.aggregators.contract.frames import Frames


def bound(operation: Any) -> BoundAggregate:
    return BoundAggregate("out", operation, [pa.int64()] * len(operation.columns))


class Words(ff.PythonOperation):
    """Joins strings, with a state that has no plain equality."""

    result = "string"

    def create(self) -> Any:
        return ""

    def accumulate(self, state: Any, value: Any) -> Any:
        return state + str(value)

    def combine(self, a: Any, b: Any) -> Any:
        return a + b

    def finish(self, state: Any) -> Any:
        return state


def test_python_operations() -> None:
    made = bound(Words("x"))
    assert made.commutative is False
    frames = Frames(np.array([1, 0, 1]), 2, np.array([5, 1, 2]))
    made_states = made.accumulate(frames, [pa.array([7, 8, 9])])
    assert made.finish(made_states).to_pylist() == ["8", "97"]
    assert made.finish(made.combine(made_states, made_states)).to_pylist() == ["88", "9797"]


class Histogram(Words):
    """A state that is a numpy array, whose == has no truth value."""

    result = "list<int64>"

    def create(self) -> Any:
        return np.zeros(3, np.int64)

    def accumulate(self, state: Any, value: Any) -> Any:
        return state + (np.arange(3) == value)


def test_states_may_be_arrays() -> None:
    table = pa.table({"t": [0, 1, 2], "x": [0, 2, 2]})
    result = ff.events(table, time="t").window(ff.sliding(2, 1)).aggregate(h=Histogram("x"))
    assert result["h"].to_pylist() == [[1, 0, 0], [1, 0, 1], [0, 0, 2], [0, 0, 1]]


@pytest.mark.parametrize("method", ["create", "accumulate", "combine"])
def test_missing_methods_are_named(method: str) -> None:
    with pytest.raises(OperationError, match=f"has no {method}"):
        bound(type("Without", (Words,), {method: getattr(ff.PythonOperation, method)})("x"))


@pytest.mark.parametrize("columns", [(), ("x", "y")])
def test_the_number_of_columns_must_fit(columns: tuple[str, ...]) -> None:
    """Said before anything runs."""
    with pytest.raises(OperationError, match="column"):
        bound(Words(*columns))


@pytest.mark.parametrize("method", ["accumulate", "combine", "finish"])
def test_a_users_exception_keeps_its_traceback(method: str) -> None:
    def boom(self: Any, *_: Any) -> Any:
        raise ZeroDivisionError("boom")

    made = bound(type("Broken", (Words,), {method: boom, "commutative": True})("x"))
    states = {"state": np.array(["a", "b"], object)}
    call = {
        "accumulate": lambda: made.accumulate(Frames(np.array([0]), 1, np.arange(1)), [pa.array([1])]),
        "combine": lambda: made.combine(states, states),
        "finish": lambda: made.finish(states),
    }
    with pytest.raises(OperationError, match=f"{method} of 'out'.*ZeroDivisionError: boom") as caught:
        call[method]()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_they_can_be_sent() -> None:
    sent = pickle.loads(cloudpickle.dumps(bound(Words("x"))))
    states = sent.accumulate(Frames(np.array([0, 0]), 1, np.arange(2)), [pa.array([4, 5])])
    assert sent.finish(states).to_pylist() == ["45"]
