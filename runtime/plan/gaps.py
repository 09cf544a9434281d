"""What the windows of a query leave out, said as a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

from ...aggregators.errors import GapsWarning
from ..windows import Windows


def warn_of_gaps(windows: Iterable[Windows]) -> None:
    """A GapsWarning for each kind of windows that leaves something out, unless that is meant; at the user's line."""
    for each in windows:
        if each.gaps == "warn" and each.left_out is not None:
            warnings.warn(
                f"{each.named} leave out {each.left_out}: events there are in no window; "
                "gaps='allow' says that this is meant",
                GapsWarning,
                stacklevel=_outside(),
            )


def _outside() -> int:
    """How many calls above the caller the first one from outside of the package is, as ``stacklevel`` counts them."""
    package = f"{__package__.partition('.')[0]}."
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(package):
        frame, level = frame.f_back, level + 1
    return level
