"""How files of Parquet are opened: what every reader of them tells pyarrow, so that all read the same values.

Times of 96 bits, which Spark writes unless it is told otherwise, are instants in microseconds, as Spark has them. By
itself pyarrow gives them no zone, and makes wrapped nanoseconds of those before 1677 or after 2262.

Known to be wrong: such times before 1970 with a time of day in files of pyarrow up to 22, which wrote them with
negative nanoseconds. Arrow takes these for large ones in microseconds, and is right in nanoseconds only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...aggregators.states.memory import memory
from ...aggregators.states.nested import any_in, with_inner

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

INT96 = "INT96"
INSTANT = pa.timestamp("us", "UTC")
OPTIONS = {"coerce_int96_timestamp_unit": "us"}

MOST_ROWS, FEW_ROWS = 100, 1 << 20
"""Rows of partials for each byte of a row group, and how many it may have whatever its bytes are.

Partials of a thousand keys at the same thousand times, whose states are all equal, have 4 in a byte.
"""

VALUE_BYTES = 4
"""The fewest bytes that a value of a list takes in memory, about."""


def opened(source: Any, **options: Any) -> pq.ParquetFile:
    """A file of Parquet; times of 96 bits come without their zone, which :func:`with_instants` gives them."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(source, **OPTIONS, **options)


def require_small(footer: pq.FileMetaData, groups: Iterable[int]) -> None:
    """OSError where a few bytes of partials say that they are more rows, or values of lists, than memory has room for.

    ArrowException if there is no such row group.
    """
    for group in map(footer.row_group, groups):
        columns = [group.column(at) for at in range(group.num_columns)]
        size, values = sum(each.total_compressed_size for each in columns), max(each.num_values for each in columns)
        if group.num_rows > max(FEW_ROWS, MOST_ROWS * size) or values * VALUE_BYTES > (memory() or 1 << 62):
            raise OSError(f"{size} bytes say that they have {group.num_rows} rows of {values} values")


def parquet_format(**options: Any) -> ds.ParquetFileFormat:
    """The format of data sets whose files are opened in the same way."""
    import pyarrow.dataset as ds

    return ds.ParquetFileFormat(**OPTIONS, **options)


def reopened(data: ds.Dataset) -> ds.Dataset:
    """A user's data set, with its files opened in the same way where pyarrow would wrap their times of 96 bits."""
    import pyarrow.dataset as ds

    usual = isinstance(data, ds.FileSystemDataset) and isinstance(data.format, ds.ParquetFileFormat)
    if (
        not usual
        or data.format.read_options.coerce_int96_timestamp_unit != "ns"
        or not any(any_in(field.type, pa.types.is_timestamp) for field in data.schema)
    ):
        return data
    files = list(data.get_fragments())
    found = columns_of(files[0].metadata) if files else data.schema
    as_files_have = dict(zip(found.names, found.types, strict=True))
    schema = pa.schema([each.with_type(as_files_have.get(each.name, each.type)) for each in data.schema])
    if schema.equals(data.schema):
        return data
    format = parquet_format(dictionary_columns=data.format.read_options.dictionary_columns)
    again = [
        format.make_fragment(
            file.path,
            file.filesystem,
            partition_expression=file.partition_expression,
            row_groups=[group.id for group in file.row_groups],
        )
        for file in files
    ]
    return ds.FileSystemDataset(again, schema, format, data.filesystem)


def columns_of(metadata: pq.FileMetaData) -> pa.Schema:
    """The columns of a file by its footer, with the types in which they are read."""
    return with_instants(metadata.schema.to_arrow_schema(), metadata)


def with_instants(schema: pa.Schema, metadata: pq.FileMetaData) -> pa.Schema:
    """The columns of a file as pyarrow has them, with a zone for times of 96 bits, nested ones too."""
    if not any(any_in(field.type, pa.types.is_timestamp) for field in schema):
        return schema
    leaves = [metadata.schema.column(at).physical_type for at in range(metadata.num_columns)]
    if INT96 not in leaves:
        return schema
    rest = iter(leaves)
    return pa.schema([field.with_type(_with_instants(field.type, rest)) for field in schema])


def _with_instants(type: pa.DataType, leaves: Iterator[str]) -> pa.DataType:
    """A type with instants for times of 96 bits; takes the leaves of its columns from those of the file."""
    if pa.types.is_nested(type):
        return with_inner(type, lambda inner: _with_instants(inner, leaves))
    return INSTANT if next(leaves) == INT96 else type
