"""Spark sessions, and what they are set to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from framefold.spark.session import session
from framefold.spark.session.cache import KEPT_DAYS, cache_file
from framefold.spark.session.java import ensure_java
from framefold.spark.session.session import cores, local_session
from framefold.spark.session.worker import settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PROVIDER = "spark.sql.streaming.stateStore.providerClass"
"""Spark's setting that names the state store of streams."""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """The session with other settings, dots of their names as ``__``, for a while."""
    names = {name.replace("__", "."): value for name, value in values.items()}
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name, value in names.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))


QUICK = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}
"""With Spark's default (4.3.0), each file of a checkpoint on this machine starts a process ``readlink`` eight times: a
sixth of what a micro-batch costs."""


@contextmanager
def state_in_rocksdb(spark: SparkSession) -> Iterator[None]:
    """The session with its streams' state in RocksDB, for a while."""
    chosen = QUICK | {PROVIDER: ROCKSDB}
    for name, value in chosen.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in chosen:
            spark.conf.unset(name)
