"""Events in the types that a table has: what they are cast to, or why they are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError, EngineError
from ...aggregators.states.large import large
from ...runtime.columns.field_types import CATEGORIES
from ...runtime.columns.key_types import wider
from ...runtime.columns.plain import plain_type
from ...runtime.sources.arrow import Source
from ...runtime.sources.extended import ExtendedSource

SAID = "the stored partials have"


class NotHeldError(ColumnError):
    """Events have values in a column that the stored type of it does not hold."""

    column = ""


def types_of(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of columns by their names."""
    return {each.name: each.type for each in schema}


def in_types(given: pa.Schema, there: pa.Schema, wide: Collection[str] | None) -> pa.Schema:
    """The columns of events in the types that a table gets: its own, or for some columns wider ones.

    Parameters
    ----------
    given, there
        The columns of the events, and of the table.
    wide
        The columns that get a type which holds the values of both. Others do where the table has no type for them yet.
        None: the types of the table stay.

    Raises
    ------
    EngineError
        If no type of a column holds the values of both.
    """
    for at, own in enumerate(given):
        place = there.get_field_index(own.name)
        if place < 0 or own.type == there.field(place).type or CATEGORIES in (own.metadata or {}):
            continue
        kind = there.field(place).type
        if pa.types.is_null(kind) and wide is None:
            raise EngineError(
                f"{SAID} the column {own.name!r} without a value, and so as {kind}, and it is {own.type} in the "
                "events; expected another path, whose first events have a value or a type there"
            )
        if (held := held_by(kind, own.type)) is None:
            raise EngineError(
                f"{SAID} the column {own.name!r} as {kind}, and it is {own.type} in the events; expected it cast to "
                f"{kind}, or another path"
            )
        widens = wide is not None and (own.name in wide or pa.types.is_null(kind))
        given = given.set(at, own.with_type(held if widens else kind))
    return given


def held_by(kind: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The stored type, or a type of numbers that holds its values and those of another one; None where none does.

    >>> held_by(pa.int32(), pa.int64()), held_by(pa.string(), pa.large_string()), held_by(pa.int64(), pa.string())
    (DataType(int64), DataType(string), None)
    """
    own, given = plain_type(kind), plain_type(other)
    found = wider(own, given)
    if found is None or pa.types.is_null(own):
        return found
    numbers = all(
        pa.types.is_integer(each) or pa.types.is_floating(each) or pa.types.is_decimal128(each) for each in (own, found)
    )
    return found if numbers and large(found) != large(own) else kind


def joined_types(there: pa.Schema, given: pa.Schema) -> pa.Schema:
    """The columns of events in types that hold the values of a table, too; EngineError where none does."""
    return in_types(given, there, given.names)


def is_wider(there: pa.Schema, given: pa.Schema) -> bool:
    """Whether columns of events are of the types of a table, or of wider ones; not where either has categories."""
    for each in given:
        kind = there.field(each.name).type if each.name in there.names else each.type
        coded = CATEGORIES in (each.metadata or {})
        if kind != each.type and (coded or not (pa.types.is_null(kind) or held_by(kind, each.type) == each.type)):
            return False
    return True


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
            raise self._not_held(name, column.type, type) from error
        if not exact(column, found):
            raise self._not_held(name, column.type, type)
        return found

    @staticmethod
    def _not_held(name: str, given: pa.DataType, type: pa.DataType) -> NotHeldError:
        error = NotHeldError(
            f"{SAID} the column {name!r} as {type}, and it is {given} in the events, with values that {type} does not "
            f"hold; expected it cast to {type}, or another path, whose first events have it cast to {given}"
        )
        error.column = name
        return error


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
