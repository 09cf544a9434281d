"""What events and queries say of themselves, in a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import Any


class Described:
    """Prints as a line for each thing to know about it; in a notebook as a table."""

    def described(self) -> dict[str, str]:
        """What there is to know, by what it is of."""
        raise NotImplementedError

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
