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
from .arrow import BATCH_ROWS, Readers, Source
from .conditions import columns_of
from .files import Files, one_line
from .formats import READERS, in_microseconds, unified
from .parquet_decoding import decoded

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
        """See :meth:`Source.readers`: None unless the files are of Parquet and on this machine."""
        if not self._is_local_parquet:
            return None
        data = with_dictionaries(self.data, dictionaries) if self.condition is None else self.data
        parts: list[list[ds.ParquetFileFragment]] = []
        rows = BATCH_ROWS
        for file in data.get_fragments(self.condition):
            for group in file.split_by_row_group(self.condition, data.schema):
                own = sum(each.num_rows for each in group.row_groups)
                if rows + own > BATCH_ROWS:
                    parts.append([])
                    rows = 0
                parts[-1].append(group)
                rows += own
        # A single part is read by one thread, and so its columns by several threads of pyarrow.
        read = RowGroups(data.schema, columns, self.condition, threads=len(parts) == 1)
        # One thread more than cores: numpy holds the interpreter for some of its work, and the other threads wait.
        return Readers([partial(read, groups) for groups in parts], pa.cpu_count() + 1) if parts else None

    @cached_property
    def _is_local_parquet(self) -> bool:
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem

        return isinstance(self.data.format, ds.ParquetFileFormat) and isinstance(self.data.filesystem, LocalFileSystem)

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
    """

    schema: pa.Schema
    columns: Sequence[str]
    condition: pc.Expression | None
    threads: bool

    def __call__(self, groups: Iterable[ds.ParquetFileFragment]) -> Iterator[pa.RecordBatch]:
        """The events of some row groups that meet the condition, in their order."""
        return readable(self._read(groups))

    def _read(self, groups: Iterable[ds.ParquetFileFragment]) -> Iterator[pa.RecordBatch]:
        for _, of_file in itertools.groupby(groups, lambda group: group.path):
            file, *more = of_file
            if self._is_plain(file):
                yield from self._decoded(file, [each.id for group in (file, *more) for each in group.row_groups])
            else:
                for group in (file, *more):
                    yield from self._scanned(group)

    @cached_property
    def _needed(self) -> list[str]:
        """The columns wanted and those that the condition names."""
        return list(dict.fromkeys([*self.columns, *columns_of(self.condition, self.schema)]))

    def _is_plain(self, file: ds.ParquetFileFragment) -> bool:
        """Whether a file has the columns itself, with the types of the data set."""
        own = file.physical_schema
        return all(
            own.get_all_field_indices(name) and own.field(name) == self.schema.field(name) for name in self._needed
        )

    def _decoded(self, file: ds.ParquetFileFragment, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        large = max(file.metadata.row_group(number).total_byte_size for number in groups) > BUFFERED_BYTES
        with pq.ParquetFile(
            file.path,
            metadata=file.metadata,
            filesystem=file.filesystem,
            read_dictionary=list(file.format.read_options.dictionary_columns),
            pre_buffer=False,
            buffer_size=BUFFER_BYTES if large else 0,
        ) as opened:
            for batch in decoded(opened, file.path, self._needed, groups, self.threads):
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
