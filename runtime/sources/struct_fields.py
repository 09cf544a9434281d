"""Fields of structs as columns of events, by dotted names: results have their windows in a struct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from .arrow import Source
from .extended import ExtendedSource

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
            if len(schema.get_all_field_indices(path[0])) == 1 and type_at(schema, path) is not None:
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


class StructFields(ExtendedSource):
    """Events with fields of their structs as further columns.

    Parameters
    ----------
    source
        The events.
    paths
        Where the fields are, by the names of their columns; from :func:`struct_paths`.
    """

    def __init__(self, source: Source, paths: Mapping[str, Path]) -> None:
        self.paths = dict(paths)
        added = [pa.field(name, type_at(source.schema, path)) for name, path in paths.items()]
        super().__init__(source, added, {name: path[:1] for name, path in paths.items()})

    def made(self, name: str, events: pa.Table) -> pa.ChunkedArray:
        column, *fields = self.paths[name]
        return pc.struct_field(events.column(column), fields)
