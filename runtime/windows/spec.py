"""Windows as a user writes them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from ...aggregators.errors import QueryError
from ..features import feature
from ..frames.filling import filling
from ..frames.windows import WindowSpec
from .grid import check_offset

Closed: TypeAlias = Literal["left", "right"]
Bounds: TypeAlias = Literal["left", "right", "both", "neither"]
Empty: TypeAlias = Literal["skip", "emit"]
MinFill: TypeAlias = Literal["partial", "full"]
Emit: TypeAlias = Literal["every", "on_change"]
Stamp: TypeAlias = Literal["interval", "end", "start"]
Gaps: TypeAlias = Literal["warn", "allow"]

WORDS: dict[str, Mapping[str, str] | tuple[str, ...]] = {
    "closed": {"left": "for [start, end)", "right": "for (start, end]"},
    "empty": {
        "skip": "to leave out windows without an event",
        "emit": "to give them, which .filled('last') of an output fills",
    },
    "min_fill": ("partial", "full"), "emit": ("every", "on_change"),
    "stamp": ("interval", "end", "start"), "gaps": ("warn", "allow"),
}  # fmt: skip
"""The values of arguments that several kinds of windows have."""
BOUNDS = {
    "left": "for [since, end)", "right": "for (since, end]", "both": "for [since, end]", "neither": "for (since, end)",
}  # fmt: skip
"""The words of ``closed`` where windows need not follow one another."""

MOST_ROWS = 1 << 62
"""How many rows windows can be counted in: sums of two such numbers fit int64."""


class Spec(WindowSpec):
    """A window specification: frozen, printed in words, drawn, bound to a time column to be used."""

    def _repr_html_(self) -> str:
        """The windows in words, and as they were made: what a notebook shows."""
        return f"<div>{html.escape(str(self))}<br><code>{html.escape(repr(self))}</code></div>"

    def draw(self, events: Any) -> Any:
        """A picture of the windows over some events: events, frames, windows with their counts, and the time line.

        Parameters
        ----------
        events
            ``ff.events(...)``, or a column or list of times. Of more than 200 the first are drawn, and the title says
            so; those of a DataFrame are found by one pass over it.

        Returns
        -------
        drawsvg.Drawing
            Notebooks show it; ``.as_svg()`` is its text, and ``.save_svg(path)`` writes it.

        Raises
        ------
        EngineError
            If drawsvg is not installed, or the events are something else, or a stream.
        QueryError
            If there are too many events or windows for a picture, or none.

        Examples
        --------
        >>> import framefold as ff
        >>> picture = ff.sliding(4, every=2).draw([1, 2, 4])
        >>> picture.as_svg().count("<rect") >= 4
        True
        """
        return feature("pictures.draw").draw(self, events)


def one_of(argument: str, value: object, choices: Mapping[str, str] | tuple[str, ...]) -> None:
    """QueryError unless an argument is one of some words; a mapping has the meaning of each."""
    if value not in tuple(choices):
        words = [
            f"{word!r} {choices[word]}".strip() if isinstance(choices, Mapping) else repr(word) for word in choices
        ]
        raise QueryError(f"{argument} is {value!r}; expected {', '.join(words[:-1])} or {words[-1]}")


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of windows with some options, all of them given; QueryError where one is wrong."""
    fields = dict(options)
    check_offset(fields["offset"])
    check_words(**{name: value for name, value in fields.items() if name in WORDS})
    times_and_keys = [fields.pop(name) for name in ("fill_from", "fill_to", "fill_keys")]
    fields["min_samples"] = samples(fields["min_samples"])
    return fields | {"filling": filling(fields["empty"], fields["emit"], *times_and_keys)}


def check_words(**arguments: str) -> None:
    """QueryError unless each argument is one of its :data:`WORDS`."""
    for argument, value in arguments.items():
        one_of(argument, value, WORDS[argument])


def samples(value: object, most: int | None = None) -> int:
    """The argument ``min_samples``; QueryError unless it is a number of rows, and no more than a window has."""
    found = whole("min_samples", value, 0)
    if most is not None and found > most:
        raise QueryError(f"min_samples is {found}, and a window has at most {most} rows; expected {most} or fewer")
    return found


def whole(argument: str, value: object, least: int) -> int:
    """An argument; QueryError unless it is an integer of ``least`` or more, and a number of rows that can be."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise QueryError(f"{argument} is {value!r}; expected an integer of {least} or more")
    return of_rows(argument, int(value), value)


def of_rows(argument: str, number: int, given: object) -> int:
    """A number of rows, on either side; QueryError above :data:`MOST_ROWS`."""
    if abs(number) > MOST_ROWS:
        raise QueryError(f"{argument} is {given!r}; expected no more than {MOST_ROWS} rows")
    return number
