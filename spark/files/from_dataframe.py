"""DataFrames that are nothing but Parquet files."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from ...aggregators.errors import QueryError
from ...runtime.sources.files import File, Files
from ...runtime.sources.formats import READERS
from ..convert.names import column


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
    roots = roots_of(df) if files and is_parquet(files[0]) else None
    for paths in spellings(files) if roots is not None else ():
        if roots and {path.rstrip("/") for path in map(address, paths)} != set(map(address, roots)):
            continue
        try:
            plain = df.sparkSession.read.parquet(*paths)
            if df.columns != plain.columns and set(df.columns) <= set(plain.columns):
                plain = plain.select([column(name) for name in df.columns])
            if df.sameSemantics(plain) and sorted(plain.inputFiles()) == sorted(files):
                return paths
        except PySparkException:  # a way to write the path that Spark does not take
            continue
    found = f"reads {len(files)} files" if files else "reads no files"
    raise QueryError(
        f"the DataFrame {found} and is more than Parquet files read as they are (it may be filtered, computed, joined, "
        "a table of a catalog, or read with options); expected spark.read.parquet(path), maybe with fewer columns"
    )


PLAIN_SCAN = re.compile(r"== Optimized Logical Plan ==\n(Project \[[^\n]*\]\n\+- )?Relation \[[^\n]*\] parquet\n\n")
LOCATION = re.compile(r"Location: InMemoryFileIndex\(\d+ paths\)\[([^\n]*?)\](?=, |\n)")


def roots_of(df: DataFrame) -> list[str] | None:
    """The paths that a scan of Parquet files was given, none where they are too long to be shown.

    None where the plan of a DataFrame is no scan, or has more in it than names of columns.
    """
    session, view = df.sparkSession, f"framefold_{uuid.uuid4().hex}"
    try:
        # Of a plan of its own: to drop a view is to drop what is cached of its plan.
        df.withColumn(view, f.lit(0)).createTempView(view)
        try:
            text = str(session.sql(f"EXPLAIN EXTENDED SELECT * FROM {view}").collect()[0][0])
        finally:
            session.catalog.dropTempView(view)
    except PySparkException:
        return None
    if PLAIN_SCAN.search(text) is None:
        return None
    found = LOCATION.search(text)
    return [] if found is None or "..." in found[1] else found[1].split(", ")


def address(path: str) -> str:
    """A path as plans spell it.

    >>> address("/data/trips"), address("s3a://bucket/trips")
    ('file:/data/trips', 's3a://bucket/trips')
    """
    if path.startswith("file:"):
        path = unquote(path.removeprefix("file:").removeprefix("//"))
    return path if "://" in path else f"file:{os.path.abspath(path)}"


def is_parquet(file: str) -> bool:
    """Whether a file is one of Parquet."""
    try:
        system, (place,) = Files((file,)).places
        READERS["parquet"].layout(system, File(place, 0))
    except (QueryError, ValueError):
        return False
    return True


def spellings(files: list[str]) -> Iterator[list[str]]:
    """The paths that a user may have given for some files: the files, their folders, and those above hive folders.

    Two scans mean the same to Spark only if a single path is written in the same way.
    """
    places = sorted(files)
    while places == sorted(files) or len(Files(tuple(places)).listed()) == len(files):
        yield places
        if len(places) == 1:
            yield from ([spelt] for spelt in spelt_otherwise(places[0]))
        if places != sorted(files) and not all("=" in os.path.basename(place) for place in places):
            return
        places = sorted({os.path.dirname(place) for place in places})


def spelt_otherwise(place: str) -> Iterator[str]:
    """Other ways to write the address of a place.

    >>> list(spelt_otherwise("s3a://bucket/trips"))
    ['s3a://bucket/trips/']
    """
    ways = [place]
    if place.startswith("file:"):
        path = unquote(place.removeprefix("file:").removeprefix("//"))
        ways += [path, f"file:{path}", os.path.relpath(path), f"./{os.path.relpath(path)}"]
    yield from ways[1:]
    yield from (f"{way}/" for way in ways)
