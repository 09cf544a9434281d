"""Spark sessions, and what they are set to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from framefold.spark.session import session
from framefold.spark.session.cache import KEPT_DAYS, cache_file
from framefold.spark.session.conf_overrides import replaced_conf
from framefold.spark.session.java import ensure_java
from framefold.spark.session.session import cores, local_session
from framefold.spark.session.settings import BATCH_BYTES, CHANGELOG, PARTITIONS, PROVIDER, ROCKSDB, of_streams
from framefold.spark.session.worker import settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def home_without_zip(folder: Path) -> Path:
    """A folder as a home for Spark, with links to all that the installed one has but for PySpark in a zip.

    Each Python process of Spark imports from that zip first, and compiles each module anew; from the installed package
    it takes what has been compiled.
    """
    import pyspark

    installed, home = Path(pyspark.__file__).parent, folder / "spark"
    (home / "python" / "lib").mkdir(parents=True)
    for inner in (".", "python", "python/lib"):
        for each in (installed / inner).iterdir():
            if each.name != "pyspark.zip" and not (home / inner / each.name).exists():
                (home / inner / each.name).symlink_to(each)
    return home


QUICK = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager"
}
"""With Spark's default (4.3.0), each file of a checkpoint on this machine starts a process ``readlink`` eight times: a
sixth of what a micro-batch costs."""


def state_in_rocksdb(spark: SparkSession) -> AbstractContextManager[None]:
    """The session with what streams need, for a while."""
    return replaced_conf(spark, QUICK | of_streams(2))


@contextmanager
def settings_kept(spark: SparkSession) -> Iterator[None]:
    """The session with its settings for streams as they were, whatever is set meanwhile."""
    before = {name: spark.conf.get(name, None) for name in (QUICK | of_streams(2))}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
