"""What every task of ours does around its stage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from .errors import causes_noted


@contextmanager
def worker_context() -> Iterator[None]:
    """While this is open, a stage runs in a worker of Spark's; the worker is used for the tasks that follow, too."""
    with causes_noted():
        yield
    freeze_gc()


@cache
def freeze_gc() -> None:
    """Take all objects that there are out of every later search for garbage; once in a process, which is a worker's.

    A worker of Spark's looks for garbage after every task (``pyspark.daemon``), through a hundred thousand objects of
    modules that stay as long as it does: 10 to 20 ms of a core that the driver or the next task could use.
    """
    gc.collect()
    gc.freeze()
