"""The keys that windows are given for although they may have no event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ...aggregators.errors import ColumnError, QueryError, nearest
from ..columns.key_codes import normalised, plain, plain_type
from ..frames.filling import Fill
from ..sources.arrow import Source
from ..windows import Windows

InArrow = Callable[[Any, Sequence[str]], Any]
"""Gives some columns of a table of any kind as one that speaks Arrow."""


def with_keys(
    windows: Windows, fill: Fill, keys: Sequence[pa.Field], in_arrow: InArrow, *, several: bool, intervals: bool
) -> Windows:
    """Windows that know the keys that they are filled for.

    Parameters
    ----------
    windows, fill
        Of one kind, and how they are filled.
    keys
        The keys of the events.
    in_arrow
        Reads the table of keys.
    several
        Whether the query has other windows.
    intervals
        Whether events have an end.

    Raises
    ------
    QueryError
        If windows cannot be filled in this query.
    ColumnError
        If the table lacks a key, or has it of another type.
    """
    for wrong, what in ((several, "several kinds of windows in one pass"), (intervals, "interval events (until=)")):
        if wrong:
            raise QueryError(
                f"{windows.named} are filled (fill_from=, fill_to=), and there are {what}; expected one kind of "
                "windows over events of one time"
            )
    if fill.given is not None:
        fill = replace(fill, keys=columns_of(fill.given.data, keys, in_arrow))
    elif not keys and fill.first is not None and fill.last is not None:
        fill = replace(fill, keys=())
    return replace(windows, fill=replace(fill, given=None))


def columns_of(data: Any, keys: Sequence[pa.Field], in_arrow: InArrow) -> tuple[pa.Array, ...]:
    """The columns of a table of keys, of the types that they have in the events."""
    names = [key.name for key in keys]
    if not names:
        raise QueryError("fill_keys is given, but the events have no key; expected by= too")
    try:
        source = Source(in_arrow(data, names))
    except QueryError as error:
        raise QueryError(f"fill_keys is a {type(data).__name__}; expected a table with the columns of by=") from error
    for name in names:
        if name not in source.schema.names:
            raise ColumnError(f"fill_keys lacks the key {name!r}; {nearest(name, source.schema.names)}")
    table = source.batches(names).read_all()
    found = []
    for key in keys:
        column = table.column(key.name)
        try:
            found.append(normalised(plain(column, plain_type(column.type)).cast(key.type)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ColumnError(
                f"fill_keys has the key {key.name!r} as {column.type}, and the events as {key.type}; expected one type"
            ) from error
    return tuple(found)


def check_gap(windows: Windows, fill: Fill, frames: tuple[int | None, int | None]) -> None:
    """QueryError where all of the time that is to be filled is in a gap between windows."""
    first, last = frames
    if first is not None and last is not None and first > last:
        raise QueryError(f"{windows.named} are filled{fill.words.removeprefix(', also')}, where none is; expected more")
