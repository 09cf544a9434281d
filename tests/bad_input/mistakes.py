"""What users type by mistake, and what they read then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

Mistake: TypeAlias = tuple[Callable[[], Any], type[Exception], str]
"""What is typed, the error, and a part of its message."""


def require_answer(mistake: Mistake) -> None:
    """The error comes, and says it in one line."""
    typed, error, read = mistake
    with pytest.raises(error) as caught:
        typed()
    assert read in str(caught.value)
    assert "\n" not in str(caught.value)
