"""The stored partials that a stream begins with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import Any, Protocol

from ..partials.partials import Partials
from ..plan.plan import Plan


class PartialsInParts(Protocol):
    """Partials in parts. A task reads each part."""

    def __len__(self) -> int:
        """The number of parts."""
        ...

    def partials(self, plan: Plan, *parts: int) -> Partials:
        """The partials of some parts, merged, in the frames of a query."""
        ...


class History(ABC):
    """The partials of a store, as of one commit, that a stream begins with."""

    @abstractmethod
    def parts(self, plan: Plan, begin: int, lateness: int, *, begun: bool) -> PartialsInParts:
        """The partials that the windows of a stream need.

        Parameters
        ----------
        plan
            The stream's.
        begin
            The tick at which it begins.
        lateness
            How long after they have closed its windows take late events, in ticks.
        begun
            Whether the stream has a state already: then it needs none.

        Raises
        ------
        QueryError
            If they are of another query, or of other frames, or do not reach back far enough.
        """


@singledispatch
def history_of(given: Any) -> Any:
    """What a stream begins with, as of now: a `History` for a store that has registered its class, else what is given.

    A store registers a function of its own: ``@history_of.register``.
    """
    return given
