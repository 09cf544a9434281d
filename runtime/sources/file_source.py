"""Files as events of the local engine; those of Parquet on this machine are read by several threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import EngineError
from .arrow import BATCH_ROWS, Reader, Readers, Source, as_reader
from .conditions import columns_of
from .files import Files, one_line
from .formats import READERS, in_microseconds, unified
from .parquet_decoding import Decoder, by_polars

if TYPE_CHECKING:
    import pyarrow.dataset as ds

BUFFERED_BYTES = 64 << 20
"""Columns of row groups with more bytes are read through a buffer: a tenth slower, and never held whole."""

BUFFER_BYTES = 1 << 18
"""The buffer of each column."""


class FileSource(Source):
    """The events in files.

    Parameters
    ----------
    files
        Where they are.

    Raises
    ------
    QueryError
        If they cannot be read.
    """

    def __init__(self, files: Files) -> None:
        data = files.dataset()
        super().__init__(with_json_times(files, data) if files.format == "json" and files.schema is None else data)

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        """See :meth:`Source.readers`: None unless the files are of Parquet and on this machine.

        Where Polars decodes all columns, its threads decode row groups while those before them are accumulated. Else
        each reader decodes some row groups when it is called.
        """
        if not self._is_local_parquet:
            return None
        decoded, cores = self._decoded_ahead(columns), pa.cpu_count()
        if decoded is not None:
            return Readers(map(as_reader, decoded), cores)
        # One thread more than cores: numpy holds the interpreter for some of its work, and the other threads wait.
        readers = self._row_group_readers(columns, dictionaries)
        return Readers(readers, cores + 1) if readers else None

    @cached_property
    def _is_local_parquet(self) -> bool:
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem

        return isinstance(self.data.format, ds.ParquetFileFormat) and isinstance(self.data.filesystem, LocalFileSystem)

    def _decoded_ahead(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch] | None:
        cores = pa.cpu_count()
        read = RowGroups(self.schema, columns, self.condition, threads=cores > 1, ahead=cores)
        files = []
        for file in self.data.get_fragments(self.condition):  # the first that is not decoded ahead ends the search
            kept = file if self.condition is None else file.subset(self.condition, self.schema)
            if not read.decodes_ahead(kept):
                return None
            files.append(kept)
        return read(files) if files else None

    def _row_group_readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> list[Reader]:
        data = with_dictionaries(self.data, dictionaries) if self.condition is None else self.data
        parts: list[list[ds.Fragment]] = [[]]
        rows = 0
        for file in data.get_fragments(self.condition):
            for group in file.split_by_row_group(self.condition, data.schema):
                parts[-1].append(group)
                rows += sum(each.num_rows for each in group.row_groups)
                if rows >= BATCH_ROWS:
                    parts.append([])
                    rows = 0
        parts = [groups for groups in parts if groups]
        # A single part is read by one thread, and so its columns by several threads of pyarrow.
        read = RowGroups(data.schema, columns, self.condition, threads=len(parts) == 1, ahead=0)
        return [partial(read, groups) for groups in parts]

    def _scanned(self, columns: Sequence[str], **options: Any) -> pa.RecordBatchReader:
        found = super()._scanned(columns, **(unbuffered() if self._is_local_parquet else {}))
        return pa.RecordBatchReader.from_batches(found.schema, readable(found))


@dataclass(frozen=True)
class RowGroups:
    """Reads row groups of Parquet on this machine.

    Parameters
    ----------
    schema
        The columns of the whole data set.
    columns
        The names of those that are wanted.
    condition
        What must be true of an event.
    threads
        Whether threads of pyarrow decode columns side by side.
    ahead
        How much Polars decodes ahead; see :class:`Decoder`.
    """

    schema: pa.Schema
    columns: Sequence[str]
    condition: pc.Expression | None
    threads: bool
    ahead: int

    def __call__(self, groups: Iterable[ds.ParquetFileFragment]) -> Iterator[pa.RecordBatch]:
        """The events of some row groups that meet the condition, in their order."""
        return readable(itertools.chain.from_iterable(map(self._read, groups)))

    def _read(self, group: ds.ParquetFileFragment) -> Iterator[pa.RecordBatch]:
        return self._decoded(group) if self._is_plain(group) else self._scanned(group)

    def decodes_ahead(self, groups: ds.ParquetFileFragment) -> bool:
        """Whether Polars decodes all wanted columns of some row groups of a file."""
        if not self._is_plain(groups):
            return False
        numbers = [each.id for each in groups.row_groups]
        return by_polars(groups.metadata, groups.physical_schema, numbers, self._needed) == self._needed

    @cached_property
    def _needed(self) -> list[str]:
        """The columns wanted and those that the condition names."""
        return list(dict.fromkeys([*self.columns, *columns_of(self.condition, self.schema)]))

    def _is_plain(self, group: ds.ParquetFileFragment) -> bool:
        """Whether a file has the columns itself, with the types of the data set."""
        own = group.physical_schema
        return all(
            own.get_all_field_indices(name) and own.field(name) == self.schema.field(name) for name in self._needed
        )

    def _decoded(self, group: ds.ParquetFileFragment) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        large = max((each.total_byte_size for each in group.row_groups), default=0) > BUFFERED_BYTES
        with pq.ParquetFile(
            group.path,
            metadata=group.metadata,
            filesystem=group.filesystem,
            read_dictionary=list(group.format.read_options.dictionary_columns),
            pre_buffer=False,
            buffer_size=BUFFER_BYTES if large else 0,
        ) as file:
            decoder = Decoder(file, group.path, self._needed, BATCH_ROWS, self.threads, self.ahead)
            for batch in decoder.batches([each.id for each in group.row_groups]):
                if self.condition is None:
                    yield batch
                else:
                    yield from pa.table(batch).filter(self.condition).select(self.columns).to_batches()
                del batch  # or it would be held while the next one is read

    def _scanned(self, group: ds.ParquetFileFragment) -> Iterator[pa.RecordBatch]:
        """With columns that the file lacks or has as another type: the whole row group is decoded at once."""
        options = {"batch_size": BATCH_ROWS, "use_threads": False} | unbuffered()
        scanner = group.scanner(schema=self.schema, columns=list(self.columns), filter=self.condition, **options)
        yield from scanner.to_reader()


def readable(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches; EngineError where they cannot be read."""
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise EngineError(f"the events cannot be read: {one_line(error)}") from error


def unbuffered() -> dict[str, Any]:
    """Options of a scan that does not hold what it has read of a file until the whole file is read."""
    import pyarrow.dataset as ds

    return {"fragment_scan_options": ds.ParquetFragmentScanOptions(pre_buffer=False)}


def with_json_times(files: Files, data: ds.Dataset) -> ds.Dataset:
    """Files of JSON with the types that hold the columns of all, times among them; pyarrow looks at the first only."""
    import pyarrow.dataset as ds

    types = in_microseconds(unified([READERS["json"].layout(data.filesystem, file) for file in files.listed()]))
    folders = [field for field in data.schema if field.name not in types.names]
    fragments = list(data.get_fragments())
    return ds.FileSystemDataset(fragments, pa.schema([*types, *folders]), data.format, data.filesystem)


def with_dictionaries(data: ds.Dataset, columns: Sequence[str]) -> ds.Dataset:
    """Local files of Parquet, with columns that are text in every file left in the dictionaries of the files."""
    import pyarrow.dataset as ds

    files = list(data.get_fragments())
    text = [
        name
        for name in columns
        if all(
            name in schema.names and schema.field(name).type == pa.string()
            for schema in (data.schema, *(file.physical_schema for file in files))
        )
    ]
    if not text:
        return data
    format = ds.ParquetFileFormat(dictionary_columns=text)
    kept = [format.make_fragment(file.path, file.filesystem, file.partition_expression) for file in files]
    coded = pa.dictionary(pa.int32(), pa.string())
    fields = [field.with_type(coded) if field.name in text else field for field in data.schema]
    return ds.FileSystemDataset(kept, pa.schema(fields), format, data.filesystem, data.partition_expression)
