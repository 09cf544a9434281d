"""The kinds of windows, each in a file of its own."""

from ..frames.partials_view import PartialsView
from ..frames.window_ranges import MAX_WINDOWS, Coverage, Ranges
from .around import around
from .cumulating import cumulating
from .from_table import windows_from
from .landmark import landmark
from .last_rows import last_rows
from .policy import policy
from .policy_rules import by_count, by_delta, by_time
from .session import session
from .sliding import Sliding, TickSteps, sliding, tumbling
from .snapshot import snapshot
from .spec import Spec, Windows

__all__ = [
    "MAX_WINDOWS",
    "Coverage",
    "PartialsView",
    "Ranges",
    "Sliding",
    "Spec",
    "TickSteps",
    "Windows",
    "around",
    "by_count",
    "by_delta",
    "by_time",
    "cumulating",
    "landmark",
    "last_rows",
    "policy",
    "session",
    "sliding",
    "snapshot",
    "tumbling",
    "windows_from",
]
