"""The columns that relations have beside those of their rows."""

from __future__ import annotations

from collections.abc import Iterable

TS, FROM, TO = "ts", "valid_from", "valid_to"
"""The time of a row, where it has one of its own; from when on it is valid, and up to when: null for ever."""
AT, CHANGE, WEIGHT = "at", "change", "weight"
"""Columns of states and changes: the instant, what is done to a row there, and by how much it is there more often."""
VIEWED = {"at": (), "states": (AT,)} | dict.fromkeys(("changes", "inserts", "deletes"), (AT, CHANGE, WEIGHT))
"""Those of each view."""
INSERT_DELETE = ("insert", "delete")
REPEATED = "#times"
"""How often a row is there."""
RESERVED = (TS, FROM, TO)


def values_of(names: Iterable[str]) -> list[str]:
    """The columns of a row beside its times."""
    return [name for name in names if name not in RESERVED]
