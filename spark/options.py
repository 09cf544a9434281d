"""How a query runs, or which windows its result has: choices that never change its values."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from ..aggregators.durations import positive
from ..aggregators.errors import QueryError
from ..runtime.columns.ticks import Duration, Instant

WAYS = ("auto", "driver", "executors")
ACCUMULATORS = ("auto", "spark", "python")
READERS = ("auto", "spark")
LATE = ("drop", "drop_partial", "update")
SHAPES = ("struct", "flat")


class PlainChoices(TypedDict, total=False):
    """The arguments of ``.options(...)`` for all queries, which :meth:`framefold.Events.options` explains."""

    combine: Literal["auto", "driver", "executors"]
    max_driver_partials: int
    accumulate: Literal["auto", "spark", "python"]
    read: Literal["auto", "spark"]
    window: Literal["struct", "flat"]


class StreamChoices(TypedDict, total=False):
    """The arguments of ``.stream(...)``, which :meth:`framefold.Events.stream` explains."""

    shards: int | None
    checkpoint: str | os.PathLike[str] | None
    trust_checkpoint: bool
    forget: Duration | None
    watermark: str | None
    ahead: Duration | None
    early: Duration | None
    late: Literal["drop", "drop_partial", "update"]
    allowed_lateness: Duration | None
    history: Any
    until: Instant | None


class Choices(PlainChoices, StreamChoices, total=False):
    """What ``.options(...)`` takes: those of streams with a warning."""


@dataclass(frozen=True)
class Options:
    """The choices of ``.options(...)`` and ``.stream(...)``: :class:`PlainChoices`, :class:`StreamChoices`.

    Raises
    ------
    QueryError
        If a choice is not one of these.

    Examples
    --------
    >>> Options(combine="driver").max_driver_partials
    5000000
    """

    combine: str = "auto"
    max_driver_partials: int = 5_000_000
    accumulate: str = "auto"
    read: str = "auto"
    shards: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    trust_checkpoint: bool = False
    forget: Duration | None = None
    watermark: str | None = None
    ahead: Duration | None = None
    early: Duration | None = None
    late: str = "drop"
    allowed_lateness: Duration | None = None
    window: str = "struct"
    history: Any = field(default=None, repr=False, compare=False)
    until: Instant | None = None

    def __post_init__(self) -> None:
        words = {"combine": WAYS, "accumulate": ACCUMULATORS, "read": READERS, "late": LATE, "window": SHAPES}
        for name, known in words.items():
            if getattr(self, name) not in known:
                ways = ", ".join(repr(way) for way in known)
                raise QueryError(f"{name} is {getattr(self, name)!r}, expected one of {ways}")
        bound = self.max_driver_partials
        if isinstance(bound, bool) or not isinstance(bound, int) or bound < 0:
            raise QueryError(f"max_driver_partials is {bound!r}, expected a whole number of at least 0")
        for name in ("forget", "ahead", "early", "allowed_lateness"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        if self.ahead is not None and self.watermark is None:
            raise QueryError(
                f"ahead is {self.ahead!r}, but the watermark is not framefold's, and has seen such times; expected "
                "watermark='10 minutes', or how long late events are waited for, and a stream without withWatermark"
            )
        if (self.late == "update") is not (self.allowed_lateness is not None):
            raise QueryError(
                f"late is {self.late!r} and allowed_lateness {self.allowed_lateness!r}; expected late='update' with "
                "allowed_lateness='10 minutes', or how long closed windows take late events, or neither"
            )
        if (self.history is None) is not (self.until is None):
            raise QueryError(
                f"history is {'not ' * (self.history is None)}given and until is {self.until!r}; expected both: the "
                "events before a time, and this time"
            )
        shards = self.shards
        if shards is not None and (isinstance(shards, bool) or not isinstance(shards, int) or shards < 1):
            raise QueryError(f"shards is {shards!r}, expected a whole number of at least 1")
