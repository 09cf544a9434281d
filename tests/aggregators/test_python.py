"""Operations of one state and one value at a time: any object may be the state."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.inner import inner, place_of
from ..support.plans import BoundAggregate
from ..support.toys import Joined


def bound(operation: Any) -> BoundAggregate:
    return BoundAggregate("out", operation, [pa.int64()] * len(operation.columns))


def test_python_operations() -> None:
    made = bound(Joined("x"))
    assert made.commutative is False
    frames = ff.Frames(np.array([1, 0, 1]), 2, np.array([5, 1, 2]))
    made_states = made.accumulate(frames, [pa.array([7, 8, 9])])
    assert made.finish(made_states).to_pylist() == ["8", "97"]
    assert made.finish(made.combine(made_states, made_states)).to_pylist() == ["88", "9797"]


class Histogram(Joined):
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
    with pytest.raises(ff.OperationError, match=f"has no {method}"):
        bound(type("Without", (Joined,), {method: getattr(ff.PythonOperation, method)})("x"))


@pytest.mark.parametrize("columns", [(), ("x", "y")])
def test_the_number_of_columns_must_fit(columns: tuple[str, ...]) -> None:
    """Said before anything runs."""
    with pytest.raises(ff.OperationError, match="column"):
        bound(Joined(*columns))


@pytest.mark.parametrize("method", ["accumulate", "combine", "finish"])
def test_a_users_exception_keeps_its_traceback(method: str) -> None:
    def boom(self: Any, *_: Any) -> Any:
        raise ZeroDivisionError("boom")

    made = bound(type("Broken", (Joined,), {method: boom, "commutative": True})("x"))
    states = {"state": np.array(["a", "b"], object)}
    call = {
        "accumulate": lambda: made.accumulate(ff.Frames(np.array([0]), 1, np.arange(1)), [pa.array([1])]),
        "combine": lambda: made.combine(states, states),
        "finish": lambda: made.finish(states),
    }
    with pytest.raises(ff.OperationError, match=f"{method} of 'out'.*ZeroDivisionError: boom") as caught:
        call[method]()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_they_can_be_sent() -> None:
    sent = pickle.loads(cloudpickle.dumps(bound(Joined("x"))))
    states = sent.accumulate(ff.Frames(np.array([0, 0]), 1, np.arange(2)), [pa.array([4, 5])])
    assert sent.finish(states).to_pylist() == ["45"]


def joined_by_hand(events: list[tuple[int, int, int]], size: int) -> list[tuple[int, str]]:
    """Key and joined values of each window that :class:`Joined` gives, in order."""
    found: dict[tuple[int, int], str] = {}
    for time, key, x in sorted(events, key=lambda event: event[0]):
        for start in range(time - size + 1, time + 1):
            found[key, start] = found.get((key, start), "") + str(x)
    return [(key, found[key, start]) for key, start in sorted(found)]


@pytest.mark.parametrize("most", [0, 300, 1 << 20])
def test_states_of_many_portions(most: int, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]) -> None:
    """Values beyond some bytes are pickled, and those that are merged into others are no longer held."""
    limit(held_object_bytes=most, pending_partials=8, batch_rows=10)
    held: list[int] = []
    release = inner("release of held objects")

    def spied(store: Any, least: int) -> None:
        release(store, least)
        held.append(len(store.values))

    monkeypatch.setattr(*place_of("release of held objects"), spied)
    rng = np.random.default_rng(3)
    times, keys, x = np.arange(400) // 4, rng.integers(0, 2, 400), rng.integers(0, 10, 400)
    table = pa.table({"t": times, "k": keys, "x": x})
    found = ff.events(table, time="t", by="k").window(ff.sliding(5, 1)).aggregate(words=Joined("x"))
    wanted = joined_by_hand(list(zip(times.tolist(), keys.tolist(), x.tolist(), strict=True)), 5)
    assert list(zip(found["k"].to_pylist(), found["words"].to_pylist(), strict=True)) == wanted
    partials = len(set(zip(times.tolist(), keys.tolist(), strict=True)))
    assert len(held) > 3
    assert max(held) <= partials


class Pairs(Joined):
    """Joins two columns."""

    def accumulate(self, state: Any, value: Any, other: Any) -> Any:
        return f"{state}{value}{other}"


def test_rows_of_two_columns() -> None:
    table = pa.table({"t": [0, 1, 1], "x": [0, 2, 4], "y": [1, 3, 5]})
    result = ff.events(table, time="t").window(ff.tumbling(2)).aggregate(pairs=Pairs("x", "y"))
    assert result["pairs"].to_pylist() == ["012345"]
