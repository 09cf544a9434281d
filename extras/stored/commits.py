"""Which files are a stored table, commit by commit: a manifest of each, of which the last one counts.

Files of rows are written first, under names of their own; then a manifest that names them appears in one step, or not
at all. Who reads meanwhile goes on with the files of an earlier manifest. On a disk of this machine each is flushed to
it, so that a cut of power, too, leaves one manifest or the next, with all its files.
"""

from __future__ import annotations

import base64
import datetime
import errno
import itertools
import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from ...aggregators.errors import EngineError
from ...runtime.sources.files import one_line
from ...runtime.sources.untrusted import untrusted
from ...runtime.threads import at_once
from .kept import Kept

FOLDER = "_framefold"
"""Where the manifests are, under the path of the table."""

VERSION = 2
"""Of manifests, and of the states in files: the latest that this framefold reads. It writes 1 where no type grew."""

EARLIER = "earlier"
"""Where the schemas from before types became wider are, in what is stored."""

ATTEMPTS = 100
"""How often a commit is tried again where another one was first."""

MARKS = "_marks/"
"""Where files of marks are: readers of folders leave out what begins with an underscore."""

ROLLUPS = "_rollups/"
"""Where files of rollups are."""

OWN = re.compile(r"[0-9a-f]{32}\.parquet|\.\d{12}\.json\.[0-9a-f]{32}")
"""The names of files of rows, and of manifests that were not finished."""

PATH = re.compile(r"(_marks/|_rollups/)?(day=-?\d+-\d\d-\d\d/)?[\w-]+\.parquet", re.ASCII)
"""Those of files, under the path of the table."""

NAME = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True)
class Run:
    """What one ``append`` has brought.

    Parameters
    ----------
    run
        Its name.
    events
        The events in it.
    rows, bytes
        Of the files that it was written in.
    written
        When, in UTC, as ISO text.
    expired
        The events that were left out, because their frames are no longer kept.
    added
        Whether this call has added them: False where the run was in before.
    """

    run: str
    events: int
    rows: int
    bytes: int
    written: str
    expired: int = 0
    added: bool = field(default=True, compare=False)

    @property
    def stated(self) -> dict[str, Any]:
        """What a manifest says of it, as earlier versions know it where no events have expired."""
        return {name: value for name, value in vars(self).items() if name not in ("added", "expired" * (not value))}


@dataclass(frozen=True)
class StoredFile:
    """One file of rows.

    Parameters
    ----------
    path
        Under the table's path.
    runs
        The runs whose rows are in it.
    rows, bytes
        How large it is.
    first, last
        The ticks at which its first and its last frame start.
    end
        The tick at which the last one of its frames ends.
    merged
        The runs whose rows are in it without their names.
    marks
        Whether its rows only say which frames its runs have changed: no events of theirs are there any more.
    types
        The number among the :attr:`Commit.schemas` of that whose types it is written in.
    """

    path: str
    runs: tuple[str, ...]
    rows: int
    bytes: int
    first: int
    last: int
    end: int
    merged: tuple[str, ...] = ()
    marks: bool = False
    types: int = 0

    @property
    def stated(self) -> dict[str, Any]:
        """What a manifest says of it, as earlier versions know it where types are those of the first events."""
        return {name: value for name, value in vars(self).items() if name != "types" or value}


@dataclass(frozen=True)
class Rollup(StoredFile):
    """A file with the rows of others, in one frame that is as long as theirs together.

    Its row of a key says from when to when there are rows of any key.

    Parameters
    ----------
    of
        The paths of these others, which stay.
    begin, until
        The ticks at which the longer frame that they are in starts and ends.
    """

    of: tuple[str, ...] = ()
    begin: int = 0
    until: int = 0


@dataclass(frozen=True)
class Commit:
    """A state of the table.

    Parameters
    ----------
    number
        From 1 on; 0 is a table that is not there yet.
    about
        What is stored: the query, the types of its events, the version.
    runs, files
        What is in it.
    since
        The ticks from which on there are the outputs that were added later.
    expired
        The tick before which frames are no longer kept; None where all are.
    rollups
        Files that may be read instead of some of the others.
    """

    number: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    files: tuple[StoredFile, ...] = ()
    since: Mapping[str, int] = field(default_factory=dict)
    expired: int | None = None
    rollups: tuple[Rollup, ...] = ()

    @property
    def filled(self) -> bool:
        """Whether any events have come: until then it is not for sure what their types are."""
        return any(each.events for each in self.runs)

    @property
    def parts(self) -> tuple[StoredFile, ...]:
        """The files with partials."""
        return tuple(each for each in self.files if not each.marks)

    @property
    def end(self) -> int | None:
        """The tick at which the last frame ends; None where there is none."""
        return max((each.end for each in self.parts), default=None)

    def schema(self, of: str) -> pa.Schema:
        """The columns of its events, as far as it needs them (``schema``), or of its files (``rows``)."""
        try:
            return read_schema(self.about[of])
        except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise EngineError(f"the stored partials say nothing of their columns: {one_line(error)}") from error

    @property
    def schemas(self) -> list[pa.Schema]:
        """The columns of its events in the types that they had before they became wider, then as they are now."""
        try:
            return [*map(read_schema, self.about.get(EARLIER, ())), self.schema("schema")]
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise EngineError(f"the stored partials say nothing of their columns: {one_line(error)}") from error

    @property
    def text(self) -> str:
        """As JSON."""
        lists = {name: [each.stated for each in getattr(self, name)] for name in ("files", "rollups")}
        return json.dumps({**vars(self), **lists, "runs": [each.stated for each in self.runs]})

    @property
    def named(self) -> tuple[StoredFile, ...]:
        """All files that it names."""
        return (*self.files, *self.rollups)

    def run(self, name: str) -> Run | None:
        """The run of a name; None where it is not in."""
        return next((each for each in self.runs if each.run == name), None)


@dataclass(frozen=True)
class Commits:
    """The manifests of a table.

    Parameters
    ----------
    system, path
        The file system, and the table's path on it.
    address
        Of the table, as other programs open it.
    kept
        What is kept in memory of it.
    """

    system: FileSystem
    path: str
    address: str
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)
    widens: ClassVar[bool] = True
    """Whether columns may get wider types than those of the first events."""

    @property
    def is_there(self) -> bool:
        """Whether a table of this kind is there; False too where nothing can be read, which who reads says better."""
        try:
            return bool(self._manifests())
        except (pa.ArrowException, OSError):
            return False

    def latest(self) -> Commit:
        """The last commit, of the number 0 where there is none; not read anew where it is the one before.

        Raises
        ------
        EngineError
            If it cannot be read, or is none that this framefold writes.
        """
        kept, last = self.kept, cast("Commit | None", self.kept.commit)
        try:
            if last is not None and self._is_last(last.number, kept.stamp):
                return last
            manifests = self._manifests()
        except (pa.ArrowException, OSError) as error:
            raise EngineError(f"the stored partials {self.path!r} cannot be read: {one_line(error)}") from error
        if not manifests:
            return Commit()
        number = max(manifests)
        found = self.read(number)
        kept.commit, kept.stamp = found, stamp_of(manifests[number])
        kept.only({each.path for each in found.named})
        return found

    def require(self, schema: pa.Schema) -> None:
        """EngineError where tables of this kind cannot have the columns of files."""

    def folder(self, day: int) -> str:
        """The folder of a day since the epoch, which may be before the year 1 or after 9999."""
        return f"day={np.datetime64(day, 'D')}/"

    def change(self, change: Callable[[Commit], Commit]) -> Commit:
        """Commit a change of the last commit, made anew where another commit was first; None of it if it raises.

        A change that gives the commit itself changes nothing.
        """
        for _ in range(ATTEMPTS):
            before = self.latest()
            after = change(before)
            if after is before:
                return before
            there = {each.path for each in after.files}
            rollups = tuple(each for each in after.rollups if there.issuperset(each.of))
            after = replace(after, number=before.number + 1, rollups=rollups)
            self._flush_new(before, after)
            if self._write(before, after):
                return after
        raise EngineError(
            f"the stored partials {self.path!r} are changed by others all the time: {ATTEMPTS} commits came too late; "
            "expected fewer writers at once"
        )

    def vacuum(self, grace: datetime.timedelta) -> list[str]:
        """Delete files that no commit of the last time names, and manifests from before; gives the paths of files."""
        limit = datetime.datetime.now(datetime.UTC) - grace
        files = self._files()
        manifests = numbered(files)
        # One is the last until the next one is there.
        old = {number for number, after in itertools.pairwise(sorted(manifests)) if manifests[after].mtime <= limit}
        there = [file for each in {*manifests} - old for file in self.read(each).named]
        gone = self._unnamed(files, there, limit)
        self._delete([manifests[each].path for each in sorted(old)] + gone)
        return gone

    def _flush_new(self, before: Commit, after: Commit) -> None:
        """Flush the files that a commit has and the one before has not, whoever wrote them, then their folders."""
        if isinstance(self.system, LocalFileSystem):
            known, root = {each.path for each in before.named}, self.path.rstrip("/")
            paths = [self._at(each.path) for each in after.named if each.path not in known]
            folders = {str(each) for path in paths for each in Path(path).parents if each.is_relative_to(root)}
            at_once(flushed, paths)
            at_once(flushed, [*folders])

    def _flush_names(self, folder: str, first: bool) -> None:
        """Flush the names of commits, which a folder has, and where it is the ``first`` time its own."""
        for each in [self._at(folder), *([self.path, str(Path(self.path).parent)] if first else [])]:
            flushed(each)

    def _files(self, *folder: str) -> list[FileInfo]:
        """All files in the table, or those just in a folder of it."""
        where = FileSelector(self._at(*folder), recursive=not folder, allow_not_found=True)
        return [each for each in self.system.get_file_info(where) if each.type == FileType.File]

    def _manifests(self) -> dict[int, FileInfo]:
        """The manifests that are there, by their numbers."""
        return numbered(self._files(FOLDER))

    def _unnamed(self, files: Iterable[FileInfo], there: Iterable[StoredFile], limit: datetime.datetime) -> list[str]:
        """The paths of files of ours, from before a time, that are not among those there."""
        names = {each.path.rpartition("/")[2] for each in there}
        own = (each for each in files if OWN.fullmatch(each.base_name) and each.base_name not in names)
        return [each.path for each in own if each.mtime <= limit]

    def _delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.system.delete_file(path)

    def _is_last(self, number: int, stamp: Any) -> bool:
        """Whether a manifest is there as it was, and none after it: the first ones go first."""
        own, after = self.system.get_file_info([self._at(FOLDER, named(each)) for each in (number, number + 1)])
        return bool(stamp_of(own) == stamp and after.type == FileType.NotFound)

    def read(self, number: int) -> Commit:
        """The commit of a number."""
        path = self._at(FOLDER, named(number))
        try:
            with self.system.open_input_stream(path) as stream:
                found = json.loads(stream.read())
        except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
            raise EngineError(f"the manifest {path!r} cannot be read: {one_line(error)}") from error
        return commit_in(found, path, number)

    def _write(self, before: Commit, after: Commit) -> bool:
        """Whether the commit after another one is there now; another one of its number may have been first."""
        text, name = after.text.encode(), named(after.number)
        path, own = self._at(FOLDER, name), self._at(FOLDER, f".{name}.{uuid.uuid4().hex}")
        self.system.create_dir(self._at(FOLDER), recursive=True)
        if not isinstance(self.system, LocalFileSystem):  # an object appears as a whole; nothing says who is first
            if self.system.get_file_info(path).type != FileType.NotFound:
                return False
            with self.system.open_output_stream(path) as stream:
                stream.write(text)
            return True
        try:
            with open(own, "xb") as stream:
                stream.write(text)
            flushed(own)
            os.link(own, path)  # fails where there is one
            if after.number > 1 and not Path(self._at(FOLDER, named(after.number - 1))).exists():
                Path(path).unlink()  # there was one, which is gone with those before it
                return False
            self._flush_names(FOLDER, first=after.number == 1)
            return True
        except FileExistsError:
            return False
        finally:
            Path(own).unlink(missing_ok=True)

    def _at(self, *parts: str) -> str:
        return "/".join((self.path.rstrip("/"), *parts))


def read_schema(text: str) -> pa.Schema:
    """The schema that a manifest has as text."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def schema_text(schema: pa.Schema) -> str:
    """A schema as a manifest has it."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def numbered(files: Iterable[FileInfo]) -> dict[int, FileInfo]:
    """The manifests among files, by their numbers."""
    return {int(name[1]): each for each in files if (name := NAME.fullmatch(each.base_name))}


def stamp_of(manifest: FileInfo) -> tuple[Any, ...]:
    """By which it is known whether a manifest is the same."""
    return manifest.type, manifest.mtime_ns, manifest.size


def flushed(path: str) -> None:
    """Wait until a file, or the names in a folder, are on the disk; not on file systems that know no such thing."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(number)


def named(number: int) -> str:
    """The name of the manifest of a commit."""
    return f"{number:012}.json"


def commit_in(found: Any, path: str, number: int) -> Commit:
    """The commit that a manifest has, which may be anybody's; EngineError where it is none."""
    with untrusted(f"the manifest {path!r} is none of framefold's", "one that ff.partials has written"):
        about = found["about"]
        version = checked_int(about["version"])
        if version > VERSION:
            raise EngineError(
                f"the stored partials have version {version}, and this framefold knows up to {VERSION}; expected the "
                "release that wrote them, or a later one"
            )
        if version < 1 or not (isinstance(about["query"], dict) and isinstance(about["schema"], str)):
            raise ValueError(f"about {about!r}")
        if not isinstance(found["runs"], list) or not isinstance(found["files"], list):
            raise ValueError("runs, or files, are no list")
        since = {str(name): checked_int(tick) for name, tick in found.get("since", {}).items()}
        expired = found.get("expired")
        expired = None if expired is None else checked_int(expired)
        runs = tuple(checked(Run, each) for each in found["runs"])
        if any(datetime.datetime.fromisoformat(each.written).tzinfo is None for each in runs):
            raise ValueError("a run was written at a time without a zone")
        files = tuple(checked(StoredFile, each) for each in found["files"])
        rollups = tuple(checked(Rollup, each) for each in found.get("rollups", ()))
        if found["number"] != number:
            raise ValueError(f"number {found['number']!r}")
        types = len(about.get(EARLIER, ()))
        for each in (*files, *rollups):
            if not PATH.fullmatch(each.path):
                raise ValueError(f"path {each.path!r}")
            if not 0 <= each.types <= types:
                raise ValueError(f"types {each.types!r}")
    return Commit(number, about, runs, files, since, expired, rollups)


def checked_int(found: Any) -> int:
    """An integer of JSON; ValueError where it is something else."""
    if not isinstance(found, int) or isinstance(found, bool):
        raise ValueError(f"{found!r} is no integer")
    return found


def checked(kind: Any, found: Any) -> Any:
    """A dataclass of what :func:`checks_of` knows, from JSON; TypeError or ValueError where it is not."""
    made = kind(**{name: tuple(value) if type(value) is list else value for name, value in {**found}.items()})
    for name, right in checks_of(kind):
        if not right(value := getattr(made, name)):
            raise ValueError(f"{name} {value!r}")
    return made


@cache
def checks_of(kind: Any) -> list[tuple[str, Callable[[Any], bool]]]:
    """The fields of a dataclass, and whether a value is right for each."""
    right: dict[Any, Callable[[Any], bool]] = {
        "str": lambda value: type(value) is str,
        "int": lambda value: type(value) is int and abs(value) < 1 << 63,
        "int | None": lambda value: value is None or right["int"](value),
        "bool": lambda value: type(value) is bool,
        "tuple[str, ...]": lambda value: type(value) is tuple and all(type(one) is str for one in value),
        "dict[str, Any]": lambda value: type(value) is dict,
    }
    return [(each.name, right[each.type]) for each in fields(kind)]
