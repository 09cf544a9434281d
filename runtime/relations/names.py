"""The columns that relations have beside those of their rows, and what a join is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

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


class JoinSpec(NamedTuple):
    """What a join is asked for.

    Attributes
    ----------
    on
        Pairs of columns, of the left and of the right, whose values are equal.
    prefix
        What the names of all columns of the right begin with.
    stamp
        Whose time a pair has.
    how
        ``"inner"``; ``"left"``: also what no row of the right is valid with; ``"asof"``: the last row of the right.
    lasts
        For each side the most ticks from the time of a row to its end; None where it may go on for ever.
    """

    on: tuple[tuple[str, str], ...]
    prefix: str
    stamp: Literal["min", "max", "left", "right"] = "min"
    how: Literal["inner", "left", "asof"] = "inner"
    lasts: tuple[int | None, int | None] = (None, None)


def values_of(names: Iterable[str]) -> list[str]:
    """The columns of a row beside its times."""
    return [name for name in names if name not in RESERVED]
