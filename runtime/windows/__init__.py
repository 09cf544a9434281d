"""The kinds of windows, each in a file of its own."""

from .around import around
from .cumulating import cumulating
from .landmark import landmark
from .last_rows import last_rows
from .policy import by_count, by_delta, by_time, policy
from .session import session
from .sliding import sliding, tumbling
from .snapshot import snapshot

__all__ = [
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
]
