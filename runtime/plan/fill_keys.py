"""The keys that windows are given for by a table of their own, although they may have no event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from ...aggregators.errors import ColumnError, QueryError, nearest
from ..columns.key_types import Unfit, of_one_type, one_type
from ..columns.plain import normalised, plain_type
from ..frames.filling import Fill
from ..frames.windows import Windows
from ..sources.arrow import Source

ONE_TYPE = "expected one type"

InArrow = Callable[[Any, Sequence[str]], Any]
"""Gives some columns of a table of any kind as one that speaks Arrow."""


class GivenKey(NamedTuple):
    """A key column that windows have of their own, what it is called, and what to say if its type does not fit."""

    named: str
    column: pa.Array | pa.ChunkedArray
    unfit: Unfit


def with_given_keys(
    windows: Sequence[Windows], keys: Sequence[pa.Field], in_arrow: InArrow, *, intervals: bool
) -> tuple[list[Windows], list[pa.Field]]:
    """Windows with the keys of their own, and the keys with types that hold those of events and windows.

    Raises
    ------
    QueryError
        If windows cannot be filled in this query, or have another number of keys than the events.
    ColumnError
        If a table lacks a key, or there is no type for all values of one.
    """
    names = [key.name for key in keys]
    given = [given_keys(each, names, in_arrow, several=len(windows) > 1, intervals=intervals) for each in windows]
    types = [
        one_type(key.type, [(plain_type(own[at].column.type), own[at].unfit) for own in given if own is not None])
        for at, key in enumerate(keys)
    ]
    typed = [pa.field(name, type) for name, type in zip(names, types, strict=True)]
    return [with_keys(each, own, types) for each, own in zip(windows, given, strict=True)], typed


def given_keys(
    windows: Windows, names: Sequence[str], in_arrow: InArrow, *, several: bool, intervals: bool
) -> list[GivenKey] | None:
    """The keys that windows have of their own; None where they have none.

    Parameters
    ----------
    windows
        Of one kind.
    names
        The names of the keys of the events.
    in_arrow
        Reads a table of keys.
    several
        Whether the query has other windows.
    intervals
        Whether events have an end.

    Raises
    ------
    QueryError
        If windows cannot be filled in this query, or have another number of keys than the events.
    ColumnError
        If the table lacks a key.
    """
    if anchored := windows.anchor_keys:
        if len(names) != len(anchored):
            raise QueryError(f"the anchors have {len(anchored)} keys and the events {len(names)}; expected as many")
        return [of_anchors(*key, name) for key, name in zip(anchored, names, strict=True)]
    if windows.fill is None:
        return None
    for wrong, what in ((several, "several kinds of windows in one pass"), (intervals, "interval events (until=)")):
        if wrong:
            raise QueryError(
                f"{windows.named} are filled (fill_from=, fill_to=), and there are {what}; expected one kind of "
                "windows over events of one time"
            )
    return None if windows.fill.given is None else columns_of(windows.fill.given.data, names, in_arrow)


def columns_of(data: Any, names: Sequence[str], in_arrow: InArrow) -> list[GivenKey]:
    """The columns of a table of keys."""
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
    return [of_table(name, table.column(name)) for name in names]


def of_anchors(named: str, column: pa.Array, name: str) -> GivenKey:
    """A key of anchors, for the key of a name of the events."""
    return GivenKey(named, column, lambda found, wanted: f"{named} is {found}, and {name!r} is {wanted}; {ONE_TYPE}")


def of_table(name: str, column: pa.ChunkedArray) -> GivenKey:
    """A key of a table of keys."""
    return GivenKey(
        f"the key {name!r} of fill_keys",
        column,
        lambda found, wanted: f"fill_keys has the key {name!r} as {found}, and the events as {wanted}; {ONE_TYPE}",
    )


def with_keys(windows: Windows, given: Sequence[GivenKey] | None, types: Sequence[pa.DataType]) -> Windows:
    """Windows that know the keys of their own, of the types that these have with those of the events."""
    keys = None
    if given is not None:
        keys = tuple(
            normalised(of_one_type(key.column, type, key.named)) for key, type in zip(given, types, strict=True)
        )
    fill: Fill | None = windows.fill
    if fill is None:
        return windows if keys is None else windows.with_anchor_keys(keys)
    if keys is None and not types and fill.first is not None and fill.last is not None:
        keys = ()
    return replace(windows, fill=replace(fill, keys=keys, given=None))
