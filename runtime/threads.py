"""Calls of one function side by side, where each takes long without Python's lock."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import pyarrow as pa

from .tuning import MANY_ROWS

Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """A function's results for some items, in their order."""
    threads = min(pa.cpu_count(), len(items))
    if threads < 2:
        return list(map(function, items))
    return list(workers(threads).map(function, items))


def workers(threads: int) -> ThreadPoolExecutor:
    """As many threads, started once: a query of some milliseconds would wait for theirs. A fork of a process has none.

    They wait for queries, whose functions never wait for one another's.
    """
    return _workers(threads, os.getpid())


@cache
def _workers(threads: int, process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "framefold")


def parts_of(rows: int) -> list[slice]:
    """Rows in as many parts as there are threads, where they are many."""
    parts = pa.cpu_count() if rows >= MANY_ROWS else 1
    cuts = [rows * part // parts for part in range(parts + 1)]
    return list(itertools.starmap(slice, itertools.pairwise(cuts)))
