"""What the tests of rules share: small streams of (time, value) or (time, value, key), and what windows hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

import framefold as ff

LIST = ff.CollectList("v")


def stream(*rows: tuple[Any, ...], **of: Any) -> ff.Events:
    """Events (time, value) or (time, value, key) of integer times."""
    columns: dict[str, Any] = {"t": [row[0] for row in rows], "v": [row[1] for row in rows]}
    if rows and len(rows[0]) > 2:
        columns["k"] = [row[2] for row in rows]
        of.setdefault("by", "k")
    return ff.events(pa.table(columns), time="t", **of)


def every(times: Iterable[int], **of: Any) -> ff.Events:
    """An event at each of some times, which is its value too."""
    return stream(*((time, time) for time in times), **of)


def alive(*rows: tuple[int, int, Any]) -> ff.Events:
    """Interval events (time, end, value)."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("t", "until", "v"))}
    return ff.events(pa.table(columns), time="t", until="until")


def rows(events: ff.Events, windows: Any, **outputs: Any) -> list[dict[str, Any]]:
    """The rows of a result."""
    return events.window(windows).aggregate(**(outputs or {"v": LIST})).to_pylist()


def at(events: ff.Events, windows: Any, value: Any = LIST) -> list[Any]:
    """(time, value) of each result that is stamped with a time; (key, time, value) where events have keys."""
    found = rows(events, windows, v=value)
    return [(*((row["k"],) if "k" in row else ()), row["at"], row["v"]) for row in found]


def spans(events: ff.Events, windows: Any, value: Any = LIST) -> list[Any]:
    """(start, end, value) of each window; (key, start, end, value) where events have keys."""
    found = rows(events, windows, v=value)
    bounds = [(row["window"]["start"], row["window"]["end"]) for row in found]
    return [(*((row["k"],) if "k" in row else ()), *of, row["v"]) for row, of in zip(found, bounds, strict=True)]


def values(events: ff.Events, windows: Any, value: Any = LIST) -> list[Any]:
    """The values alone."""
    return [row["v"] for row in rows(events, windows, v=value)]
