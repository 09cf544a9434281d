"""Every window by definition: the rules R1.. of the five sources in plain Python, with no engine in sight.

The functions have the names and arguments of the window constructors, and give a function from rows to the windows
of the result. Durations and times count ticks, except that calendar units are strings. Nothing here is clever, so
that it can be checked by reading: a window is the list of its rows, found by asking each row whether it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .windows_grid import cumulating, landmark, session, sliding, tumbling
from .windows_policy import by_count, by_delta, by_time, policy
from .windows_rows import Brute, Row, Window, changes, each_key, holds, keys_of, of_rows, ordered, rank

__all__ = [
    "Brute", "Row", "Window", "around", "by_count", "by_delta", "by_time", "clipped", "cumulating", "landmark",
    "last_rows", "policy", "session", "sliding", "snapshot", "tumbling", "windows_from",
]  # fmt: skip


def last_rows(
    n: int, every: int = 1, *, ties: str = "arrival", min_fill: str = "partial", emit: str = "every"
) -> Brute:
    """R4, R57, R58: the last n rows of the key, after every `every`-th one; D10 says what becomes of ties."""

    def of_arrivals(rows: Sequence[Row], own: list[int]) -> list[Window]:
        """R4, R11: the last n rows, fewer at the start unless it must be full."""
        windows = []
        for count in range(1, len(own) + 1):
            if count % every == 0 and (count >= n or min_fill == "partial"):
                windows.append(of_rows(rows, own[max(0, count - n) : count], rows[own[count - 1]].time))
        return windows

    def of_times(rows: Sequence[Row], own: list[int]) -> list[Window]:
        """R25: the last n distinct times, all rows of each; the window ends one tick after the last of them."""
        times = sorted({rows[number].time for number in own})
        windows = []
        for count in range(1, len(times) + 1):
            if count % every == 0 and (count >= n or min_fill == "partial"):
                some = times[max(0, count - n) : count]
                members = tuple(number for number in own if rows[number].time in some)
                windows.append(Window(None, some[0], some[-1] + 1, members, some[-1]))
        return windows

    def strict(rows: Sequence[Row], own: list[int]) -> list[Window]:
        """R57: the longest stretch of whole times that holds at most n rows; a batch that would overflow is out."""
        times = sorted({rows[number].time for number in own})
        windows = []
        for count, now in enumerate(times, 1):
            so_far = [number for number in own if rows[number].time <= now]
            stretches = [[n for n in so_far if rows[n].time >= since] for since in times[:count]]
            fitting = [stretch for stretch in stretches if len(stretch) <= n]
            if count % every == 0 and fitting and (len(fitting[0]) == n or min_fill == "partial"):
                windows.append(of_rows(rows, fitting[0], now))
        return windows

    of_key = {"arrival": of_arrivals, "distinct_time": of_times, "strict": strict}[ties]
    return each_key(lambda rows, own: changes(of_key(rows, own), emit))


def around(
    *,
    rows: tuple[int, int] | None = None,
    time: tuple[int, int] | None = None,
    closed: str = "both",
    min_fill: str = "full",
) -> Brute:
    """R35-R41: a window around each event, by positions or by durations, stamped with the event's time."""

    def by_rows(events: Sequence[Row], own: list[int]) -> list[Window]:
        """R35, R36: only where complete; either end may be exclusive."""
        assert rows is not None
        first, last = rows
        offsets = [offset for offset in range(first, last + 1) if holds(closed, first, offset, last)]
        windows = []
        for position, anchor in enumerate(own):
            there = [position + offset for offset in offsets if 0 <= position + offset < len(own)]
            if there and (min_fill == "partial" or len(there) == len(offsets)):
                windows.append(of_rows(events, [own[p] for p in there], events[anchor].time))
        return windows

    def by_time(events: Sequence[Row], own: list[int]) -> list[Window]:
        """R39, R40: one for every event, even if it is empty."""
        assert time is not None
        windows = []
        for anchor in own:
            at = events[anchor].time
            start, end = at + time[0], at + time[1]
            members = tuple(number for number in own if holds(closed, start, events[number].time, end))
            windows.append(Window(None, start, end, members, at))
        return windows

    return each_key(by_rows if rows is not None else by_time)


Anchor = tuple[str | None, int, int, int]
"""A row of the other data set: key, start, end, at."""


def windows_from(
    anchors: Sequence[Anchor], *, keyed: bool = False, by: bool = False, closed: str = "left", empty: str = "emit"
) -> Brute:
    """R43: one window for each row of another data set; `by`: for the anchor's own key, else for every key.

    `keyed` says whether the events have keys at all: where they have none there is one key, with or without events.
    """

    def brute(rows: Sequence[Row]) -> list[Window]:
        windows = []
        keys = sorted({anchor[0] for anchor in anchors}, key=rank) if by else keys_of(rows) if keyed else [None]
        for key in keys:
            own = [] if by and keyed and key is None else ordered(rows, key)  # a null is equal to no key
            for of_key, start, end, at in sorted(anchors, key=lambda anchor: anchor[3]):  # stable: by order of anchors
                members = tuple(number for number in own if holds(closed, start, rows[number].time, end))
                if (of_key == key or not by) and (members or empty == "emit"):
                    windows.append(Window(key, start, end, members, at))
        return windows

    return brute


def snapshot(*, emit: str = "every") -> Brute:
    """R25: one result between any two neighbouring starts or ends, where at least one event is alive."""

    def of_key(rows: Sequence[Row], own: list[int]) -> list[Window]:
        points = sorted({point for number in own for point in (rows[number].time, rows[number].last + 1)})
        windows = []
        for start, end in pairwise(points):
            alive = tuple(number for number in own if rows[number].time < end and rows[number].last >= start)
            if alive:
                windows.append(Window(None, start, end, alive))
        return changes(windows, emit)

    return each_key(of_key)


def clipped(row: Row, window: Window, closed: str = "left") -> int:
    """R17: how many ticks of an event's lifetime lie in the window."""
    shift = 1 if closed == "right" else 0  # (start, end] holds the ticks that [start + 1, end + 1) holds
    return max(0, min(row.last + 1, window.end + shift) - max(row.time, window.start + shift))
