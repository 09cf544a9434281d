"""Formats of files: the pieces that each can be read in, what these cost, and how they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import EngineError, QueryError
from .arrow import BATCH_ROWS
from .conditions import all_of, bounds
from .files import CSV, File, one_line
from .parquet_decoding import Decoder

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

BLOCK_BYTES = 1 << 24
"""So much text is read at a time; the types of columns are those that they have in the first block."""


@dataclass(frozen=True)
class Layout:
    """What a file says about itself.

    Parameters
    ----------
    schema
        Its columns, as pyarrow reads them.
    sizes
        The bytes of each piece.
    metadata
        The footer of a Parquet file.
    """

    schema: pa.Schema
    sizes: tuple[int, ...]
    metadata: Any = None

    def weights(self, columns: Sequence[str]) -> list[int]:
        """The bytes of each piece that are read for some columns."""
        if self.metadata is None:
            return list(self.sizes)
        leaves = [self.metadata.schema.column(at).path for at in range(self.metadata.num_columns)]
        at = [place for place, leaf in enumerate(leaves) if leaf in columns]
        groups = map(self.metadata.row_group, range(self.metadata.num_row_groups))
        return [sum(group.column(place).total_compressed_size for place in at) for group in groups]

    def guarantees(self, columns: pa.Schema) -> list[pc.Expression | None]:
        """What is known of some columns of each piece."""
        if self.metadata is None:
            return [None] * len(self.sizes)
        leaves = [self.metadata.schema.column(at).path for at in range(self.metadata.num_columns)]
        at = [(place, columns.field(leaf)) for place, leaf in enumerate(leaves) if leaf in columns.names]
        groups = map(self.metadata.row_group, range(self.metadata.num_row_groups))
        return [all_of([bounds(group.column(place).statistics, field) for place, field in at]) for group in groups]


class Format(ABC):
    """How files of a format are read."""

    piece: str
    """What a piece is called."""

    def layout(self, system: FileSystem, file: File) -> Layout:
        """What a file says about itself; QueryError where it cannot be read."""
        try:
            return self._layout(system, file)
        except (pa.ArrowException, OSError) as error:
            raise QueryError(f"the file {file.path!r} cannot be read as {self}: {one_line(error)}") from error

    def read(
        self, system: FileSystem, file: File, pieces: Sequence[int], columns: pa.Schema, encoded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The events in some pieces of a file, in their order.

        Parameters
        ----------
        system, file
            Where they are.
        pieces
            The numbers of the pieces.
        columns
            The columns wanted; those that the file has come, with its own types where it has any.
        encoded
            Columns of text that may come with a dictionary.

        Raises
        ------
        EngineError
            If the file cannot be read, or is not the one that was planned.
        """
        try:
            yield from self._read(system, file, pieces, columns, encoded)
        except (pa.ArrowException, OSError) as error:
            raise EngineError(f"the file {file.path!r} cannot be read as {self}: {one_line(error)}") from error

    @abstractmethod
    def _layout(self, system: FileSystem, file: File) -> Layout: ...

    @abstractmethod
    def _read(
        self, system: FileSystem, file: File, pieces: Sequence[int], columns: pa.Schema, encoded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]: ...

    def __str__(self) -> str:
        return type(self).__name__


class Parquet(Format):
    """Row groups; the bytes of the columns that are read count."""

    piece = "row group"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        import pyarrow.parquet as pq

        with system.open_input_file(file.path) as opened:
            metadata = pq.read_metadata(opened)
        return Layout(metadata.schema.to_arrow_schema(), (), metadata)

    def _read(
        self, system: FileSystem, file: File, pieces: Sequence[int], columns: pa.Schema, encoded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq
        from pyarrow.fs import LocalFileSystem

        far = not isinstance(system, LocalFileSystem)  # one wait for all columns; what is near comes without
        with _opened(system, file) as source:
            metadata = pq.read_metadata(source)
            leaves = map(metadata.schema.column, range(metadata.num_columns))
            text = {leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"}
            reader = pq.ParquetFile(
                source,
                metadata=metadata,
                read_dictionary=[name for name in encoded if name in text],
                pre_buffer=far,
                coerce_int96_timestamp_unit="us",
            )
            threads = pa.cpu_count() > 1
            present = [name for name in columns.names if name in reader.schema_arrow.names]
            decoder = Decoder(reader, None if far else file.path, present, BATCH_ROWS, threads, ahead=0)
            yield from decoder.batches(pieces)


class ORC(Format):
    """Stripes, taken to be of equal size."""

    piece = "stripe"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        from pyarrow.orc import ORCFile

        with system.open_input_file(file.path) as opened:
            found = ORCFile(opened)
            return Layout(found.schema, _evenly(file.size, found.nstripes))

    def _read(
        self, system: FileSystem, file: File, pieces: Sequence[int], columns: pa.Schema, encoded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        from pyarrow.orc import ORCFile

        with _opened(system, file) as source:
            reader = ORCFile(source)
            present = [name for name in columns.names if name in reader.schema.names]
            for piece in pieces:
                stripe = reader.read_stripe(piece, columns=present)
                for start in range(0, stripe.num_rows, BATCH_ROWS):
                    yield stripe.slice(start, BATCH_ROWS)
                del stripe  # or it would be held while the next one is read


class Arrow(Format):
    """Record batches of an IPC file, taken to be of equal size."""

    piece = "record batch"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        with system.open_input_file(file.path) as opened, pa.ipc.open_file(opened) as reader:
            return Layout(reader.schema, _evenly(file.size, reader.num_record_batches))

    def _read(
        self, system: FileSystem, file: File, pieces: Sequence[int], columns: pa.Schema, encoded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        with _opened(system, file) as source:
            with pa.ipc.open_file(source) as whole:
                at = [place for place, name in enumerate(whole.schema.names) if name in columns.names]
            options = pa.ipc.IpcReadOptions(included_fields=at, use_threads=pa.cpu_count() > 1)
            with pa.ipc.open_file(source, options=options) as reader:
                for piece in pieces:
                    batch = reader.get_batch(piece)
                    for start in range(0, batch.num_rows, BATCH_ROWS):
                        yield batch.slice(start, BATCH_ROWS)
                    del batch  # as above


class CSV_(Format):
    """Whole files: where a line starts is not known before all lines above it are read."""

    piece = "file"

    def _layout(self, system: FileSystem, file: File) -> Layout:
        with self._reader(system, file) as reader:
            return Layout(reader.schema, (file.size,))

    def _read(
        self, system: FileSystem, file: File, pieces: Sequence[int], columns: pa.Schema, encoded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        with self._reader(system, file) as whole:
            present = [name for name in columns.names if name in whole.schema.names]
        with self._reader(system, file, pa.schema([columns.field(name) for name in present])) as reader:
            yield from reader

    def _reader(self, system: FileSystem, file: File, columns: pa.Schema | None = None) -> Any:
        import pyarrow.csv as csv

        some = {} if columns is None else {"include_columns": columns.names, "column_types": columns}
        reading = csv.ReadOptions(use_threads=pa.cpu_count() > 1, block_size=BLOCK_BYTES)
        source = system.open_input_stream(file.path)  # unpacked, where its name says that it is packed
        return csv.open_csv(source, reading, convert_options=csv.ConvertOptions(**CSV, **some))

    def __str__(self) -> str:
        return "CSV"


READERS: dict[str, Format] = {"parquet": Parquet(), "orc": ORC(), "arrow": Arrow(), "csv": CSV_()}


def _evenly(size: int, pieces: int) -> tuple[int, ...]:
    return (size // max(pieces, 1),) * pieces


def _opened(system: FileSystem, file: File) -> Any:
    source = system.open_input_file(file.path)
    if source.size() != file.size:
        found = source.size()
        source.close()
        raise EngineError(
            f"the file {file.path!r} has changed since the query was planned: it has {found} bytes, and had {file.size}"
        )
    return source
