"""The keys, with the period of time, for which windows without an event are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ...aggregators.errors import QueryError
from ..columns.ticks import Instant, TimeColumn


@dataclass(frozen=True, eq=False)
class Keys:
    """A table of keys, as a user gives it."""

    data: Any


@dataclass(frozen=True)
class Filling:
    """The arguments ``fill_from``, ``fill_to`` and ``fill_keys`` of windows; made by :func:`filling`."""

    start: Instant | None
    end: Instant | None
    keys: Keys | None

    def bind(self, time: TimeColumn, closed: str, zone: str | None = None) -> Fill:
        """The same in ticks; dates are the beginnings of days in a zone, or else in that of the column.

        Raises
        ------
        ColumnError
            If a time is not one of the column's.
        QueryError
            If there is none between them.
        """
        shift = int(closed == "right")
        start = None if self.start is None else time.instant(self.start, "fill_from", zone) + shift
        end = None if self.end is None else time.instant(self.end, "fill_to", zone) + shift
        if start is not None and end is not None and start >= end:
            raise QueryError(
                f"fill_from is {self.start!r} and fill_to is {self.end!r}; expected fill_from before fill_to"
            )
        words = [f"{name} {time.word(at - shift)}" for name, at in (("from", start), ("to", end)) if at is not None]
        return Fill(start, None if end is None else end - 1, ", also " + " ".join(words), self.keys)


@dataclass(frozen=True, eq=False)
class Fill:
    """Windows are given from that of the tick ``first`` to that of the tick ``last``, where these are no None.

    ``words`` says so, ``given`` is the table of keys, and ``keys`` are its columns, once these are known.
    """

    first: int | None
    last: int | None
    words: str
    given: Keys | None = None
    keys: tuple[pa.Array, ...] | None = None


def filling(empty: str, emit: str, start: Instant | None, end: Instant | None, keys: Any) -> Filling | None:
    """What windows are filled with, if anything.

    Raises
    ------
    QueryError
        If windows without an event are not given at all, or keys are given without both times.
    """
    given = [name for name, value in (("fill_from", start), ("fill_to", end), ("fill_keys", keys)) if value is not None]
    if not given:
        return None
    if empty != "emit":
        raise QueryError(f"{given[0]} is given, but windows without an event are left out; expected empty='emit'")
    if emit != "every":
        raise QueryError(f"{given[0]} is given, but a window like the one before it is left out; expected emit='every'")
    if keys is not None and (start is None or end is None):
        raise QueryError(
            "fill_keys is given without both fill_from and fill_to; expected them: a key without an event has no "
            "times of its own"
        )
    return Filling(start, end, None if keys is None else Keys(keys))
