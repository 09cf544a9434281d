"""Row groups of local Parquet files, a batch at a time; how much is read ahead of it is for the caller to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from .parquet_decoding import Decoder, by_polars

if TYPE_CHECKING:
    import pyarrow.dataset as ds

ROWS = 1 << 20
"""A batch has so many at most."""

LARGE = 64 << 20
"""Of row groups with more bytes columns are read from the file a piece at a time, which takes a tenth longer."""

BUFFER = 1 << 18
"""So many bytes of each column at a time then."""


@dataclass(frozen=True)
class RowGroups:
    """How row groups are read.

    Parameters
    ----------
    schema
        The columns of the whole data set.
    columns
        The names of those that are wanted.
    condition
        What must be true of an event, and the columns that it names.
    threads
        Whether columns are decoded side by side, by threads of pyarrow.
    ahead
        How much is decoded while what came before it is worked on; see :class:`Decoder`.
    """

    schema: pa.Schema
    columns: Sequence[str]
    condition: pc.Expression | None
    conditioned: Sequence[str]
    threads: bool
    ahead: int

    def __call__(self, groups: Sequence[ds.ParquetFileFragment]) -> Iterator[pa.RecordBatch]:
        """The events of some row groups that meet the condition, in their order."""
        for group in groups:
            yield from self._plain(group) if self._is_plain(group) else self._scanned(group)

    def decodes_ahead(self, groups: ds.ParquetFileFragment) -> bool:
        """Whether row groups of a file are decoded by threads of Polars while those before them are accumulated."""
        if not self._is_plain(groups):
            return False
        numbers = [each.id for each in groups.row_groups]
        return by_polars(groups.metadata, groups.physical_schema, numbers, self._wanted) == self._wanted

    @property
    def _wanted(self) -> list[str]:
        return list(dict.fromkeys([*self.columns, *self.conditioned]))

    def _is_plain(self, group: ds.ParquetFileFragment) -> bool:
        """Whether a file has the columns itself, as the data set has them."""
        own = group.physical_schema
        return all(
            own.get_all_field_indices(name) and own.field(name) == self.schema.field(name) for name in self._wanted
        )

    def _plain(self, group: ds.ParquetFileFragment) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(
            group.path,
            metadata=group.metadata,
            filesystem=group.filesystem,
            read_dictionary=list(group.format.read_options.dictionary_columns),
            pre_buffer=False,
            buffer_size=BUFFER if max((each.total_byte_size for each in group.row_groups), default=0) > LARGE else 0,
        ) as file:
            numbers = [each.id for each in group.row_groups]
            decoder = Decoder(file, group.path, self._wanted, ROWS, self.threads, self.ahead)
            for batch in decoder.batches(numbers):
                if self.condition is None:
                    yield batch
                else:
                    table = pa.Table.from_batches([batch]).filter(self.condition).select(self.columns)
                    yield from table.to_batches()
                del batch  # or it would be held while the next one is read

    def _scanned(self, group: ds.ParquetFileFragment) -> Iterator[pa.RecordBatch]:
        """With columns that the file has as another type, or not itself: the whole row group is decoded at once."""
        options = {"columns": list(self.columns), "filter": self.condition, "batch_size": ROWS, "use_threads": False}
        yield from group.scanner(schema=self.schema, **options, **unbuffered()).to_reader()


def is_local_parquet(data: ds.Dataset) -> bool:
    """Whether a data set is of Parquet files on this machine."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    return isinstance(data.format, ds.ParquetFileFormat) and isinstance(data.filesystem, LocalFileSystem)


def unbuffered() -> dict[str, Any]:
    """How to scan so that what is read of a file is not held in memory before the whole file is."""
    import pyarrow.dataset as ds

    return {"fragment_scan_options": ds.ParquetFragmentScanOptions(pre_buffer=False)}


def with_dictionaries(data: ds.Dataset, columns: Sequence[str]) -> ds.Dataset:
    """Local files of Parquet with some columns, where they are text, in the dictionaries that the files keep.

    Every file is asked for its schema first, which would take long elsewhere.
    """
    import pyarrow.dataset as ds

    files = list(data.get_fragments())
    text = [
        name
        for name in columns
        if data.schema.field(name).type == pa.string()
        and all(name in file.physical_schema.names for file in files)
        and all(file.physical_schema.field(name).type == pa.string() for file in files)
    ]
    if not text:
        return data
    format = ds.ParquetFileFormat(dictionary_columns=text)
    kept = [format.make_fragment(file.path, file.filesystem, file.partition_expression) for file in files]
    fields = [
        field.with_type(pa.dictionary(pa.int32(), pa.string())) if field.name in text else field
        for field in data.schema
    ]
    return ds.FileSystemDataset(kept, pa.schema(fields), format, data.filesystem, data.partition_expression)
