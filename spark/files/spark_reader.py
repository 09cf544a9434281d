"""Files as Spark itself reads or names them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


def loaded(spark: SparkSession, format: str, paths: list[str]) -> DataFrame:
    """Files of a format, by paths as Spark takes them."""

    def load(paths: list[str]) -> DataFrame:
        df = spark.read.format(format).load(paths)
        df.schema  # noqa: B018  # through Connect, only this asks Spark for the columns
        return df

    return by_known_scheme(load, paths)


def by_known_scheme(use: Callable[[list[str]], T], paths: list[str]) -> T:
    """What Spark makes of paths: with Hadoop's own name of S3, where the cluster has no other."""
    try:
        return use(paths)
    except Exception as error:
        known = [re.sub("^s3n?://", "s3a://", path) for path in paths]
        if known == paths or "No FileSystem for scheme" not in str(error):
            raise
    return use(known)


def spark_path(path: str) -> str:
    """A path as Spark takes it, which would see patterns or another file system in some.

    >>> spark_path("s3a://key:secret@bucket/trips?region=eu"), spark_path("hdfs://host:8020/trips/day=?")
    ('s3a://bucket/trips', 'hdfs://host:8020/trips/day=?')
    """
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if "://" in path:
        return without_options(path)
    path = path.removeprefix("file:")
    if not os.path.exists(path):  # a pattern
        return "file:" + os.path.abspath(path)
    return "file:" + as_no_pattern(os.path.abspath(path))


def as_no_pattern(path: str) -> str:
    r"""A path for Spark's readers of files, which see patterns in some characters.

    >>> print(as_no_pattern("/data/[a]"))
    /data/\[a\]
    """
    return re.sub(r"([][{}*?\\])", r"\\\1", path)


def without_options(address: str) -> str:
    """An address without a login and options: Hadoop takes neither, and plans would show them."""
    return re.sub(r"\?[\w.-]+=.*$", "", re.sub(r"://[^/:@]*:(?!\d*/)[^?]*@", "://", address))
