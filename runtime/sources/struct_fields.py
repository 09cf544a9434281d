"""Fields of structs as columns of events, by dotted names: results have their windows in a struct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .arrow import Reader, Readers, Source

Path = tuple[str, ...]
"""A column of structs, then a field in it, and so on."""


def struct_paths(schema: pa.Schema, names: Iterable[str]) -> dict[str, Path]:
    """Where the names are found that no column has, but a field of a struct.

    >>> window = pa.struct([("start", pa.int64()), ("end", pa.int64())])
    >>> struct_paths(pa.schema([("window", window), ("n", pa.int64())]), ["window.end", "n", "n.end", "window.at"])
    {'window.end': ('window', 'end')}
    """
    known, found = set(schema.names), {}
    for name in names:
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1) if name not in known else ():
            path = (".".join(parts[:cut]), *parts[cut:])
            if schema.names.count(path[0]) == 1 and type_at(schema, path) is not None:
                found[name] = path
                break
    return found


def type_at(schema: pa.Schema, path: Path) -> pa.DataType | None:
    """The type of a field of a struct; None where there is none."""
    type = schema.field(path[0]).type
    for part in path[1:]:
        at = type.get_field_index(part) if pa.types.is_struct(type) else -1
        if at < 0:
            return None
        type = type.field(at).type
    return type


class StructFields(Source):
    """Events with fields of their structs as further columns.

    Parameters
    ----------
    source
        The events.
    paths
        Where the fields are, by the names of their columns; from :func:`struct_paths`.
    """

    def __init__(self, source: Source, paths: Mapping[str, Path]) -> None:
        self.source, self.paths = source, dict(paths)
        added = [pa.field(name, type_at(source.schema, path)) for name, path in paths.items()]
        self.schema = pa.schema([*source.schema, *added])

    def where(self, condition: Any) -> Source:
        return StructFields(self.source.where(condition), self.paths)

    def count(self) -> int | None:
        return self.source.count()

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        found = self.source.readers(
            self._input_columns(columns), [name for name in dictionaries if name not in self.paths]
        )
        if found is None:
            return None
        return Readers((partial(self._extended, read, list(columns)) for read in found.readers), found.threads)

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in self.source.batches(self._input_columns(schema.names)):
            yield pa.RecordBatch.from_arrays([self._column(batch, name) for name in schema.names], schema=schema)
            del batch  # or it would be held while the next one is read

    def _input_columns(self, columns: Sequence[str]) -> list[str]:
        """The columns of the events that some columns are made of."""
        return list(dict.fromkeys(self.paths[name][0] if name in self.paths else name for name in columns))

    def _extended(self, read: Reader, columns: Sequence[str]) -> Iterator[pa.RecordBatch | pa.Table]:
        for batch in read():
            yield type(batch).from_arrays([self._column(batch, name) for name in columns], columns)
            del batch

    def _column(self, batch: Any, name: str) -> Any:
        path = self.paths.get(name)
        return batch.column(name) if path is None else pc.struct_field(batch.column(path[0]), list(path[1:]))
