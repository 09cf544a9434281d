"""The kinds of windows, each in a file of its own."""

from ..frames.partials_view import MOST, Alive, Ints, Pieces, Ranges, Runs
from .around import Around, around
from .cumulating import Cumulating, cumulating
from .from_table import FromAnchors, windows_from
from .landmark import Landmark, landmark
from .last_rows import LastRows, last_rows
from .policy import Policy, policy
from .policy_rules import by_count, by_delta, by_time
from .session import Session, session
from .sliding import Grid, Sliding, sliding, tumbling
from .snapshot import Snapshot, snapshot
from .spec import Spec, Windows

__all__ = [
    "MOST",
    "Alive",
    "Around",
    "Cumulating",
    "FromAnchors",
    "Grid",
    "Ints",
    "Landmark",
    "LastRows",
    "Pieces",
    "Policy",
    "Ranges",
    "Runs",
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
