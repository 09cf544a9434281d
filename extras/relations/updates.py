"""The update pattern of a relation: how its rows end as time goes on.

The classes of Patroumpas and Sellis' Table 1 and Propositions 1 to 9, as far as they hold.
"""

from __future__ import annotations

from typing import NamedTuple

from ...runtime.frames.windows import Pattern

PATTERNS: dict[Pattern, tuple[str, str]] = {
    "monotonic": ("monotonic", "rows are only added"),
    "weakest": ("weakest non-monotonic", "rows end in the order in which they came"),
    "weak": ("weak non-monotonic", "rows end in any order, but the end of each is known as it comes"),
    "strict": ("strictly non-monotonic", "a row may end at any time, which must be told by a delete"),
}
"""The patterns, from the most monotonic one on: their names, and what they mean."""


class Updates(NamedTuple):
    """The pattern by row, and by key: of a table that has one row a key, which is overwritten."""

    row: Pattern
    key: Pattern

    @classmethod
    def of(cls, pattern: Pattern) -> Updates:
        """The same one for both."""
        return cls(pattern, pattern)

    def __str__(self) -> str:
        row, key = PATTERNS[self.row][0], PATTERNS[self.key][0]
        return row if row == key else f"{row} by row, {key} by key"


def strongest(*patterns: Pattern) -> Pattern:
    """The pattern that is the least monotonic."""
    return max(patterns, key=list(PATTERNS).index)


def both(left: Updates, right: Updates) -> Updates:
    """The updates of a relation with the rows of two others."""
    return Updates(strongest(left.row, right.row), strongest(left.key, right.key))


def interfering(of: Updates) -> Updates:
    """The updates of pairs, or of rows that stay until they end: only added where their rows are, else in any order."""
    return Updates.of("monotonic" if of.row == "monotonic" else strongest("weak", of.row))


def replacing(of: Updates, row: Pattern) -> Updates:
    """The updates of an operator that replaces its one row a key; if rows are only added, no key is ever deleted."""
    return Updates(strongest(row, of.row), "monotonic" if of.row == "monotonic" else strongest("weak", of.row))
