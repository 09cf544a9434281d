"""Values whose order is that of their categories, as codes: ordered dictionaries, as enums of data frames are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError
from .nested import with_inner, with_inner_values

Take: TypeAlias = Callable[[pa.Array, pa.Array], pa.Array]
"""Gives a column at some rows."""


class Categories(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """The type of a column of categories: each value is the place of its category, an int32.

    Parameters
    ----------
    values
        The categories in their order, all different and none null.

    Examples
    --------
    >>> sizes = Categories(pa.array(["low", "mid", "high"]))
    >>> codes = sizes.codes(pa.array(["high", None, "low"]))
    >>> codes.storage.to_pylist(), plain_values(codes).to_pylist()
    ([2, None, 0], ['high', None, 'low'])
    """

    def __init__(self, values: pa.Array) -> None:
        self.values = values
        super().__init__(pa.int32(), "framefold.categories")

    def __arrow_ext_serialize__(self) -> bytes:
        batch = pa.record_batch([self.values], names=["values"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        return bytes(sink.getvalue())

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Categories:
        with pa.ipc.open_stream(serialized) as stream:
            return cls(stream.read_all().column(0).combine_chunks())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categories) and (self.values is other.values or self.values.equals(other.values))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((len(self.values), str(self.values.type)))

    def __str__(self) -> str:
        return f"ordered categories of {self.values.type}"

    def codes(self, column: pa.Array, named: str = "the column") -> pa.Array:
        """A column of values, with a dictionary or without, as codes.

        Raises
        ------
        ColumnError
            If a value is none of the categories.
        """
        given = column.dictionary if isinstance(column, pa.DictionaryArray) else column
        if isinstance(column, pa.DictionaryArray) and shared(given, self.values):
            return pa.ExtensionArray.from_storage(self, column.indices.cast(pa.int32()))
        found = pc.index_in(given.cast(self.values.type), self.values, skip_nulls=True)
        if isinstance(column, pa.DictionaryArray):
            found = found.take(column.indices)
        if found.null_count > column.null_count:
            lost = column.filter(pc.and_(found.is_null(), column.is_valid()))
            if len(lost):
                raise ColumnError(
                    f"{named} has {lost[0].as_py()!r}, which is none of the {len(self.values)} categories in whose "
                    "order values compare; expected one of them"
                )
        return pa.ExtensionArray.from_storage(self, found)


def shared(a: pa.Array, b: pa.Array) -> bool:
    """Whether two arrays are the same place in memory."""
    places = [[None if each is None else each.address for each in array.buffers()] for array in (a, b)]
    return (a.type, a.offset, len(a), places[0]) == (b.type, b.offset, len(b), places[1])


def codes_or_values(column: pa.Array) -> pa.Array:
    """The integers of a column of categories, any other column as it is."""
    return column.storage if isinstance(column.type, Categories) else column


class UnknownCategories(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """The type of a column of categories whose order is not known: only what does not compare can work on it."""

    def __init__(self, value_type: pa.DataType) -> None:
        super().__init__(value_type, "framefold.unknown_categories")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> UnknownCategories:
        return cls(storage)


def values_type(type: pa.DataType) -> pa.DataType:
    """A type with that of the values in the place of categories, in lists, structs and maps too."""
    if isinstance(type, Categories):
        return type.values.type
    if isinstance(type, UnknownCategories):
        return type.storage_type
    return with_inner(type, values_type) if pa.types.is_nested(type) else type


def plain_values(column: pa.Array, take: Take = pa.Array.take) -> pa.Array:
    """A column with values in the place of codes, which ``take`` takes, in lists, structs and maps too."""
    type: Any = column.type
    if isinstance(type, Categories):
        return take(type.values, column.storage)
    wanted = values_type(type)
    return column if wanted == type else with_inner_values(column, wanted, lambda inner: plain_values(inner, take))
