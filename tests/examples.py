"""How many examples the longest properties get: all in a thorough run, an eighth of them in CI, else a tenth or few."""

from __future__ import annotations

import os

from hypothesis import settings

SHARE = {"thorough": 8 if os.environ.get("CI") else 1, "few": 30}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 10)


def some(thorough: int) -> int:
    """The number of examples of this run, where a thorough one has ``thorough``."""
    return max(thorough // SHARE, 1)


def examples(thorough: int) -> settings:
    """Settings of a property that a thorough run tries with ``thorough`` examples."""
    return settings(max_examples=some(thorough))
