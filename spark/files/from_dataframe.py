"""DataFrames that are nothing but Parquet files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from ...aggregators.errors import QueryError
from ...runtime.sources.files import File
from ..convert.names import column
from ..input.scan_bounds import explained, footer_of
from ..session.conf_overrides import LOCK, replaced_conf
from .parquet_types import kinds

MOST_PATTERNS = 8
"""How many patterns of names are tried."""

_paths: WeakKeyDictionary[DataFrame, list[str]] = WeakKeyDictionary()
"""The paths that some DataFrames were given, which never change."""


def paths_of(df: Any) -> list[str]:
    """The paths of a DataFrame that is a plain scan of Parquet files.

    Raises
    ------
    QueryError
        If it is not, as far as Spark can tell.
    """
    if not isinstance(df, DataFrame):
        raise QueryError(f"from_dataframe() is given a {type(df).__module__}.{type(df).__name__}; expected a DataFrame")
    try:
        files = df.inputFiles()
    except PySparkException:  # the plan cannot be made
        files = []
    for paths, schema in possible(df, files):
        if reads(df, paths, schema, files):
            return paths
    found = f"reads {len(files)} files" if files else "reads no files"
    raise QueryError(
        f"the DataFrame {found} and is more than Parquet files read as they are (it may be filtered, computed, joined, "
        "a table of a catalog, or read with options or by an unusual pattern); expected spark.read.parquet(path), "
        "maybe with fewer columns"
    )


def known_paths_of(df: DataFrame) -> list[str]:
    """:func:`paths_of`, which is looked for once, though another query may find other files there: see `is_listed`."""
    if df not in _paths or df.storageLevel.useMemory:
        _paths[df] = paths_of(df)
    return _paths[df]


def possible(df: DataFrame, files: list[str]) -> Iterator[tuple[list[str], StructType | None]]:
    """The paths that a DataFrame may have been given, with the columns of the files; the quickest to try come first.

    Without columns where Spark has to find them.
    """
    footer = footer_of(files[0]) if files and not df.storageLevel.useMemory else None
    if footer is None:
        return
    schema = schema_of(footer)
    if schema is not None:
        yield from ((paths, schema) for paths in usual(files))
    if (roots := roots_of(df)) is None:
        return
    # Two scans mean the same to Spark only if a single path is written in the same way.
    ways = [roots] if len(roots) > 1 else [[spelt] for spelt in spellings(roots[0])]
    for columns in dict.fromkeys((schema, None)):
        yield from ((paths, columns) for paths in ways)
    yield from (([each], schema) for each in patterns(roots))


def reads(df: DataFrame, paths: list[str], schema: StructType | None, files: list[str]) -> bool:
    """Whether a DataFrame is some paths of Parquet files read as they are.

    ``schema`` is of the files: without it, Spark has a job of its own to find their columns.
    """
    reader = df.sparkSession.read
    try:
        plain = (reader if schema is None else reader.schema(schema)).parquet(*paths)
        if df.columns != plain.columns and set(df.columns) <= set(plain.columns):
            plain = plain.select([column(name) for name in df.columns])
        return df.sameSemantics(plain) and sorted(plain.inputFiles()) == sorted(files)
    except PySparkException:  # a way to write the path that Spark does not take
        return False


def schema_of(footer: Any) -> StructType | None:
    """The columns of a file by its footer, where it tells them all."""
    found = kinds(footer)
    fields = [StructField(name, kind) for name, kind in found.items() if kind is not None]
    return StructType(fields) if len(fields) == len(found) else None


PLAIN_SCAN = re.compile(r"== Optimized Logical Plan ==\n(Project \[[^\n]*\]\n\+- )?Relation \[[^\n]*\] parquet\n\n")
LOCATION = re.compile(r"Location: InMemoryFileIndex\(\d+ paths\)\[([^\n]*?)\](?=, |\n)")


def is_listed(df: DataFrame, listed: Sequence[File]) -> bool:
    """Whether files are those that a DataFrame has listed when it was made."""
    return len(listed) == len(files := df.inputFiles()) and {file.path for file in listed} <= set(map(placed, files))


def placed(file: str) -> str:
    """The address of a file as its file system takes it.

    >>> placed("file:///data/my%20trips"), placed("s3a://bucket/trips"), placed("hdfs://host:8020/trips")
    ('/data/my trips', 'bucket/trips', '/trips')
    """
    if file.startswith("file:"):
        return as_typed(file)
    scheme, _, rest = unquote(file).partition("://")
    host, _, path = rest.partition("/")
    return f"/{path}" if scheme in ("hdfs", "viewfs") else f"{host.partition('@')[0]}/{path}"


def roots_of(df: DataFrame) -> list[str] | None:
    """The paths that a scan of Parquet files was given.

    None where the plan of a DataFrame is no scan, or has more in it than names of columns.
    """
    with LOCK, replaced_conf(df.sparkSession, {"spark.sql.maxMetadataStringLength": str(1 << 30)}):
        text = explained(df) or ""
    found = LOCATION.search(text) if PLAIN_SCAN.search(text) else None
    return None if found is None else found[1].split(", ")


def as_typed(place: str) -> str:
    """A place of this machine as a path, others as they are.

    >>> as_typed("file:///data/my%20trips"), as_typed("s3a://bucket/trips")
    ('/data/my trips', 's3a://bucket/trips')
    """
    return unquote(place.removeprefix("file:").removeprefix("//")) if place.startswith("file:") else place


def usual(files: list[str]) -> list[list[str]]:
    """The paths that users most often give for some files: their folder, or that of hive folders, and each of them.

    Below the working folder, relative ones too.

    >>> usual(["file:///data/trips/day=1/a.parquet"])
    [['/data/trips/day=1/a.parquet'], ['/data/trips']]
    """
    folders = {os.path.dirname(file) for file in files}
    while all("=" in os.path.basename(folder) for folder in folders):
        folders = {os.path.dirname(folder) for folder in folders}
    places = (folders, files) if len(files) > 1 else (files, folders)
    ways = [sorted(map(as_typed, each)) for each in places]
    below = [[os.path.relpath(way[0])] for way in ways if len(way) == 1 and way[0].startswith(f"{os.getcwd()}/")]
    return [*ways, *below]


def patterns(roots: Sequence[str]) -> Iterator[str]:
    """The patterns that may have been given for several files or folders of one folder, with one ``*`` in their names.

    >>> list(patterns(["s3a://trips/2026-07-01.parquet", "s3a://trips/2026-07-02.parquet"]))[1:3]
    ['s3a://trips/2026-07-*.parquet', 's3a://trips/2026-*.parquet']
    """
    folders, names = {os.path.dirname(root) for root in roots}, [os.path.basename(root) for root in roots]
    if len(roots) < 2 or len(folders) > 1:
        return
    begin = os.path.commonprefix(names)  # noqa: RUF071  # of letters
    end = os.path.commonprefix([name[len(begin) :][::-1] for name in names])[::-1]  # noqa: RUF071
    begins = [begin, *(begin[: at + 1] for at in range(len(begin) - 2, -1, -1) if not begin[at].isalnum()), ""]
    ends = [end[at:] for at in range(len(end) - 1, -1, -1) if end[at] == "."]
    found = dict.fromkeys(f"{one}*{other}" for other in (*ends, "") for one in begins)
    folder = as_typed(folders.pop())
    places = [f"{folder}/{name}" for name in list(found)[:MOST_PATTERNS]]
    if f"{folder}/".startswith(f"{os.getcwd()}/"):
        yield from map(os.path.relpath, places)
    yield from places


def spellings(root: str) -> Iterator[str]:
    """The ways in which a user may have written a path that a plan names.

    >>> list(spellings("s3a://bucket/trips"))
    ['s3a://bucket/trips', 's3a://bucket/trips/']
    """
    ways = [root]
    if (path := root.removeprefix("file:")) != root:
        ways = [path, root, f"file://{path}", os.path.relpath(path), f"./{os.path.relpath(path)}"]
    yield from ways
    yield from (f"{way}/" for way in ways)
