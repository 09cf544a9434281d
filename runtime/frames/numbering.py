"""Frames numbered by integer division of ticks."""

from __future__ import annotations

from typing import NamedTuple


class Numbering(NamedTuple):
    """Steps of ticks, or their two parts, numbered in order.

    Attributes
    ----------
    origin, width
        A tick's step is ``(tick - origin) // width``, which is its number where steps are whole.
    first
        The ticks of the first part of each step, where it has two. Parts have the numbers ``2 * step`` and
        ``2 * step + 1``. 0: steps are whole.
    second
        Whether the second parts are in any window.
    """

    origin: int
    width: int
    first: int = 0
    second: bool = True

    @property
    def parts(self) -> int:
        """How many parts a step has."""
        return 2 if self.first else 1

    def ends(self, number: int) -> tuple[int, int]:
        """The first and the last tick of the step that a number is in.

        >>> Numbering(1, 10, 4).ends(3)
        (11, 20)
        """
        start = number // self.parts * self.width + self.origin
        return start, start + self.width - 1
