"""The files of events that the command line is given: found by their paths, with one schema for both engines."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ..aggregators.errors import FramefoldError, QueryError
from ..runtime.sources.file_source import FileSource
from ..runtime.sources.files import File, Files, one_line
from ..runtime.sources.formats import READERS, Layout, in_microseconds, unified

EXTENSIONS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""The formats by the extension of a file; ``.gz`` may follow those of text."""

TEXT = ("csv", "json")
"""The formats whose columns have no types of their own."""


class FileError(FramefoldError):
    """A file turns out to be unreadable, or unwritable, while it is read or written."""


@dataclass(frozen=True)
class Inputs:
    """Files of one format with their common schema and the layout of each."""

    files: Files
    layouts: tuple[Layout, ...]

    @property
    def schema(self) -> pa.Schema:
        """The columns of all files, with types that hold those of each."""
        assert self.files.schema is not None
        return self.files.schema

    def require(self, columns: Sequence[str]) -> None:
        """QueryError unless each file has all of some columns, as far as any of them has."""
        for path, layout in zip(self.files.paths, self.layouts, strict=True):
            for column in columns:
                if column in self.schema.names and column not in layout.schema.names:
                    raise QueryError(f"{path!r} has no column {column!r}, which other files have")

    def time_hint(self, time: str) -> str | None:
        """A sentence about a time column of text files that is not recognised as timestamps."""
        files = self.files
        is_text = time in self.schema.names and pa.types.is_string(self.schema.field(time).type)
        if files.format not in TEXT or not is_text:
            return None
        values = (value for batch in FileSource(files).batches([time]) for value in batch.column(0).drop_null())
        example = next(values, None)
        found = f"text such as {example.as_py()!r}" if example is not None else "no values"
        return (
            f"the time column {time!r} of {files.paths[0]!r} has {found}; expected ISO timestamps such as "
            "'2024-05-01 10:00:00', or integers: rewrite that column, or make the file Parquet with a timestamp column"
        )


def open_files(events: Sequence[str]) -> Inputs:
    """Find files and their schema, without reading more than their beginnings.

    Parameters
    ----------
    events
        Paths of files, folders of files, or patterns such as ``trips/*.csv``.

    Raises
    ------
    QueryError
        If a path does not exist or cannot be read, or if files are of several kinds or do not fit together.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.csv as csv
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     csv.write_csv(pa.table({"at": ["2024-05-01 10:00:00"], "speed": [21.5]}), f"{folder}/trips.csv")
    ...     open_files([f"{folder}/*.csv"]).schema
    at: timestamp[us]
    speed: double
    """
    paths = [path for each in events for path in _expand(each)]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise QueryError(f"the file {path!r} is given twice")
    kinds = {path: kind_of(path) for path in paths}
    kind = kinds[paths[0]]
    for path in paths:
        if kinds[path] != kind:
            raise QueryError(f"{paths[0]!r} is {kind} and {path!r} is {kinds[path]}; expected files of one kind")
    layouts = tuple(_layout(path, kind) for path in paths)
    schema = unified(layouts)
    return Inputs(Files(tuple(paths), kind, in_microseconds(schema) if kind in TEXT else schema), layouts)


def kind_of(path: str | Path) -> str:
    """The format of a path, by its extension.

    >>> kind_of("trips.CSV.gz")
    'csv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes[-1:] == [".gz"]
    extension = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    kind = EXTENSIONS.get(extension)
    if kind is None or (packed and kind not in TEXT):
        found = f"the extension {''.join(suffixes[-1:])!r}" if suffixes else "no extension"
        raise QueryError(f"{str(path)!r} has {found}; expected one of {', '.join(EXTENSIONS)}")
    return kind


def _expand(path: str) -> list[str]:
    if "://" in path:
        raise QueryError(
            f"{path!r} is an address; expected a path on this machine (the Python API takes any Spark DataFrame)"
        )
    if Path(path).is_dir():
        inside = [each for each in Path(path).rglob("*") if each.is_file()]
        shown = [
            each for each in inside if not any(part.startswith(("_", ".")) for part in each.relative_to(path).parts)
        ]
        if not shown:
            raise QueryError(f"the folder {path!r} has no files in it")
        return sorted(map(str, shown))
    if Path(path).exists():
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        if glob.has_magic(path):
            raise QueryError(f"no file matches {path!r}")
        folder = Path(path).parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        close = difflib.get_close_matches(Path(path).name, names, n=1, cutoff=0.75)
        raise QueryError(
            f"the file {path!r} does not exist" + (f"; did you mean {str(folder / close[0])!r}?" if close else "")
        )
    return [file for each in found for file in _expand(each)]


def _layout(path: str, kind: str) -> Layout:
    from pyarrow.fs import LocalFileSystem

    try:
        return READERS[kind].layout(LocalFileSystem(), File(path, Path(path).stat().st_size))
    except QueryError as error:
        raise QueryError(f"{path!r} cannot be read as {kind}: {one_line(error.__cause__ or error)}") from error
