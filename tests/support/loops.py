"""The compiled loops, and the same without them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from unittest.mock import patch

import pytest

from framefold.aggregators.numeric.native import loops as row_loops
from framefold.aggregators.ranges.native import loops as range_loops
from framefold.runtime.reporting import warn_of_numpy
from framefold.runtime.sliding.native import loops as window_loops

MODULES_OF_LOOPS = ("framefold.aggregators.numeric.native", "framefold.runtime.sliding.native")
COMPILED = [loops for loops in (row_loops, range_loops, window_loops) if loops is not None]
WHY_NOT = "framefold is installed without its compiled loops: there was no compiler"
needs_loops = pytest.mark.skipif(row_loops is None, reason=WHY_NOT)


@contextmanager
def without_loops() -> Iterator[None]:
    """No module has its compiled loops: numpy does what they do."""
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("framefold.") and not hasattr(module, "__path__"):
                for attribute, value in list(vars(module).items()):
                    if any(value is loops for loops in COMPILED):
                        stack.enter_context(patch.object(module, attribute, None))
        yield


WAYS = ("loops", "numpy") if row_loops is not None else ("numpy",)


def by(way: str) -> AbstractContextManager[None]:
    """With the loops, or without them: a way of WAYS."""
    return without_loops() if way == "numpy" else nullcontext()
