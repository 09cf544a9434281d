"""How many examples the longest properties get: all in a thorough run, an eighth of them in CI, else a tenth."""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SHARE = (8 if os.environ.get("CI") else 1) if THOROUGH else 10


def some(thorough: int, quick: int | None = None) -> int:
    """The number of examples of this run: a thorough one has ``thorough``, another ``quick`` or a tenth of these."""
    return thorough // SHARE if THOROUGH or quick is None else quick


def examples(thorough: int, quick: int | None = None) -> settings:
    """Settings of a property with ``some`` examples."""
    return settings(max_examples=some(thorough, quick))


def times(factor: int) -> settings:
    """Settings of a property that stands for several, with so many times the examples of the profile."""
    return settings(max_examples=factor * settings.default.max_examples)
