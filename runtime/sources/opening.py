"""Data of this process as Arrow takes it, in the columns that a query reads."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError, QueryError, require_text, shown
from ...aggregators.states.categories import Categories
from ...aggregators.states.nested import any_in
from ...aggregators.states.views import is_made, viewless, without_views
from ..columns.field_types import CATEGORIES, NOT_TAKEN, type_of_values
from .files import one_line
from .large_integers import WIDE

LIBRARIES = ("duckdb", "pandas", "polars")
"""Those whose tables can be asked for some columns."""

REFUSALS = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""What libraries raise where a column has no type in Arrow."""


def schema_of(data: Any) -> pa.Schema:
    """The columns of what speaks Arrow, column by column where it does not take all of them.

    Raises
    ------
    QueryError
        If it is no table of columns.
    """
    for name in names_in(data):
        require_text("the name of a column", name)
        if "\0" in name:  # the interface of C between libraries ends names there, and Polars the process
            raise QueryError(
                f"the column {name!r} of a {type(data).__module__}.{type(data).__name__} has a NUL in its name, which "
                "only tables of pyarrow keep; expected another name"
            )
    try:
        found = pa.RecordBatchReader.from_stream(data).schema
    except REFUSALS as error:
        if not hasattr(data, "columns"):
            raise QueryError(f"events are {shown(data)}, which is no table of columns; expected one") from error
        if library_of(data) not in LIBRARIES:
            raise QueryError(
                f"events are {shown(data)}, which Arrow does not take ({one_line(error)}); expected columns of a type "
                "each, under names of their own"
            ) from error
        names = [str(name) for name in data.columns]
        counts = Counter(names)
        fields = (_field(data, name, counts[name]) for name in names)
        found = pa.schema([*fields, *index_fields(data)])
    if library_of(data) == "polars":  # which gives the addresses of Python's objects
        objects = [name for name, type in data.schema.items() if str(type) == "Object"]
        found = pa.schema([_not_taken(each.name, "Python objects") if each.name in objects else each for each in found])
    return pa.schema(list(found))


def names_in(data: Any) -> Iterator[str]:
    """The names of the columns of a table; of Polars also those of fields, at whatever depth."""
    yield from map(str, getattr(data, "columns", ()))
    left = list(data.schema.values()) if library_of(data) == "polars" else []
    while left:
        kind = left.pop()
        yield from (each.name for each in getattr(kind, "fields", ()))
        left += [each.dtype for each in getattr(kind, "fields", ())]
        left += [kind.inner] if hasattr(kind, "inner") else []


def _not_taken(name: str, reason: object) -> pa.Field:
    return pa.field(name, pa.null(), metadata={NOT_TAKEN: one_line(ValueError(reason))})


def _field(data: Any, name: str, count: int) -> pa.Field:
    """A column as a field of a schema, with the reason where Arrow does not take it, or several have its name."""
    reason: object = f"{count} columns have that name"
    if count == 1:
        try:
            return stream_of(data, [name]).schema.field(name)
        except REFUSALS as error:
            plain = error.args and isinstance(error.args[0], str) and not isinstance(error, UnicodeError)
            reason = error.args[0] if plain else error
    return _not_taken(name, reason)


def index_fields(data: Any) -> list[pa.Field]:
    """The fields of the index of a data frame of pandas, if it has one that is among its columns."""
    if library_of(data) != "pandas":
        return []
    try:
        return list(pa.RecordBatchReader.from_stream(data[[]]).schema)
    except REFUSALS as error:
        named = [f"__index_level_{at}__" if name is None else str(name) for at, name in enumerate(data.index.names)]
        return [_not_taken(name, error) for name in named]


def library_of(data: Any) -> str:
    """The library that a table comes from, by its class; empty where it is none."""
    return type(data).__module__.partition(".")[0] if hasattr(data, "columns") else ""


def without_attributes(data: Any) -> Any:
    """A data frame of pandas without what is kept beside its columns, which need be no JSON: Arrow warns of that."""
    if library_of(data) == "pandas" and getattr(data, "attrs", None):
        data = data.copy(deep=False)
        data.attrs = {}
    return data


def some_of(data: Any, columns: Sequence[str]) -> Any:
    """Some columns of a data frame or a relation, or of its index; None where it is not known how to ask for them."""
    library = library_of(data)
    if library not in LIBRARIES:
        return None
    counts = Counter(map(str, data.columns))
    names = {str(name): name for name in data.columns}
    wanted = [names[name] for name in columns if name in names]
    if not wanted or any(counts[name] > 1 for name in columns):
        return None
    if library == "pandas":
        return data[wanted].reset_index(drop=True) if len(wanted) == len(columns) else data[wanted]
    if len(wanted) < len(columns):
        return None
    return data.select(*(map(sys.modules["duckdb"].ColumnExpression, wanted) if library == "duckdb" else wanted))


def stream_of(data: Any, columns: Sequence[str]) -> pa.RecordBatchReader:
    """What speaks Arrow as batches, with no other columns than those wanted, where it can be asked for some."""
    some = some_of(data, columns)
    return pa.RecordBatchReader.from_stream(data if some is None else some)


def opened(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same batches without views."""
    made = plain_schema(reader.schema)
    return reader if made == reader.schema else pa.RecordBatchReader.from_batches(made, map(without_views_in, reader))


def without_views_in(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows without views; the same batch where there are none."""
    made = plain_schema(batch.schema)
    if made == batch.schema:
        return batch
    return pa.RecordBatch.from_arrays(list(map(viewless, batch.columns)), schema=made)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """A schema without views."""
    return pa.schema([field.with_type(without_views(field.type)) for field in schema])


def of_few_digits(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches of DuckDB's; ColumnError where an integer has more digits than the decimals given for it."""
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if any_in(column.type, WIDE.equals):
                try:
                    column.validate(full=True)
                except pa.ArrowInvalid as error:
                    raise ColumnError(
                        f"the column {name!r} has an integer of more than 38 digits, the most of a decimal, as which "
                        "DuckDB gives its HUGEINT; expected fewer: cast it to DOUBLE or VARCHAR first"
                    ) from error
        yield batch
        del batch  # or it would be held while the next one is read


def no_rows(schema: pa.Schema) -> pa.Table:
    """A table without rows of a schema, to compute expressions of; null where Arrow makes no values of a type."""
    fields = [field if is_made(field.type) else field.with_type(pa.null()) for field in schema]
    return pa.schema(fields).empty_table()


def with_categories(data: Any, schema: pa.Schema) -> tuple[Any, pa.Schema]:
    """Data, and its schema with the categories of each ordered dictionary; of a reader its first batches are read."""
    if library_of(data) == "duckdb":
        known = {
            name: pa.array(type.children[0][1])
            for name, type in zip(data.columns, data.types, strict=True)
            if type.id == "enum"
        }
    elif library_of(data) == "polars":  # whose older versions export an Enum without its order
        known = {
            name: pa.array(dtype.categories.to_list(), pa.string())
            for name, dtype in data.schema.items()
            if dtype.__class__.__name__ == "Enum"
        }
    else:
        names = [each.name for each in schema if pa.types.is_dictionary(each.type) and each.type.ordered]
        names = [name for name in names if len(schema.get_all_field_indices(name)) == 1]
        if not names:
            return data, schema
        some: Iterable[pa.RecordBatch]
        if isinstance(data, pa.RecordBatchReader):
            some = list(_until_filled(data))
            data = pa.RecordBatchReader.from_batches(data.schema, itertools.chain(some, data))
        elif isinstance(data, pa.Table):
            some = data.select(names).unify_dictionaries().to_batches()
        elif hasattr(data, "scanner"):
            some = _until_filled(data.scanner(columns=names).to_batches())
        else:
            some = _until_filled(stream_of(data, names))
        known = {name: viewless(pa.nulls(0, schema.field(name).type.value_type)) for name in names}
        for batch in some:
            for name in names:
                if len(batch) and not len(known[name]):
                    known[name] = viewless(batch.column(name).dictionary).drop_null().unique()
    for name, values in known.items():
        at = schema.get_field_index(name)
        schema = schema.set(
            at, schema.field(at).with_metadata({CATEGORIES: Categories(values).__arrow_ext_serialize__()})
        )
    return data, schema


def in_one_order(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The same batches; ColumnError where one has the categories of a column in another order than its schema.

    Files, and batches of a stream, have dictionaries of their own.
    """
    known = {field.name: field for field in schema if CATEGORIES in (field.metadata or {})}
    for batch in batches:
        for at, name in enumerate(batch.schema.names):
            if name in known and len(batch) and pa.types.is_dictionary(batch.column(at).type):
                _require_order(known[name], viewless(batch.column(at).dictionary).drop_null().unique())
        yield batch
        del batch  # or it would be held while the next one is read


def _require_order(field: pa.Field, categories: pa.Array) -> None:
    """ColumnError where categories are in another order than those of a field, as far as these have them."""
    type = type_of_values(field)
    if isinstance(type, Categories):
        ranks = pc.index_in(categories.cast(type.values.type), type.values)
        categories, ranks = categories.filter(ranks.is_valid()), ranks.drop_null()
    else:
        ranks = pc.rank(categories)
    behind = np.flatnonzero(np.diff(ranks.to_numpy().astype(np.int64)) < 0)
    if behind.size:
        first, second = categories[int(behind[0])].as_py(), categories[int(behind[0]) + 1].as_py()
        raise ColumnError(
            f"the column {field.name!r} has its categories in several orders: {first!r} is before {second!r} in some "
            "of its dictionaries, and not in the first; expected one order, or values without one"
        )


def _until_filled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches until the first one that has rows."""
    for batch in batches:
        yield batch
        if len(batch):
            return
