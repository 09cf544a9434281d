"""What a join is asked for."""

from __future__ import annotations

from typing import Literal, NamedTuple


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
        ``"inner"``; ``"left"``: also what no row of the right is valid with; ``"asof"``: the last row of the right;
        ``"at"``: the rows of the right that are valid at the time of the row on the left, or none.
    lasts
        For each side the most ticks from the time of a row to its end; None where it may go on for ever.
    """

    on: tuple[tuple[str, str], ...]
    prefix: str
    stamp: Literal["min", "max", "left", "right"] = "min"
    how: Literal["inner", "left", "asof", "at"] = "inner"
    lasts: tuple[int | None, int | None] = (None, None)
