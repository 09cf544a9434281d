"""Files as events of the local engine; those of Parquet on this machine are read by several threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...aggregators.errors import EngineError, QueryError
from .arrow import BATCH_ROWS, Readers, Source
from .conditions import columns_of
from .files import File, Files, one_line
from .formats import READERS, conformed, in_microseconds, unified
from .ipc import with_names
from .parquet_decoding import decoded

if TYPE_CHECKING:
    import pyarrow.dataset as ds

BUFFERED_BYTES = 64 << 20
"""Columns of row groups with more bytes are read through a buffer: slower, but never held whole."""

BUFFER_BYTES = 1 << 18
"""The bytes of each column's buffer."""


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
        try:
            with_names(data.schema)
        except UnicodeDecodeError as error:
            raise QueryError(f"{files} has a name that is no text: {error}") from error
        super().__init__(with_json_times(files, data) if files.format == "json" and files.schema is None else data)

    def count(self) -> int | None:
        """See :meth:`Source.count`: files of Parquet say it at their ends."""
        return int(self.data.count_rows()) if self.condition is None and self._is_local_parquet else None

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        """See :meth:`Source.readers`: None unless the files are of Parquet, on this machine, and have the columns."""
        if not self._is_local_parquet:
            return None
        text = [name for name in dictionaries if self.condition is None and self.schema.field(name).type == pa.string()]
        needed = list(dict.fromkeys([*columns, *columns_of(self.condition, self.schema)]))
        parts: list[dict[str, tuple[ds.ParquetFileFragment, list[int]]]] = []
        rows = BATCH_ROWS
        for file in self.data.get_fragments(self.condition):
            types = dict(zip(file.physical_schema.names, file.physical_schema.types, strict=True))
            if any(types.get(name) != self.schema.field(name).type for name in needed):
                return None
            for group in (file if self.condition is None else file.subset(self.condition, self.schema)).row_groups:
                if rows + group.num_rows > BATCH_ROWS:
                    parts.append({})
                    rows = 0
                parts[-1].setdefault(file.path, (file, []))[1].append(group.id)
                rows += group.num_rows
        # A single part is read by one thread, and so its columns by several threads of pyarrow.
        read = partial(self._row_groups, columns, needed, text, len(parts) == 1)
        # One thread more than cores: numpy holds the GIL for some of its work, and the other threads wait.
        return Readers([partial(read, part.values()) for part in parts], pa.cpu_count() + 1) if parts else None

    def _row_groups(
        self,
        columns: Sequence[str],
        needed: Sequence[str],
        text: Sequence[str],
        threads: bool,
        part: Iterable[tuple[ds.ParquetFileFragment, list[int]]],
    ) -> Iterator[pa.RecordBatch]:
        """The events of row groups of files, with some columns, text of them in the dictionaries of the files.

        The columns needed are these and those that the condition names.
        """
        for file, groups in part:
            for batch in readable(decoded_in(file, needed, text, groups, threads)):
                if self.condition is None:
                    yield batch
                else:
                    yield from pa.table(batch).filter(self.condition).select(columns).to_batches()
                del batch  # or it would be held while the next one is read

    @cached_property
    def _is_local_parquet(self) -> bool:
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem

        return isinstance(self.data.format, ds.ParquetFileFormat) and isinstance(self.data.filesystem, LocalFileSystem)

    def _scanned(self, columns: Sequence[str], **options: Any) -> pa.RecordBatchReader:
        import pyarrow.dataset as ds

        if isinstance(self.data.format, ds.IpcFileFormat):
            return self._checked(columns)
        if self._is_local_parquet:  # or what is read of a file is held until the whole file is read
            options |= {"fragment_scan_options": ds.ParquetFragmentScanOptions(pre_buffer=False)}
        found = super()._scanned(columns, **options)
        return pa.RecordBatchReader.from_batches(found.schema, readable(found))

    def _checked(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Events of Arrow files. A scanner of pyarrow's would cast and filter them before they can be checked."""
        import pyarrow.dataset as ds

        needed = dict.fromkeys([*columns, *columns_of(self.condition, self.schema)])
        schema = pa.schema([self.schema.field(name) for name in needed])
        events = pa.RecordBatchReader.from_batches(schema, self._of_arrow_files(schema))
        if self.condition is None:
            return events
        return ds.Scanner.from_batches(events, columns=list(columns), filter=self.condition).to_reader()

    def _of_arrow_files(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import pyarrow.dataset as ds

        arrow = READERS["arrow"]
        for part in self.data.get_fragments(self.condition):
            folders = ds.get_partition_keys(part.partition_expression)
            file = File(part.path, part.filesystem.get_file_info(part.path).size)
            groups = range(len(arrow.layout(part.filesystem, file).sizes))
            for batch in arrow.read(part.filesystem, file, groups, schema):
                yield conformed(batch, schema, folders, part.path)
                del batch  # or it would be held while the next one is read


def decoded_in(
    file: ds.ParquetFileFragment, columns: Sequence[str], text: Sequence[str], groups: Sequence[int], threads: bool
) -> Iterator[pa.RecordBatch]:
    """Columns of row groups of a file; see :func:`decoded`."""
    import pyarrow.parquet as pq

    large = max(file.metadata.row_group(number).total_byte_size for number in groups) > BUFFERED_BYTES
    with pq.ParquetFile(
        file.path,
        metadata=file.metadata,
        filesystem=file.filesystem,
        read_dictionary=text,
        pre_buffer=False,
        buffer_size=BUFFER_BYTES if large else 0,
    ) as opened:
        yield from decoded(opened, file.path, columns, groups, threads)


def readable(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches; EngineError where they cannot be read."""
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise EngineError(f"the events cannot be read: {one_line(error)}") from error


def with_json_times(files: Files, data: ds.Dataset) -> ds.Dataset:
    """Files of JSON with the types that hold the columns of all, times among them; pyarrow looks at the first only."""
    import pyarrow.dataset as ds

    types = in_microseconds(unified([READERS["json"].layout(data.filesystem, file) for file in files.listed()]))
    folders = [field for field in data.schema if field.name not in types.names]
    fragments = list(data.get_fragments())
    return ds.FileSystemDataset(fragments, pa.schema([*types, *folders]), data.format, data.filesystem)
