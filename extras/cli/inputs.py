"""The files of events that the command line is given, by path, address or standard input, with one schema."""

from __future__ import annotations

import difflib
import glob
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...aggregators.errors import FramefoldError, QueryError, without_secrets
from ...runtime.sources.file_source import FileSource
from ...runtime.sources.files import File, Files, one_line
from ...runtime.sources.formats import READERS, Layout, in_microseconds
from ...runtime.sources.types_of_files import unified

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

STANDARD = "-"
"""Standard input as events, standard output as a result."""

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

    @property
    def bytes(self) -> int:
        """The bytes of all files, as they are stored."""
        return sum(map(size_of, self.files.paths))

    def require(self, columns: Sequence[str]) -> None:
        """QueryError unless each file has all of some columns, as far as any of them has."""
        for path, layout in zip(self.files.paths, self.layouts, strict=True):
            lacking = {*self.schema.names} - {*layout.schema.names}
            for column in filter(lacking.__contains__, columns):
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


def open_files(events: Sequence[str], format: str | None = None) -> Inputs:
    """Find files and their schema, without reading more than their beginnings.

    Parameters
    ----------
    events
        Paths or addresses of files, folders of files, or patterns such as ``trips/*.csv``.
    format
        What kind of files they are; their extensions say so where None.

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
    if len({*paths}) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise QueryError(f"the file {twice!r} is given twice")
    kinds = {path: format or kind_of(path) for path in paths}
    kind = kinds[paths[0]]
    for path in paths:
        if kinds[path] != kind:
            raise QueryError(f"{paths[0]!r} is {kind} and {path!r} is {kinds[path]}; expected files of one kind")
    layouts = tuple(_layout(path, kind) for path in paths)
    each = {path: layout.schema for path, layout in zip(paths, layouts, strict=True)}
    schema = unified(each, mixed_zones=kind not in TEXT)
    return Inputs(Files(tuple(paths), kind, in_microseconds(schema) if kind in TEXT else schema), layouts)


def kind_of(path: str | Path) -> str:
    """The format of a path, by its extension.

    >>> kind_of("trips.CSV.gz")
    'csv'
    """
    name = str(path).partition("?")[0] if is_address(str(path)) else path
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    packed = suffixes[-1:] == [".gz"]
    extension = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    kind = EXTENSIONS.get(extension)
    if kind is None or (packed and kind not in TEXT):
        found = f"the extension {''.join(suffixes[-1:])!r}" if suffixes else "no extension"
        raise QueryError(f"{str(path)!r} has {found}; expected one of {', '.join(EXTENSIONS)}")
    return kind


def _expand(path: str) -> list[str]:
    if is_address(path):
        return files_at(path)
    if (there := _inside(path)) is not None:
        return there
    found = sorted(glob.glob(path, recursive=True))
    if os.path.lexists(path) or any(map(leads_nowhere, found)):
        raise QueryError(f"{next(filter(leads_nowhere, [path, *found]))!r} is a link that leads nowhere")
    if not found:
        if glob.has_magic(path):
            raise QueryError(f"no file matches {path!r}")
        folder = Path(path).parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        close = difflib.get_close_matches(Path(path).name, names, n=1, cutoff=0.75)
        raise QueryError(
            f"the file {path!r} does not exist" + (f"; did you mean {str(folder / close[0])!r}?" if close else "")
        )
    return [file for each in found for file in _inside(each) or []]


def _inside(path: str) -> list[str] | None:
    """A file, or the files in a folder; None where there is neither."""
    try:
        kind = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if leads_nowhere(path):  # a link to itself
            return None
        raise QueryError(f"{path!r} cannot be read: {one_line(error)}") from error
    if not stat.S_ISDIR(kind):
        return [path]
    try:
        inside = [each for each in Path(path).rglob("*") if each.is_file()]
    except OSError as error:
        raise QueryError(f"the folder {path!r} cannot be read: {one_line(error)}") from error
    return [str(Path(path, name)) for name in shown_in(path, [each.relative_to(path).as_posix() for each in inside])]


def shown_in(folder: str, names: Sequence[str]) -> list[str]:
    """The files in a folder that are not hidden, by their sorted paths in it; QueryError where there are none."""
    shown = sorted(name for name in names if not any(part.startswith(("_", ".")) for part in name.split("/")))
    if not shown:
        raise QueryError(f"the folder {folder!r} has no files in it")
    return shown


def leads_nowhere(path: str) -> bool:
    """Whether a path is a link to something that does not exist, or to itself."""
    return os.path.islink(path) and not os.path.exists(path)


def _layout(path: str, kind: str) -> Layout:
    try:
        system, place = opened(path)
        return READERS[kind].layout(system, File(place, size_of(path)))
    except QueryError as error:
        raise QueryError(f"{path!r} cannot be read as {kind}: {one_line(error.__cause__ or error)}") from error


class UnknownFileSystemError(QueryError):
    """An address that pyarrow cannot open; Spark may know it."""


def is_address(path: str) -> bool:
    """Whether a path says on which file system it is.

    >>> is_address("s3a://bucket/trips"), is_address("trips")
    (True, False)
    """
    return "://" in path


def opened(address: str) -> tuple[FileSystem, str]:
    """The file system of an address or a path, and the path on it.

    Raises
    ------
    UnknownFileSystemError
        If pyarrow has no such file system, or cannot reach it.
    """
    from pyarrow.fs import FileSystem, LocalFileSystem

    if not is_address(address):
        return LocalFileSystem(), address
    try:
        return FileSystem.from_uri(re.sub(r"^s3[an]://", "s3://", address))  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError, ValueError) as error:
        cause = error if without_secrets(str(error)) == str(error) else None
        raise UnknownFileSystemError(f"{address!r} cannot be opened: {one_line(error)}") from cause


def files_at(address: str) -> list[str]:
    """The address of a file, or of all files in a folder and those in it; hidden ones left out.

    Raises
    ------
    QueryError
        If there is nothing.
    """
    from pyarrow.fs import FileSelector, FileType

    system, path = opened(address)
    kind = type_at(address, system, path)
    if kind == FileType.NotFound:
        raise QueryError(f"{address!r} does not exist")
    if kind == FileType.File:
        return [address]
    try:
        found = system.get_file_info(FileSelector(path, recursive=True))
    except (pa.ArrowException, OSError) as error:
        raise QueryError(f"{address!r} cannot be reached: {one_line(error)}") from error
    base, mark, query = address.partition("?")
    below = path.rstrip("/") + "/"
    names = [each.path.removeprefix(below) for each in found if each.type == FileType.File]
    return [f"{base.rstrip('/')}/{name}{mark}{query}" for name in shown_in(address, names)]


def type_at(address: str, system: FileSystem, path: str) -> Any:
    """What is at an address, a ``pyarrow.fs.FileType``.

    Raises
    ------
    QueryError
        If the file system does not answer.
    """
    try:
        return system.get_file_info(path).type
    except (pa.ArrowException, OSError) as error:
        raise QueryError(f"{address!r} cannot be reached: {one_line(error)}") from error


def size_of(path: str) -> int:
    """The bytes of a file, by its path or address."""
    if not is_address(path):
        return Path(path).stat().st_size
    system, place = opened(path)
    return int(system.get_file_info(place).size)


@contextmanager
def without_standard_input(events: Sequence[str], kind: str | None) -> Iterator[list[str]]:
    """The same paths, with what comes in by standard input as a file, for as long as the body runs.

    Raises
    ------
    QueryError
        If its kind is not given, or it is not alone.
    """
    if STANDARD not in events:
        yield list(events)
        return
    if len(events) > 1:
        raise QueryError(f"'-' is standard input, and {len(events) - 1} more are given; expected it alone")
    if kind is None:
        raise QueryError("'-' is standard input, which has no extension; expected --format")
    with TemporaryDirectory(prefix="framefold-") as folder:
        path = Path(folder, f"stdin.{kind}")
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [str(path)]
