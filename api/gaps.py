"""Warnings of where windows lie, at the user's line."""

from __future__ import annotations

import sys
import warnings

from .aggregators.errors import CalendarWarning, GapsWarning
from .runtime.frames.windows import Windows


def warn_of(windows: Windows) -> None:
    """A GapsWarning where windows leave out times or rows, a CalendarWarning where earlier versions had other ones."""
    if windows.gaps == "warn" and windows.left_out is not None:
        warn(
            f"{windows.named} leave out {windows.left_out}: events there are in no window; "
            "gaps='allow' says that this is meant",
            GapsWarning,
        )
    if windows.moved:
        warn(windows.moved, CalendarWarning)


def warn(message: str, category: type[UserWarning]) -> None:
    """A warning at the line outside this package that has led to it."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(f"{__package__}."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
