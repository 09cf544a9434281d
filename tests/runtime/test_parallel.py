"""Threads: the order of results is that of the items, errors come through, users' functions stay where they are."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.plans import BoundAggregate, bind, is_library_code
from ..support.sources import Readers, accumulate_reader, in_order
from ..support.toys import Total


def test_results_come_in_the_order_of_the_items_and_few_items_wait() -> None:
    taken = 0

    def items() -> Any:
        nonlocal taken
        for number in range(20):
            taken += 1
            yield number

    def slow_at_first(place: int, number: int) -> int:
        assert place == number
        time.sleep(0.01 if number < 3 else 0)
        return number

    found = in_order(slow_at_first, items(), 3)
    assert next(found) == 0
    assert taken <= 5
    assert list(found) == list(range(1, 20))


def test_the_first_error_comes_through_and_the_rest_is_left() -> None:
    def fails_at_two(place: int, number: int) -> int:
        if number >= 2:
            raise ValueError(number)
        return number

    found = in_order(fails_at_two, range(100), 2)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="2"):
        next(found)


class Doubled(Total):
    """A user's sum of doubles, which notes who calls it."""

    callers: set[int] = set()

    def accumulate(self, frames: ff.Frames, x: Any) -> Any:
        self.callers.add(threading.get_ident())
        return {"total": frames.sum(2 * x)}


@pytest.mark.parametrize("own", [{}, {"doubled": Doubled("x")}, {"all": ff.AllOf(doubled=Doubled("x"))}])
def test_the_same_results_in_every_run(own: dict[str, ff.Operation], limit: Callable[..., None]) -> None:
    limit(batch_rows=100)
    chance = np.random.default_rng(3)
    columns = {"t": chance.integers(0, 500, 5000), "k": chance.integers(0, 9, 5000), "x": chance.integers(0, 99, 5000)}
    events = pa.table(columns).append_column("f", pa.array(chance.normal(0, 1e9, 5000)))
    query = ff.events(events, time="t", by="k").window(ff.sliding(100, every=10))
    first, *others = (query.aggregate(n=ff.Count(), x=ff.Sum("f"), m=ff.Max("f"), **own) for _ in range(4))
    assert all(other.equals(first) for other in others)
    assert Doubled.callers <= {threading.get_ident()}


def test_what_calls_a_users_function() -> None:
    number, text = pa.int64(), pa.string()
    assert is_library_code(BoundAggregate("x", ff.Variance("x"), [number]))
    assert is_library_code(BoundAggregate("x", ff.AllOf(a=ff.Sum("x"), b=ff.First("s")), [number, text]))
    assert not is_library_code(BoundAggregate("x", Doubled("x"), [number]))
    assert not is_library_code(BoundAggregate("x", ff.AllOf(a=ff.Sum("x"), b=Doubled("x")), [number, number]))


@pytest.mark.parametrize("threads", [1, 2])
def test_events_are_let_go_of_while_later_ones_are_read(threads: int) -> None:
    schema = pa.schema({"t": pa.int64(), "x": pa.int64()})
    query = bind(schema, time="t", by=[], window=ff.tumbling(10), outputs={"total": ff.Sum("x")})
    made: list[Any] = []
    alive: list[int] = []

    def batches() -> Any:
        for number in range(12):
            alive.append(sum(batch() is not None for batch in made[: max(number - 4, 0) if threads > 1 else number]))
            batch = pa.record_batch({"t": [number], "x": [number]})
            made.append(weakref.ref(batch))
            yield batch
            del batch

    readers = Readers(map(lambda batch: partial(list, [batch]), batches()), threads)  # noqa: C417
    found = in_order(partial(accumulate_reader, query), readers.readers, readers.threads)
    assert sum(events for events, *_ in found) == 12
    assert alive == [0] * 12
