"""Batches accumulated by several threads; what comes out does not depend on which of them is first.

numpy and pyarrow let go of the interpreter for most of their work, so threads of one process are enough, and nothing
has to be copied between them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import pyarrow as pa

from ..aggregators.binding import Bound
from ..aggregators.operation import Operation
from .query import Query

Item = TypeVar("Item")
Result = TypeVar("Result")


def accumulated(query: Query, batches: Iterable[pa.Table], threads: int) -> Iterator[pa.Table]:
    """The partials of batches of events, in the order of the batches; these are numbered by it.

    Functions that a user wrote are only called by the thread that asks for the partials.

    Parameters
    ----------
    query
        What is asked.
    batches
        Events with at least the query's columns. One batch more than there are threads is held at a time.
    threads
        How many batches are accumulated at a time, at most.
    """
    ours = all(is_ours(bound.operation) for bound in query.outputs.values())
    numbered = ((batch, part) for part, batch in enumerate(batches))
    return in_order(lambda each: query.accumulate(*each), numbered, threads if ours else 1)


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """A function's results for items, in the order of the items; a single one takes no thread."""
    rest = iter(items)
    first = list(itertools.islice(rest, 2))
    if len(first) < 2 or threads < 2:
        yield from map(function, itertools.chain(first, rest))
        return
    with ThreadPoolExecutor(threads, "framefold") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in itertools.chain(first, rest):
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def is_ours(part: Any) -> bool:
    """Whether an operation, or what it is made of, calls no function of a user's."""
    if isinstance(part, Bound):
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
