"""Files as events of the local engine; those of Parquet on this machine are read by several threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import EngineError, QueryError
from ..tuning import READ_ROWS
from .arrow import Readers, Source
from .conditions import applied, columns_of, filtered
from .files import File, Files
from .formats import READERS, conformed, in_microseconds, reason
from .ipc import with_names
from .opening import in_one_order
from .parquet_decoding import decoded
from .parquet_opening import opened, with_instants
from .types_of_files import of_the_first, unified

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from pyarrow.fs import FileSystem

BUFFERED_BYTES = 64 << 20
"""Columns of row groups with more bytes are read through a buffer: slower, but never held whole."""

BUFFER_BYTES = 1 << 18
"""The bytes of each column's buffer."""


ORC_HINT = "; pyarrow reads times of ORC from 1677 to 2262: expected such times, Parquet, or Spark, which reads others"

# Footers are small and may be far away: most of the time goes into waiting for them.
FOOTER_THREADS = 16


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
        data, self.apart = typed(files, data) if files.schema is None else (data, {})
        super().__init__(data)

    def count(self) -> int | None:
        """See :meth:`Source.count`: files of Parquet say it at their ends."""
        return int(self.data.count_rows()) if self.condition is None and self._is_local_parquet else None

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        """See :meth:`Source.readers`: None unless the files are of Parquet, on this machine, and have the columns."""
        if not self._is_local_parquet:
            return None
        text = [name for name in dictionaries if self.condition is None and self.schema.field(name).type == pa.string()]
        needed = self._input_columns(columns)
        parts: list[dict[str, tuple[ds.ParquetFileFragment, list[int]]]] = []
        rows = 0
        for file in self.data.get_fragments(self.condition):
            own = with_instants(file.physical_schema, file.metadata)
            types = dict(zip(own.names, own.types, strict=True))
            if any(types.get(name) != self.schema.field(name).type for name in needed):
                return None
            for group in (file if self.condition is None else file.subset(self.condition, self.schema)).row_groups:
                if not parts or rows + group.num_rows > READ_ROWS:
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
        names: Sequence[str],
        text: Sequence[str],
        threads: bool,
        part: Iterable[tuple[ds.ParquetFileFragment, list[int]]],
    ) -> Iterator[pa.RecordBatch]:
        """The events of row groups of files, with some columns, text of them in the dictionaries of the files.

        The columns needed are these and those that the condition names.
        """
        for file, groups in part:
            found = self._readable((), decoded_in(file, names, text, groups, threads))
            for batch in in_one_order(found, self.schema):
                if self.condition is None:
                    yield batch
                else:
                    with applied(self.condition):
                        yield from pa.Table.from_batches([batch]).filter(self.condition).select(columns).to_batches()
                del batch  # or it would be held while the next one is read

    def _input_columns(self, columns: Sequence[str]) -> list[str]:
        """Some columns and those of the condition; QueryError where no type holds one of them in all files."""
        needed = list(dict.fromkeys([*columns, *columns_of(self.condition, self.schema)]))
        for name in needed:
            if name in self.apart:
                raise QueryError(self.apart[name])
        return needed

    @cached_property
    def _is_local_parquet(self) -> bool:
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem

        return isinstance(self.data.format, ds.ParquetFileFormat) and isinstance(self.data.filesystem, LocalFileSystem)

    def _scanned(self, columns: Sequence[str], condition: pc.Expression | None, **options: Any) -> pa.RecordBatchReader:
        import pyarrow.dataset as ds

        if isinstance(self.data.format, ds.IpcFileFormat):
            return self._checked(columns, condition)
        if self._is_local_parquet:  # or what is read of a file is held until the whole file is read
            options |= {"fragment_scan_options": ds.ParquetFragmentScanOptions(pre_buffer=False)}
        needed = self._input_columns(columns)
        found = super()._scanned(columns, condition, **options)
        return pa.RecordBatchReader.from_batches(found.schema, self._readable(needed, found))

    def _readable(self, names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches; EngineError where they cannot be read, with the column of those named that is to blame."""
        try:
            yield from batches
        except (pa.ArrowException, OSError) as error:
            schema = pa.schema([self.schema.field(name) for name in names])
            why = reason(error, schema, (self.data.scanner(columns=[name]).to_batches() for name in names))
            hint = ORC_HINT if "ORC timestamp" in why else ""
            raise EngineError(f"the events cannot be read: {why}{hint}") from error

    def _checked(self, columns: Sequence[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        """Events of Arrow files. A scanner of pyarrow's would cast and filter them before they can be checked."""
        schema = pa.schema([self.schema.field(name) for name in self._input_columns(columns)])
        events = pa.RecordBatchReader.from_batches(schema, self._of_arrow_files(schema))
        return events if condition is None else filtered(events, columns, condition)

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
    large = max(file.metadata.row_group(number).total_byte_size for number in groups) > BUFFERED_BYTES
    with opened(
        file.path,
        metadata=file.metadata,
        filesystem=file.filesystem,
        read_dictionary=text,
        pre_buffer=False,
        buffer_size=BUFFER_BYTES if large else 0,
    ) as reader:
        yield from decoded(reader, file.path, columns, groups, threads)


def typed(files: Files, data: ds.Dataset) -> tuple[ds.Dataset, dict[str, str]]:
    """Files with the types in which tasks on Spark read them too; why columns have no type that holds those of all."""
    import pyarrow.dataset as ds

    fragments = list(data.get_fragments())
    schema, apart = guessed(files, data.filesystem) if files.format in ("csv", "json") else of_the_first(own(fragments))
    known = {*schema.names}
    schema = pa.schema([*schema, *(field for field in data.schema if field.name not in known)])  # and those of folders
    same = schema.equals(data.schema)
    return data if same else ds.FileSystemDataset(fragments, schema, data.format, data.filesystem), apart


def own(files: Sequence[ds.FileFragment]) -> dict[str, pa.Schema]:
    """The columns of files that have types of their own, by path."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    def columns(file: Any) -> pa.Schema:
        found: pa.Schema = file.physical_schema
        return with_instants(found, file.metadata) if isinstance(file.format, ds.ParquetFileFormat) else found

    paths = [file.path for file in files]
    if isinstance(files[0].filesystem, LocalFileSystem):
        return dict(zip(paths, map(columns, files), strict=True))
    with ThreadPoolExecutor(min(FOOTER_THREADS, len(files))) as threads:
        return dict(zip(paths, threads.map(columns, files), strict=True))


def guessed(files: Files, system: FileSystem) -> tuple[pa.Schema, dict[str, str]]:
    """The columns of files of text: of CSV by the first file, of JSON by all, whose texts may be times."""
    reader, found = READERS[files.format], files.listed()
    some = found[:1] if files.format == "csv" else found
    return in_microseconds(unified({file.path: reader.layout(system, file).schema for file in some})), {}
