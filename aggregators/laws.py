"""Check that an operation keeps the laws that sliding relies on."""

from __future__ import annotations

from typing import Any


def check_laws(operation: Any, table: Any) -> None:
    """To be written next."""
    raise AssertionError
