"""Whether an operation is of framefold and the libraries it needs alone: others may be slow, and share state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .bound import BoundAggregate
from .operation import Operation


def is_library_code(value: Any) -> bool:
    """Whether an operation, or what it is made of, calls no function of a user's."""
    if isinstance(value, BoundAggregate):
        return is_library_code(value.operation)
    if isinstance(value, Operation):
        return _from_a_library(type(value)) and is_library_code(vars(value))
    if isinstance(value, Mapping):
        return all(map(is_library_code, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return all(map(is_library_code, value))
    return isinstance(value, type) or not callable(value) or _from_a_library(value)


def _from_a_library(value: Any) -> bool:
    module = getattr(value, "__module__", None) or type(value).__module__
    return module.partition(".")[0] in (__package__.partition(".")[0], "numpy", "pyarrow")
