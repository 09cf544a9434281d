"""The warning of windows that leave out times or rows."""

from __future__ import annotations

import sys
import warnings

from .aggregators.errors import GapsWarning
from .runtime.windows import Windows


def warn_of_gaps(windows: Windows) -> None:
    """A GapsWarning, at the user's line, where windows leave out times or rows."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(f"{__package__}."):
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"{windows.named} leave out {windows.left_out}: events there are in no window; "
        "gaps='allow' says that this is meant",
        GapsWarning,
        stacklevel=level,
    )
