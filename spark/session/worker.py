"""Call framefold's functions in Spark's workers."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import pyarrow as pa

from .errors import causes_noted
from .failures import tried_once
from .packaging import unpack


def run(
    function: tuple[str, str], failed: tuple[str, str] | None, payload: bytes, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Call a function with the arguments in a payload and a task's batches; see ``packaging.stage``.

    Functions are named by their modules and names.
    """

    def produce(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with causes_noted():
            yield from _named(*function)(*opened(payload), rows)

    yield from tried_once(produce, batches, failed and _named(*failed))
    freeze_gc()


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


@lru_cache(maxsize=8)
def opened(payload: bytes) -> Any:
    """What is in a payload; a worker that runs many tasks unpickles it once."""
    return unpack(payload)


@cache
def freeze_gc() -> None:
    """``gc.freeze()`` once in a worker.

    Spark's daemon collects garbage after every task, and would search all objects of the imported modules each time.
    """
    gc.collect()
    gc.freeze()
