"""What every task of ours does around its stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..runtime.memory import set_aside
from .failures import causes_noted


@contextmanager
def a_task() -> Iterator[None]:
    """While this is open, a stage runs in a worker of Spark's; the worker is used for the tasks that follow, too."""
    with causes_noted():
        yield
    set_aside()
