"""The kinds of windows, each in a file of its own."""

from .anchors import FromAnchors, windows_from
from .around import Around, around
from .cumulating import Cumulating, cumulating
from .grid import Grid, Sliding, sliding, tumbling
from .landmark import Landmark, landmark
from .pieces import MOST, Alive, Ints, Pieces, Ranges, Runs
from .policy import Policy, policy
from .rows import LastRows, last_rows
from .rule import by_count, by_delta, by_time
from .session import Session, session
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
