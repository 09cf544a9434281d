"""Batches accumulated by several threads; what comes out does not depend on which of them is first.

numpy and pyarrow let go of the interpreter for most of their work, so threads of one process are enough, and nothing
has to be copied between them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import Operation
from ..plan.plan import Plan
from ..sources.arrow import Reader
from . import batching

Item = TypeVar("Item")
Result = TypeVar("Result")


class Accumulated(NamedTuple):
    """A piece of the events: how many it has, how many of them have no time, and its partials."""

    events: int
    nulls: int
    partials: list[pa.Table]


def accumulated(plan: Plan, pieces: Iterable[Reader], threads: int) -> Iterator[Accumulated]:
    """The partials of pieces of the events, in the order of the pieces; parts are numbered by it.

    What must not have events without a time is not accumulated any further from the first such event of a piece on.

    Parameters
    ----------
    query
        What is asked.
    pieces
        What gives batches of events, with at least the query's columns; called by the thread that accumulates them.
    threads
        How many pieces are worked on at a time, at most; one more is held.
    """

    def work(piece: tuple[int, Reader]) -> Accumulated:
        number, read = piece
        events = nulls = 0

        def counted() -> Iterator[pa.RecordBatch | pa.Table]:
            nonlocal events, nulls
            for batch in read():
                events += len(batch)
                nulls += batch.column(plan.time).null_count
                if not nulls or plan.null_time == "drop":
                    yield batch
                del batch  # or it would be held while the next one is read

        places = itertools.count(number << 24)
        partials = list(batching.accumulated(lambda portion: plan.accumulate(portion, next(places)), counted()))
        return Accumulated(events, nulls, partials)

    numbers = itertools.count()

    def numbered(read: Reader) -> tuple[int, Reader]:
        return next(numbers), read

    return in_order(work, map(numbered, pieces), threads)  # enumerate would hold a piece while the next one is read


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """A function's results for items, in the order of the items; a single one takes no thread.

    No item is held that the function is done with.
    """
    if threads < 2:
        yield from map(function, items)
        return
    rest = iter(items)
    first = deque(itertools.islice(rest, 2))

    def both() -> Iterator[Item]:
        while first:
            yield first.popleft()
        yield from rest

    if len(first) < 2:
        yield from map(function, first)
        return
    with ThreadPoolExecutor(threads, "framefold") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in both():
                waiting.append(pool.submit(function, item))
                del item  # or it would be held while the next one is made
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def is_ours(part: Any) -> bool:
    """Whether an operation, or what it is made of, calls no function of a user's."""
    if isinstance(part, BoundAggregate):
        return is_ours(part.operation)
    if isinstance(part, Operation):
        return _from_a_library(type(part)) and is_ours(vars(part))
    if isinstance(part, Mapping):
        return all(map(is_ours, part.values()))
    if isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
        return all(map(is_ours, part))
    return isinstance(part, type) or not callable(part) or _from_a_library(part)


def _from_a_library(part: Any) -> bool:
    module = getattr(part, "__module__", None) or type(part).__module__
    return module.partition(".")[0] in (__package__.partition(".")[0], "numpy", "pyarrow")
