"""How many examples the longest properties are tried with: a tenth by `make test`, all by `make slow`."""

from __future__ import annotations

import os

from hypothesis import settings

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def some(thorough: int) -> int:
    """So many examples for a thorough run, a tenth of them for any other."""
    return thorough if ALL else thorough // 10


def examples(thorough: int) -> settings:
    """Settings of a property that a thorough run tries with so many examples."""
    return settings(max_examples=some(thorough))
