"""Events in the types that a table has: what they are cast to, or why they are not."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError, EngineError
from ..columns.field_types import CATEGORIES
from ..columns.key_types import wider
from ..columns.plain import plain_type
from ..sources.arrow import Source
from ..sources.extended import ExtendedSource

SAID = "the stored partials have"


def in_types(given: pa.Schema, there: pa.Schema) -> pa.Schema:
    """The columns of events in the types that a table has them in, where one type holds the values of both.

    Raises
    ------
    EngineError
        If neither type of a column holds the values of the other.
    """
    for at, own in enumerate(given):
        place = there.get_field_index(own.name)
        if place < 0 or own.type == there.field(place).type or CATEGORIES in (own.metadata or {}):
            continue
        kind = there.field(place).type
        if pa.types.is_null(kind):
            raise EngineError(
                f"{SAID} the column {own.name!r} without a value, and so as {kind}, and it is {own.type} in the "
                "events; expected another path, whose first events have a value or a type there"
            )
        if own.type != kind and wider(plain_type(own.type), plain_type(kind)) is None:
            raise EngineError(
                f"{SAID} the column {own.name!r} as {kind}, and it is {own.type} in the events; expected it cast to "
                f"{kind}, or another path"
            )
        given = given.set(at, own.with_type(kind))
    return given


class InTypes(ExtendedSource):
    """Events with some columns in other types, which have to hold their values.

    Parameters
    ----------
    source
        The events.
    types
        The types of these columns, by their names.
    """

    def __init__(self, source: Source, types: Mapping[str, pa.DataType]) -> None:
        super().__init__(source, (), {name: [name] for name in types})
        self.schema = pa.schema([each.with_type(types.get(each.name, each.type)) for each in source.schema])

    def made(self, name: str, events: pa.Table) -> pa.ChunkedArray:
        column, type = events.column(name), self.schema.field(name).type
        try:
            found = column.cast(type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ColumnError(self._not_held(name, column.type, type)) from error
        if not exact(column, found):
            raise ColumnError(self._not_held(name, column.type, type))
        return found

    @staticmethod
    def _not_held(name: str, given: pa.DataType, type: pa.DataType) -> str:
        return (
            f"{SAID} the column {name!r} as {type}, and it is {given} in the events, with values that {type} does not "
            f"hold; expected it cast to {type}, or another path, whose first events have it cast to {given}"
        )


def exact(column: pa.ChunkedArray, found: pa.ChunkedArray) -> bool:
    """Whether values are the same after they were cast, where Arrow does not ask: floats as floats, times as dates."""
    floats = pa.types.is_floating(column.type)
    dates = pa.types.is_timestamp(column.type) and pa.types.is_date(found.type)
    if not dates and not (floats and pa.types.is_floating(found.type)):
        return True
    back = found.cast(column.type)
    same = pc.equal(back, column)
    if floats:
        same = pc.or_(same, pc.and_(pc.is_nan(back), pc.is_nan(column)))
    return pc.all(same).as_py() is not False
