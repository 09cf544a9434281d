"""Calls of one function side by side, for what takes long and holds no lock of Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """A function's results for some items, in their order."""
    threads = min(pa.cpu_count(), len(items))
    if threads < 2:
        return list(map(function, items))
    with ThreadPoolExecutor(threads, "framefold") as pool:
        return list(pool.map(function, items))
