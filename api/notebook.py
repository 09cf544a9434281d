"""What events or queries say of themselves, in a terminal or in a notebook."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from .aggregators.errors import FramefoldError
from .runtime.sources.arrow import Source
from .runtime.windows.spec import Spec

PICTURE_ROWS = 100_000
"""The most events, all of them in memory, of which a notebook shows a picture by itself."""


class Described(ABC):
    """Prints as a line for each thing to know about it; in a notebook as a table."""

    @abstractmethod
    def described(self) -> dict[str, str]:
        """What there is to know, by what it is of."""

    def __repr__(self) -> str:
        lines = self.described()
        width = max(map(len, lines))
        return "\n".join(f"{name:<{width}}  {text}" for name, text in lines.items())

    def _repr_html_(self) -> str:
        rows = (
            f'<tr><th>{html.escape(name)}</th><td style="text-align:left">{html.escape(text)}</td></tr>'
            for name, text in self.described().items()
        )
        return f"<table>{''.join(rows)}</table>"


def of_events(events: Any) -> dict[str, str]:
    """What there is to know of :class:`~framefold.Events`; nothing is read for it but their schema."""
    schema = events.engine.schema([])
    columns = ", ".join(f"{field.name} ({field.type})" for field in schema)
    lines = {
        "events": f"columns {columns}",
        "time": events.time if events.until is None else f"from {events.time} until {events.until}",
        "key": ", ".join(events.by) or "none: one series of windows over everything",
    }
    if events.ties:
        lines["ties"] = ", ".join(events.ties)
    return lines


def picture_of(events: Any, windows: Sequence[Spec]) -> str:
    """The picture of windows over events, as HTML; empty where it would take long, or cannot be drawn."""
    source = getattr(events.engine, "source", None)
    if not isinstance(source, Source) or not hasattr(getattr(source, "data", None), "shape"):
        return ""
    rows = source.count()
    if rows is None or rows > PICTURE_ROWS:
        return ""
    from .windows import draw  # which imports events, and these this file

    try:
        return "".join(f"<div>{draw(spec, events).as_svg(header='')}</div>" for spec in windows)
    except FramefoldError:  # nothing to show, too much for a picture, or no drawsvg
        return ""
