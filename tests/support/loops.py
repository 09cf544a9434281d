"""The compiled loops, and the same without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FunctionType
from unittest.mock import patch

import pytest

from framefold.aggregators import loops
from framefold.aggregators.loops import by_numpy
from framefold.runtime.reporting import warn_of_numpy

MODULE_OF_LOOPS = loops.__name__
WHY_NOT = "framefold is installed without its compiled loops: there was no compiler"
needs_loops = pytest.mark.skipif(not loops.compiled, reason=WHY_NOT)
WAYS = ("loops", "numpy") if loops.compiled else ("numpy",)


@contextmanager
def without_loops() -> Iterator[None]:
    """Loops are numpy's."""
    functions = {name: each for name, each in vars(by_numpy).items() if isinstance(each, FunctionType)}
    plain = {name: each for name, each in functions.items() if each.__module__ == by_numpy.__name__}
    with patch.multiple(loops, create=True, compiled=False, **plain):
        yield


def by(way: str) -> AbstractContextManager[None]:
    """With the loops, or without them: a way of WAYS."""
    return without_loops() if way == "numpy" else nullcontext()
