"""Formats of files: how each is read, a group of rows at a time."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError, EngineError, QueryError
from ..tuning import READ_ROWS
from .conditions import all_of, bounds
from .files import CSV, TITLES, File, one_line
from .ipc import read_batches, with_names
from .large_integers import doubtful, type_of_texts, with_wide_integers
from .opening import plain_schema, without_views_in
from .parquet_decoding import decoded
from .parquet_opening import columns_of, opened

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

BLOCK_BYTES = 1 << 24
"""The bytes of CSV that are read at a time; the types of columns are those that they have in the first block."""

JSON_BLOCK_BYTES = 1 << 20
"""The bytes of JSON by which pyarrow's data sets know the types of columns."""

SAMPLE_ROWS = 1000
"""The rows of JSON by which a column of text is found to have times."""

ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?)?")


Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Layout:
    """The layout of a file: its columns, row groups and footer.

    Parameters
    ----------
    schema
        Its columns, as pyarrow reads them.
    sizes
        The bytes of each row group.
    metadata
        The footer of a Parquet file.
    """

    schema: pa.Schema
    sizes: tuple[int, ...]
    metadata: Any = None

    def weights(self, columns: Sequence[str]) -> list[int]:
        """The bytes of each row group that are read for some columns."""
        if self.metadata is None:
            return list(self.sizes)
        return [sum(chunk.total_compressed_size for chunk, _ in group) for group in self._chunks(columns)]

    def guarantees(self, columns: pa.Schema) -> list[pc.Expression | None]:
        """The condition that some columns are known to meet in each row group."""
        if self.metadata is None:
            return [None] * len(self.sizes)
        return [
            all_of([bounds(chunk.statistics, columns.field(name)) for chunk, name in group])
            for group in self._chunks(columns.names)
        ]

    def _chunks(self, columns: Sequence[str]) -> Iterator[list[tuple[Any, str]]]:
        """The column chunks of some columns in each row group, with their names."""
        leaves = [self.metadata.schema.column(at).path for at in range(self.metadata.num_columns)]
        for group in map(self.metadata.row_group, range(self.metadata.num_row_groups)):
            yield [(group.column(at), leaf) for at, leaf in enumerate(leaves) if leaf in columns]


class Format(ABC):
    """How files of a format are read, in row groups: those of Parquet, or what another format has like them."""

    row_group: str
    """The format's name of a row group."""

    def layout(self, system: FileSystem, file: File) -> Layout:
        """The layout of a file; QueryError where it cannot be read."""
        try:
            layout = self._layout(system, file)
            return replace(layout, schema=plain_schema(layout.schema))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise QueryError(f"the file {file.path!r} cannot be read as {self}: {one_line(error)}") from error

    def read(self, system: FileSystem, file: File, row_groups: Sequence[int], columns: pa.Schema) -> Batches:
        """The events in some row groups of a file, in their order.

        Parameters
        ----------
        system, file
            Where they are.
        row_groups
            Their numbers.
        columns
            The columns wanted: those that the file has come with its own types, or with these where it has none. Text
            may come in a dictionary where the type here is one.

        Raises
        ------
        EngineError
            If the file cannot be read, or has changed since its layout was read.
        """
        try:
            yield from map(without_views_in, self._read(system, file, row_groups, columns))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            alone = [pa.schema([field]) for field in columns]
            why = reason(error, columns, map(partial(self._read, system, file, row_groups), alone))
            raise EngineError(f"the file {file.path!r} cannot be read as {self}: {why}") from error

    @abstractmethod
    def _layout(self, system: FileSystem, file: File) -> Layout: ...

    @abstractmethod
    def _read(self, system: FileSystem, file: File, row_groups: Sequence[int], columns: pa.Schema) -> Batches: ...

    def __str__(self) -> str:
        return TITLES[type(self).__name__.lower()]


class Parquet(Format):
    """Row groups; the bytes of those columns only that are read."""

    row_group = "row group"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        import pyarrow.parquet as pq

        with system.open_input_file(file.path) as opened:
            metadata = pq.read_metadata(opened)
        return Layout(columns_of(metadata), (), metadata)

    def _read(self, system: FileSystem, file: File, row_groups: Sequence[int], columns: pa.Schema) -> Batches:
        import pyarrow.parquet as pq
        from pyarrow.fs import LocalFileSystem

        far = not isinstance(system, LocalFileSystem)  # one request for all columns of remote files
        with _opened(system, file) as source:
            metadata = pq.read_metadata(source)
            leaves = map(metadata.schema.column, range(metadata.num_columns))
            text = {leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"}
            coded = [field.name for field in columns if pa.types.is_dictionary(field.type) and field.name in text]
            reader = opened(source, metadata=metadata, read_dictionary=coded, pre_buffer=far)
            threads = pa.cpu_count() > 1
            there = {*reader.schema_arrow.names}
            present = [name for name in columns.names if name in there]
            yield from decoded(reader, None if far else file.path, present, row_groups, threads)


class Orc(Format):
    """Stripes, taken to be of equal size."""

    row_group = "stripe"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        from pyarrow.orc import ORCFile

        with system.open_input_file(file.path) as opened:
            found = ORCFile(opened)
            return Layout(found.schema, _evenly(file.size, found.nstripes))

    def _read(self, system: FileSystem, file: File, row_groups: Sequence[int], columns: pa.Schema) -> Batches:
        from pyarrow.orc import ORCFile

        with _opened(system, file) as source:
            reader = ORCFile(source)
            there = {*reader.schema.names}
            present = [name for name in columns.names if name in there]
            for number in row_groups:
                yield from _cut(reader.read_stripe(number, columns=present))


class Arrow(Format):
    """Record batches of an IPC file, taken to be of equal size."""

    row_group = "record batch"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        with system.open_input_file(file.path) as opened, pa.ipc.open_file(opened) as reader:
            return Layout(with_names(reader.schema), _evenly(file.size, reader.num_record_batches))

    def _read(self, system: FileSystem, file: File, row_groups: Sequence[int], columns: pa.Schema) -> Batches:
        with _opened(system, file) as source:
            for batch in read_batches(source, row_groups, columns.names):
                yield from _cut(batch)
                del batch  # or it would be held while the next one is read


class Csv(Format):
    """Whole files: where a line starts is not known before all lines above it are read."""

    row_group = "file"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        with self._reader(system, file) as reader:
            schema = reader.schema
            first = next(iter(reader), None)
        names = [] if first is None else doubtful(first)
        if names:
            texts = {"include_columns": names, "column_types": dict.fromkeys(names, pa.string())}
            with self._reader(system, file, **texts) as reader:
                for name, column in zip(names, next(iter(reader)).columns, strict=True):
                    field = schema.field(name)
                    schema = schema.set(schema.names.index(name), field.with_type(type_of_texts(column) or field.type))
        return Layout(schema, (file.size,))

    def _read(self, system: FileSystem, file: File, row_groups: Sequence[int], columns: pa.Schema) -> Batches:
        wanted = {"include_columns": columns.names, "column_types": columns, "include_missing_columns": True}
        with self._reader(system, file, **wanted) as reader:
            yield from reader

    def _reader(self, system: FileSystem, file: File, **wanted: Any) -> Any:
        import pyarrow.csv as csv

        reading = csv.ReadOptions(use_threads=pa.cpu_count() > 1, block_size=BLOCK_BYTES)
        source = system.open_input_stream(file.path)  # unpacked, where its name says that it is packed
        return csv.open_csv(source, reading, convert_options=csv.ConvertOptions(**CSV, **wanted))


class Json(Format):
    """Whole files, as for CSV."""

    row_group = "file"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        """Columns whose first texts are all ISO times are timestamps: pyarrow takes no zones or fractions."""
        with system.open_input_stream(file.path) as stream:
            block = stream.read(JSON_BLOCK_BYTES)
        whole = block if len(block) < JSON_BLOCK_BYTES else block[: block.rfind(b"\n") + 1]
        schema = with_wide_integers(self._dataset(system, file).schema, whole)
        maybe = [field for field in schema if pa.types.is_timestamp(field.type) or pa.types.is_string(field.type)]
        texts = pa.schema([field.with_type(pa.string()) for field in maybe])
        sample = self._dataset(system, file, texts).head(SAMPLE_ROWS)
        for field in maybe:
            matches = [ISO_TIME.fullmatch(text) for text in sample[field.name].to_pylist() if text is not None]
            if matches and all(match and match[1] for match in matches):
                zone = "UTC" if any(match and match[4] for match in matches) else None
                field = field.with_type(pa.timestamp("us", zone))
                schema = schema.set(schema.get_field_index(field.name), field)
        return Layout(schema, (file.size,))

    def _read(self, system: FileSystem, file: File, row_groups: Sequence[int], columns: pa.Schema) -> Batches:
        threads = pa.cpu_count() > 1
        yield from self._dataset(system, file, columns).to_batches(batch_size=READ_ROWS, use_threads=threads)

    def _dataset(self, system: FileSystem, file: File, schema: pa.Schema | None = None) -> Any:
        import pyarrow.dataset as ds

        return ds.dataset(file.path, schema=schema, format="json", filesystem=system)


READERS: dict[str, Format] = {"parquet": Parquet(), "orc": Orc(), "arrow": Arrow(), "csv": Csv(), "json": Json()}


def conformed(batch: pa.RecordBatch, schema: pa.Schema, partition: Mapping[str, Any], file: str) -> pa.RecordBatch:
    """A batch of a file with the columns of a schema: what the file lacks is in its folders' names, or null.

    Raises
    ------
    ColumnError
        If a column has times in finer units than those of the schema.
    EngineError
        If a column is not of a type that can be read as that of the schema.
    """
    columns, there = [], {*batch.schema.names}
    for field in schema:
        if field.name in partition:
            columns.append(as_type(pa.repeat(partition[field.name], batch.num_rows), field.type))
        elif field.name not in there:
            columns.append(pa.nulls(batch.num_rows, field.type))
        else:
            column = batch.column(field.name)
            try:
                columns.append(as_type(column, field.type))
            except pa.ArrowException as error:
                if (why := one_line(error)).partition(":")[0].endswith("would lose data"):
                    raise ColumnError(
                        f"the column {field.name!r} of {file!r} ({column.type}) has digits below a microsecond; "
                        "expected whole microseconds: round it first"
                    ) from error
                raise EngineError(
                    f"the column {field.name!r} of {file!r} is {column.type} and cannot be read as {field.type}: {why}"
                ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column as another type, with a dictionary where that has one."""
    if column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        return as_type(column, kind.value_type).dictionary_encode()
    return column.cast(kind)


def reason(error: Exception, columns: pa.Schema, alone: Iterable[Iterable[object]]) -> str:
    """Why events cannot be read, with the column that is to blame, where it is one.

    Parameters
    ----------
    error
        What pyarrow says.
    columns
        What was read.
    alone
        The values of each of these columns, to be read once more.
    """
    why = one_line(error)
    if isinstance(error, pa.ArrowInvalid):
        for field, values in zip(columns, alone, strict=True):
            try:
                for _ in values:
                    pass
            except pa.ArrowInvalid:
                return f"the column {field.name!r} ({field.type}): {why}"
            except (pa.ArrowException, OSError):
                break
    return why


def in_microseconds(schema: pa.Schema) -> pa.Schema:
    """A schema with times in microseconds, as Spark has them, and text where only nulls are known."""
    return pa.schema([field.with_type(_in_microseconds(field.type)) for field in schema])


def _in_microseconds(type: pa.DataType) -> pa.DataType:
    if pa.types.is_null(type):
        return pa.string()
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", type.tz)
    return pa.duration("us") if pa.types.is_duration(type) else type


def _evenly(size: int, row_groups: int) -> tuple[int, ...]:
    return (size // max(row_groups, 1),) * row_groups


def _cut(rows: pa.RecordBatch) -> Batches:
    for start in range(0, rows.num_rows, READ_ROWS):
        yield rows.slice(start, READ_ROWS)


def _opened(system: FileSystem, file: File) -> Any:
    source = system.open_input_file(file.path)
    if source.size() != file.size:
        found = source.size()
        source.close()
        raise EngineError(
            f"the file {file.path!r} has changed since the query was planned: it has {found} bytes, and had {file.size}"
        )
    return source
