"""Rows, results, and what the definitions of all windows share: keys, order, ends, and what a result leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Row:
    """An event. Times count ticks; `end` (exclusive) makes it an interval event; `attr` is what delta policies read."""

    time: int
    key: str | None = None
    value: int | None = None
    tie: int = 0
    end: int | None = None
    attr: float = 0

    @property
    def last(self) -> int:
        """The last tick at which it is there. A point event lasts one tick (R16)."""
        return self.time if self.end is None else self.end - 1


@dataclass(frozen=True)
class Window:
    """A row of the right result: the numbers of the rows that are in it, in their order."""

    key: str | None
    start: int
    end: int
    rows: tuple[int, ...]
    at: int | None = None


OfKey = Callable[[Sequence[Row], list[int]], Iterable[Window]]
"""The windows of one key: given all rows, and the numbers of the key's own ones in order."""

Brute = Callable[[Sequence[Row]], list[Window]]
"""A window specification: rows to all windows of the result, in its order."""


def rank(key: str | None) -> tuple[bool, str]:
    """How keys sort: null first."""
    return key is not None, key or ""


def keys_of(rows: Sequence[Row]) -> list[str | None]:
    return sorted({row.key for row in rows}, key=rank)


def ordered(rows: Sequence[Row], key: str | None) -> list[int]:
    """The numbers of a key's rows by time, then tie-breaker, then arrival (choice 4: every order is total)."""
    own = [number for number, row in enumerate(rows) if row.key == key]
    return sorted(own, key=lambda number: (rows[number].time, rows[number].tie, number))


def each_key(of_key: OfKey) -> Brute:
    """R12, R58: every key by itself, with windows, counters and references of its own."""

    def brute(rows: Sequence[Row]) -> list[Window]:
        return [replace(window, key=key) for key in keys_of(rows) for window in of_key(rows, ordered(rows, key))]

    return brute


def holds(closed: str, start: int, time: int, end: int) -> bool:
    """D1: whether a window takes in a time, by which of its ends belong to it."""
    after = start <= time if closed in ("left", "both") else start < time
    before = time <= end if closed in ("right", "both") else time < end
    return after and before


def overlaps(closed: str, start: int, row: Row, end: int) -> bool:
    """R16: an event is in every window that it intersects: at some tick it is there, and the window takes that in."""
    first = start if closed in ("left", "both") else start + 1
    last = end if closed in ("right", "both") else end - 1
    return first <= last and row.time <= last and row.last >= first


def changes(windows: Iterable[Window], emit: str) -> list[Window]:
    """D5, R19: with emit="on_change" a window with exactly the events of the one before it is left out."""
    kept: list[Window] = []
    before: tuple[int, ...] | None = None
    for window in windows:
        if emit == "every" or window.rows != before:
            kept.append(window)
        before = window.rows
    return kept


def stamped(windows: Iterable[Window], stamp: str) -> list[Window]:
    """D9, R21, R22: a result lives as long as its window, or is a point at one of its ends."""
    at: dict[str, Callable[[Window], Any]] = {
        "interval": lambda window: None,
        "start": lambda window: window.start,
        "end": lambda window: window.end,
    }
    return [replace(window, at=at[stamp](window)) for window in windows]


def of_rows(rows: Sequence[Row], members: Sequence[int], at: int | None) -> Window:
    """A window of rows: its bounds are the times of its first and its last row."""
    return Window(None, rows[members[0]].time, rows[members[-1]].time, tuple(members), at)
