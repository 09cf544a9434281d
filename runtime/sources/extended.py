"""Events with further columns, made of those of a source batch by batch."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

import pyarrow as pa

from .arrow import Reader, Readers, Source


class ExtendedSource(Source):
    """The events of a source with further columns.

    Parameters
    ----------
    source
        The events.
    added
        The further columns, none of which the source has.
    inputs
        The columns of the source that each of them is made of, by its name.
    """

    def __init__(self, source: Source, added: Iterable[pa.Field], inputs: Mapping[str, Sequence[str]]) -> None:
        self.source, self.inputs = source, inputs
        self.schema = pa.schema([*source.schema, *added])

    @abstractmethod
    def made(self, name: str, events: pa.Table) -> pa.ChunkedArray:
        """One of the further columns, of events with the columns that it is made of at least."""

    def where(self, condition: Any) -> Self:
        kept = copy.copy(self)
        kept.source = self.source.where(condition)
        return kept

    def count(self) -> int | None:
        return self.source.count()

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        used = {column for name in columns for column in self.inputs.get(name, ())}
        plain = [name for name in dictionaries if name not in used and name not in self.inputs]
        found = self.source.readers(self._input_columns(columns), plain)
        if found is None:
            return None
        return Readers((partial(self._of_reader, read, columns) for read in found.readers), found.threads)

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        schema = pa.schema([self.schema.field(name) for name in columns])
        read = self.source.batches(self._input_columns(columns))
        return pa.RecordBatchReader.from_batches(schema, self._of_batches(read, columns))

    def _input_columns(self, columns: Sequence[str]) -> list[str]:
        needed = dict.fromkeys(column for name in columns for column in self.inputs.get(name, (name,)))
        return list(needed) or self.source.schema.names[:1]

    def _of_batches(self, read: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in read:
            yield from self._extended(pa.Table.from_batches([batch]), columns).to_batches()
            del batch  # or it would be held while the next one is read

    def _of_reader(self, read: Reader, columns: Sequence[str]) -> Iterator[pa.Table]:
        for batch in read():
            yield self._extended(batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]), columns)
            del batch  # or it would be held while the next one is read

    def _extended(self, events: pa.Table, columns: Sequence[str]) -> pa.Table:
        made = [self.made(name, events) if name in self.inputs else events.column(name) for name in columns]
        return pa.table(made, list(columns))
