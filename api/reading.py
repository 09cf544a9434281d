"""Files as events: ``ff.parquet``, ``ff.files``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from .runtime.sources.files import Files, files_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["files", "parquet"]

Path = str | os.PathLike[str]
Format: TypeAlias = Literal["parquet", "orc", "arrow", "csv", "json"]


@dataclass(frozen=True)
class SparkFiles:
    """Files for a Spark session, which executors read where they can; made by ``ff.parquet`` and ``ff.files``."""

    files: Files
    spark: Any


@overload
def files(path: Path, *more: Path, format: Format, spark: None = None) -> Files: ...
@overload
def files(path: Path, *more: Path, format: Format, spark: SparkSession) -> SparkFiles: ...
def files(path: Path, *more: Path, format: Format, spark: Any = None) -> Any:
    r"""Files, or folders of them, as events.

    Folders may have folders of the form ``name=value`` in them, as hive has: each name is a column.

    On Spark, executors read the files by themselves and accumulate what they read: events do not pass through the JVM,
    only partials do. Tasks are made of row groups of Parquet, stripes of ORC, record batches of Arrow files, and whole
    files of CSV and JSON. The process that calls this must reach the files too, at the same paths. Columns of Parquet
    and ORC have the types and values that Spark gives them; where only Spark can, or where a query needs all events in
    their order, Spark reads the files as a DataFrame, and ``.explain()`` says so. The types of CSV columns are those
    that pyarrow finds in the first 16 MB; those of JSON columns in the first 1 MB, and texts are times where the first
    1,000 are all ISO dates with times. Integers beyond 64 bits are decimals.

    Columns are those of the first file of Parquet or ORC, with types that hold those of all. Times with a zone in some
    files and without one in others are of the first file's kind, as in Spark. Parquet's times of 96 bits are instants
    in UTC. The local engine reads times of ORC from 1677 to 2262.

    Parameters
    ----------
    path, *more
        Where they are: paths, or URIs such as ``s3://bucket/folder`` (also ``gs://``, ``hdfs://``, ``abfs://``).
    format
        ``"parquet"``, ``"orc"``, ``"arrow"`` (Arrow IPC files, Feather), ``"csv"`` (with a line of names) or
        ``"json"`` (an object a line); CSV and JSON may be compressed (``.gz``).
    spark
        A Spark session to read them with; the local engine reads them where None.

    Raises
    ------
    QueryError
        If the format is not one of these; if a path does not exist or cannot be read, once events are made of them.

    Examples
    --------
    >>> import framefold as ff
    >>> from pathlib import Path
    >>> _ = Path("events.csv").write_text("t,x\n1,5\n2,6\n7,7\n")
    >>> events = ff.events(ff.files("events.csv", format="csv"), time="t")
    >>> events.window(ff.tumbling(5)).aggregate(total=ff.Sum("x"))["total"].to_pylist()
    [11, 7]
    """
    found = files_of((path, *more), format)
    return found if spark is None else SparkFiles(found, spark)


class ParquetFiles:
    """Parquet files, or folders of them, as events; see :func:`files`.

    Parameters
    ----------
    path, *more
        Where they are: paths or URIs.
    spark
        A Spark session to read them with; the local engine reads them where None.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, framefold as ff
    >>> pq.write_table(pa.table({"t": [1, 2, 7]}), "events.parquet")
    >>> events = ff.events(ff.parquet("events.parquet"), time="t")
    >>> events.window(ff.tumbling(5)).aggregate(n=ff.Count())["n"].to_pylist()
    [2, 1]
    """

    @overload
    def __call__(self, path: Path, *more: Path, spark: None = None) -> Files: ...
    @overload
    def __call__(self, path: Path, *more: Path, spark: SparkSession) -> SparkFiles: ...
    def __call__(self, path: Path, *more: Path, spark: Any = None) -> Any:
        return files(path, *more, format="parquet", spark=spark)

    def from_dataframe(self, df: DataFrame) -> SparkFiles:
        """The files of a DataFrame that is nothing but these: ``spark.read.parquet(...)``, maybe with fewer columns.

        Spark decides whether it is nothing but these: its plan must mean the same (``DataFrame.sameSemantics``) as that
        of the files, read anew.

        Parameters
        ----------
        df
            A Spark DataFrame, classic or Connect.

        Raises
        ------
        QueryError
            If it is anything else: filtered, computed, joined, a table of a catalog, read with options.
        """
        from .spark.files.from_dataframe import paths_of

        return SparkFiles(files_of(paths_of(df), "parquet"), df.sparkSession)


parquet = ParquetFiles()
