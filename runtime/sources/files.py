"""Files of events on any file system."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow as pa

from ...aggregators.errors import QueryError, shown, without_secrets
from .parquet_opening import parquet_format

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from pyarrow.fs import FileSystem

TITLES = {"parquet": "Parquet", "orc": "ORC", "arrow": "Arrow", "csv": "CSV", "json": "JSON"}
"""The formats, and their names in messages."""

HDFS_HINT = " (pyarrow takes HDFS from Hadoop's libhdfs, and needs JAVA_HOME, ARROW_LIBHDFS_DIR and CLASSPATH)"

NOT_IN_ADDRESSES = re.compile(r'[^!-~]|["<>\\^`{|}]')
"""What pyarrow takes in an address only as ``%20`` and the like, and people, and Spark, write as it is."""

NULL = "__HIVE_DEFAULT_PARTITION__"
"""Hive's folder name of a null."""


class FileSystemError(QueryError):
    """pyarrow cannot open the file system of a path on this machine."""


@dataclass(frozen=True)
class File:
    """One file.

    Parameters
    ----------
    path
        As its file system takes it.
    size
        In bytes.
    partition
        The names and values of the hive folders it lies in, from the outermost on; None is null.
    """

    path: str
    size: int
    partition: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class Files:
    """Files of one format by their paths or addresses, or folders of them; made by ``ff.parquet`` and ``ff.files``.

    Parameters
    ----------
    paths
        Paths on this machine, or URIs such as ``s3://bucket/folder``.
    format
        ``"parquet"``, ``"orc"``, ``"arrow"`` (Arrow IPC or Feather), ``"csv"`` or ``"json"`` (an object a line).
    schema
        The columns of all files, where the names of folders are none; None: those of the first file, and of folders.
    """

    paths: tuple[str, ...]
    format: str = "parquet"
    schema: pa.Schema | None = None

    def __repr__(self) -> str:
        paths = ", ".join(repr(without_secrets(path)) for path in self.paths)
        return f"Files({paths}, format={self.format!r})"

    def dataset(self) -> ds.Dataset:
        """The files as one data set of pyarrow."""
        import pyarrow.dataset as ds  # slow to import, and not needed on executors

        system, paths = self.places
        for path, given in zip(paths, self.paths, strict=True):
            self._require(system, path, given)
        try:
            place = paths if len(paths) > 1 else paths[0]
            folders = "hive" if self.schema is None else None
            format = dataset_format(self.format)
            return ds.dataset(place, schema=self.schema, format=format, filesystem=system, partitioning=folders)
        except (pa.ArrowException, OSError) as error:
            raise QueryError(f"{self._place(self.paths[0])} cannot be read: {one_line(error)}") from error

    @cached_property
    def places(self) -> tuple[FileSystem, list[str]]:
        """The file system of all paths, and the paths on it."""
        from pyarrow.fs import FileSystem, LocalFileSystem

        found: list[tuple[FileSystem, str]] = []
        for path in self.paths:
            if "://" not in path:
                path = path.removeprefix("file:")
                found += [(LocalFileSystem(), os.path.abspath(path))]
                continue
            scheme, _, rest = path.partition("://")
            try:
                rest = NOT_IN_ADDRESSES.sub(lambda found: quote(found[0]), rest)
                found.append(FileSystem.from_uri(f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}"))
            except (pa.ArrowException, OSError, ValueError) as error:
                reason = str(error).partition("\n")[0].rstrip(".")  # it goes on with every place of a library
                hint = HDFS_HINT if scheme in ("hdfs", "viewfs") else ""
                cause = error if without_secrets(str(error)) == str(error) else None
                raise FileSystemError(f"{self._place(path)} cannot be opened: {reason}{hint}") from cause
        if any(system != found[0][0] for system, _ in found):
            raise QueryError(f"the paths {self.paths[0]!r} and others are on several file systems; expected one")
        return found[0][0], [path for _, path in found]

    def listed(self) -> list[File]:
        """All files, also those in folders, in the order of their paths; hidden ones (``_...``, ``....``) left out.

        Raises
        ------
        QueryError
            If there is nothing under a path, or a folder in it that is not of the form ``name=value``.
        """
        system, places = self.places
        try:
            found = [file for at, path in enumerate(places) for file in self._in(system, path, self.paths[at])]
        except OSError as error:
            raise QueryError(f"{self._place(self.paths[0])} cannot be read: {one_line(error)}") from error
        names = [tuple(name for name, _ in file.partition) for file in found]
        for file, own in zip(found, names, strict=True):
            if own != names[0]:
                raise QueryError(
                    f"{found[0].path!r} and {file.path!r} lie in folders by {list(names[0])} and by {list(own)}; "
                    "expected the same for all files"
                )
        return found

    def _in(self, system: FileSystem, path: str, given: str) -> list[File]:
        from pyarrow.fs import FileSelector, FileType

        info = system.get_file_info(path)
        # What is there and not found is a link that leads nowhere, or to itself: no pattern either.
        absent = info.type == FileType.NotFound and "://" not in given and not os.path.lexists(path)
        if absent and (matching := sorted(glob.glob(path))):
            return [file for each in matching for file in self._in(system, each, each)]
        self._require(system, path, given)
        if info.type == FileType.File:
            return [File(path, info.size)]
        files = []
        for each in system.get_file_info(FileSelector(path, recursive=True)):
            *folders, name = each.path[len(path.rstrip("/")) + 1 :].split("/")
            if each.type == FileType.File and not any(map(_hidden, [*folders, name])) and each.size:
                if not all("=" in folder for folder in folders):
                    raise QueryError(
                        f"{self._place(given)} has a folder {'/'.join(folders)!r} with files; expected folders of the "
                        "form name=value, or the path of that folder"
                    )
                files.append(File(each.path, each.size, tuple(map(_key, folders))))
        if not files:
            raise QueryError(f"{self._place(given)} has no files in it")
        return sorted(files, key=lambda file: file.path)

    def _require(self, system: FileSystem, path: str, given: str) -> None:
        from pyarrow.fs import FileType

        try:
            kind = system.get_file_info(path).type
        except (pa.ArrowException, OSError) as error:
            raise QueryError(f"{self._place(given)} cannot be reached: {one_line(error)}") from error
        if kind == FileType.NotFound:
            link = "://" not in given and os.path.islink(path)
            raise QueryError(f"{self._place(given)} {'is a link that leads nowhere' if link else 'does not exist'}")

    def _place(self, path: str) -> str:
        return f"the {TITLES[self.format]} path {path!r}"


CSV: dict[str, Any] = {"null_values": [""], "strings_can_be_null": True, "quoted_strings_can_be_null": False}
"""Nulls in CSV, as in Spark: empty fields that are not quoted, and nothing else."""


def dataset_format(format: str) -> Any:
    """A format as pyarrow's data sets take it."""
    if format == "parquet":
        return parquet_format()
    if format != "csv":
        return format
    import pyarrow.csv as csv
    import pyarrow.dataset as ds

    return ds.CsvFileFormat(convert_options=csv.ConvertOptions(**CSV))


def files_of(paths: Sequence[Any], format: str) -> Files:
    """Files by what a user gave.

    Raises
    ------
    QueryError
        If the format is not one of :data:`TITLES`, or a path is none.
    """
    if format not in TITLES:
        raise QueryError(f"format is {format!r}; expected one of {', '.join(map(repr, TITLES))}")
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise QueryError(f"the path is {shown(path)}; expected a string or a path")
    return Files(tuple(map(os.fspath, paths)), format)


def one_line(error: BaseException) -> str:
    """The message of an error as one line without its final full stop."""
    return " ".join(str(error).split()).rstrip(".")


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _key(folder: str) -> tuple[str, str | None]:
    # Byte by byte, as in Spark, which does not escape other letters; escaped UTF-8 is not decoded.
    name, value = (unquote(part, encoding="latin-1") for part in folder.split("=", 1))
    return name, None if value == NULL else value
