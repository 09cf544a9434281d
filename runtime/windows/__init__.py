"""The kinds of windows, each in a file of its own."""

from ..frames.live_frames import LiveFrames
from ..frames.partials_view import MAX_WINDOWS, Coverage, Ints, PartialsView, Ranges
from .around import Around, around
from .cumulating import Cumulating, cumulating
from .from_table import FromAnchors, windows_from
from .landmark import Landmark, landmark
from .last_rows import LastRows, last_rows
from .policy import Policy, policy
from .policy_rules import by_count, by_delta, by_time
from .session import Session, session
from .sliding import Sliding, TickSteps, sliding, tumbling
from .snapshot import Snapshot, snapshot
from .spec import Spec, Windows

__all__ = [
    "MAX_WINDOWS",
    "LiveFrames",
    "Around",
    "Cumulating",
    "FromAnchors",
    "TickSteps",
    "Ints",
    "Landmark",
    "LastRows",
    "PartialsView",
    "Policy",
    "Ranges",
    "Coverage",
    "Session",
    "Snapshot",
    "Sliding",
    "Spec",
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
