"""How many examples the longest properties are tried with: a fifth by `make test`, all by `make slow`."""

from __future__ import annotations

import os

from hypothesis import settings

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(thorough: int) -> settings:
    """Settings of a property that a thorough run tries with so many examples, and any other with a fifth of them."""
    return settings(max_examples=thorough if ALL else thorough // 5)
