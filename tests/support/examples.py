"""How many examples the longest properties get: all in a thorough run, an eighth of them in CI, else a tenth."""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SHARE = (8 if os.environ.get("CI") else 1) if THOROUGH else 10


def some(thorough: int) -> int:
    """The number of examples of this run, where a thorough one has ``thorough``."""
    return thorough // SHARE


def examples(thorough: int) -> settings:
    """Settings of a property that a thorough run tries with ``thorough`` examples."""
    return settings(max_examples=some(thorough))
